// Options: PAPI_get_opt, PAPI_set_opt and the calls that set one of them.
#include "core/eventset/options.hpp"

#include <algorithm>
#include <limits>

#include "core/eventset/event_set.hpp"
#include "core/system/system_info.hpp"
#include "papi/boundary.hpp"
#include "papi/component_info.hpp"
#include "papi/machine.hpp"

using namespace substrata;
using namespace substrata::capi;

namespace {

int as_ns(int64_t ns) noexcept {
  return static_cast<int>(std::clamp<int64_t>(ns, 0, std::numeric_limits<int>::max()));
}

// Options whose answer is a number, given as the function's result.
bool number_option(int option) noexcept {
  switch (option) {
    case PAPI_DEFDOM:
    case PAPI_DEFGRN:
    case PAPI_MAX_HWCTRS:
    case PAPI_MAX_MPX_CTRS:
    case PAPI_CLOCKRATE:
    case PAPI_MAX_CPUS:
      return true;
    default:
      return false;
  }
}

int number_of(int option, int component) {
  switch (option) {
    case PAPI_DEFDOM:
      return answer(default_domain(component));
    case PAPI_DEFGRN:
      return answer(default_granularity(component));
    case PAPI_MAX_HWCTRS:
      return answer(counters_of_component(component));
    case PAPI_MAX_MPX_CTRS:
      return answer(multiplex_counters_of_component(component));
    default:
      break;
  }
  const PAPI_hw_info_t* const machine = hardware();
  if (machine == nullptr) return answer(Code::kNoSupport);
  if (option == PAPI_MAX_CPUS) return machine->totalcpus;
  return machine->cpu_max_mhz > 0 ? machine->cpu_max_mhz : machine->clock_mhz;
}

// Options of one eventset, written to their member of *ptr.
int get_set_option(int option, PAPI_option_t* ptr) {
  if (option == PAPI_MULTIPLEX) {
    const Result<MultiplexOption> multiplex = multiplex_of(ptr->multiplex.eventset);
    if (!multiplex) return answer(multiplex.status());
    ptr->multiplex.ns = multiplex->on ? as_ns(static_cast<int64_t>(multiplex->period_ns)) : 0;
    ptr->multiplex.flags = multiplex->software ? PAPI_MULTIPLEX_FORCE_SW : PAPI_MULTIPLEX_DEFAULT;
    return multiplex->on ? 1 : 0;
  }
  const bool domain_like = option == PAPI_DOMAIN || option == PAPI_GRANUL;
  const int set = domain_like ? ptr->domain.eventset : ptr->attach.eventset;
  Result<Configuration> now = configuration_of(set);
  if (!now && now.status().code == Code::kNoComponent) {  // nothing is chosen yet
    now = Configuration{};
    now->domain = now->granularity = 0;
  }
  if (!now) return answer(now.status());
  switch (option) {
    case PAPI_DOMAIN:
      ptr->domain.domain = static_cast<int>(now->domain);
      return PAPI_OK;
    case PAPI_GRANUL:
      ptr->granularity.granularity = static_cast<int>(now->granularity);
      return PAPI_OK;
    case PAPI_INHERIT:
      ptr->inherit.inherit = now->inherit != 0 ? PAPI_INHERIT_ALL : PAPI_INHERIT_NONE;
      return PAPI_OK;
    case PAPI_CPU_ATTACH:
      ptr->cpu.cpu_num = now->target == Target::kCpu ? static_cast<unsigned>(now->target_id) : 0;
      return PAPI_OK;
    default: {  // whether it is attached (PAPI_ATTACH), or is not (PAPI_DETACH)
      const bool attached = now->target == Target::kThreadOrProcess;
      ptr->attach.tid = attached ? static_cast<unsigned long>(now->target_id) : 0;
      return attached == (option == PAPI_ATTACH) ? 1 : 0;
    }
  }
}

void fill_preload(PAPI_preload_info_t* preload) noexcept {
  copy_text(preload->lib_preload_env, "LD_PRELOAD");
  preload->lib_preload_sep = ' ';
  copy_text(preload->lib_dir_env, "LD_LIBRARY_PATH");
  preload->lib_dir_sep = ':';
}

int get_structure(int option, PAPI_option_t* ptr) {
  switch (option) {
    case PAPI_PRELOAD:
      fill_preload(&ptr->preload);
      return PAPI_OK;
    case PAPI_DEBUG:
      ptr->debug.level = debug_level();
      ptr->debug.handler = debug_handler() != nullptr ? debug_handler() : print_refusal;
      return PAPI_OK;
    case PAPI_DEF_MPX_NS:
      ptr->multiplex.ns = as_ns(static_cast<int64_t>(default_multiplex_ns()));
      return PAPI_OK;
    case PAPI_DEF_ITIMER: {
      const TimerOption timer = default_timer();
      ptr->itimer = {timer.timer, timer.signal, as_ns(timer.ns), timer.flags};
      return PAPI_OK;
    }
    case PAPI_DEF_ITIMER_NS:
      ptr->itimer.ns = as_ns(default_timer().ns);
      return PAPI_OK;
    case PAPI_HWINFO:
      ptr->hw_info = const_cast<PAPI_hw_info_t*>(hardware());
      return ptr->hw_info != nullptr ? PAPI_OK : answer(Code::kNoSupport);
    case PAPI_EXEINFO:
      ptr->exe_info = const_cast<PAPI_exe_info_t*>(executable());
      return ptr->exe_info != nullptr ? PAPI_OK : answer(Code::kNoSupport);
    case PAPI_SHLIBINFO:
      ptr->shlib_info = const_cast<PAPI_shlib_info_t*>(shared_objects());
      return ptr->shlib_info != nullptr ? PAPI_OK : answer(Code::kNoSupport);
    case PAPI_COMPONENTINFO:
      ptr->cmp_info = const_cast<PAPI_component_info_t*>(component_info(0));
      return ptr->cmp_info != nullptr ? PAPI_OK : answer(Code::kNoComponent);
    case PAPI_MULTIPLEX:
    case PAPI_DOMAIN:
    case PAPI_GRANUL:
    case PAPI_ATTACH:
    case PAPI_DETACH:
    case PAPI_CPU_ATTACH:
    case PAPI_INHERIT:
      return get_set_option(option, ptr);
    default:
      return answer(refuse(Code::kInvalid, "option %d cannot be asked for", option));
  }
}

Status multiplex_once(int set, uint64_t ns, bool software) {
  if (const Result<MultiplexOption> now = multiplex_of(set); now && now->on)
    return refuse(Code::kInvalid, "eventset %d is multiplexed already", set);
  return set_multiplex(set, ns, software);
}

Status set_option(int option, const PAPI_option_t& value) {
  switch (option) {
    case PAPI_DEBUG: {
      const Status status = set_debug_level(value.debug.level);
      if (status.ok()) set_debug_handler(value.debug.handler);
      return status;
    }
    case PAPI_ATTACH:
      return attach_set(value.attach.eventset, value.attach.tid);
    case PAPI_DETACH:
      return detach_set(value.attach.eventset);
    case PAPI_CPU_ATTACH:
      return bind_set_to_cpu(value.cpu.eventset, static_cast<int>(value.cpu.cpu_num));
    case PAPI_MULTIPLEX:
      if (value.multiplex.ns < 0) return refuse(Code::kInvalid, "a period of %d ns", value.multiplex.ns);
      return multiplex_once(value.multiplex.eventset, static_cast<uint64_t>(value.multiplex.ns),
                            (value.multiplex.flags & PAPI_MULTIPLEX_FORCE_SW) != 0);
    case PAPI_DEFDOM:
      return set_default_domain(static_cast<uint32_t>(value.defdomain.domain), value.defdomain.def_cidx);
    case PAPI_DEFGRN:
      return set_default_granularity(static_cast<uint32_t>(value.defgranularity.granularity),
                                     value.defgranularity.def_cidx);
    case PAPI_DOMAIN:
      return set_domain(value.domain.eventset, static_cast<uint32_t>(value.domain.domain));
    case PAPI_GRANUL:
      return set_granularity(value.granularity.eventset,
                             static_cast<uint32_t>(value.granularity.granularity));
    case PAPI_INHERIT:
      return set_inherit(value.inherit.eventset, value.inherit.inherit != PAPI_INHERIT_NONE);
    case PAPI_DEF_MPX_NS:
      if (value.multiplex.ns < 0) return refuse(Code::kInvalid, "a period of %d ns", value.multiplex.ns);
      return set_default_multiplex_ns(static_cast<uint64_t>(value.multiplex.ns));
    case PAPI_DEF_ITIMER: {
      TimerOption timer;
      timer.timer = value.itimer.itimer_num;
      timer.signal = value.itimer.itimer_sig;
      timer.ns = value.itimer.ns;
      timer.flags = value.itimer.flags;
      return set_default_timer(timer);
    }
    case PAPI_DEF_ITIMER_NS:
      return set_default_timer_ns(value.itimer.ns);
    case PAPI_USER_EVENTS_FILE:
      if (value.events_file == nullptr) return refuse(Code::kInvalid, "no name of a user events file");
      return set_user_events_file(value.events_file);
    case PAPI_DATA_ADDRESS:
    case PAPI_INSTR_ADDRESS:
      return refuse(Code::kNoSupport, "no component here restricts events to address ranges");
    default:
      return refuse(Code::kInvalid, "option %d cannot be set", option);
  }
}

}  // namespace

CAPI int PAPI_get_opt(int option, PAPI_option_t* ptr) {
  return answered([&] {
    if (option == PAPI_LIB_VERSION) return PAPI_VERSION;
    // How the debug level stands can be asked at any time; everything else needs the library.
    if (const Status up = library().require_initialised(); !up.ok() && option != PAPI_DEBUG)
      return answer(up);
    if (number_option(option)) return number_of(option, 0);
    if (ptr == nullptr) return answer(refuse(Code::kInvalid, "no place to put option %d", option));
    return get_structure(option, ptr);
  });
}

CAPI int PAPI_get_cmp_opt(int option, PAPI_option_t* ptr, int cidx) {
  return answered([&] {
    if (const Status up = library().require_initialised(); !up.ok()) return answer(up);
    if (library().registry().at(cidx) == nullptr)
      return answer(refuse(Code::kComponent, "no component %d", cidx));
    if (option == PAPI_SHLIBINFO && ptr != nullptr)
      return get_structure(option, ptr);  // PAPI's is a component's
    if (option == PAPI_COMPONENTINFO && ptr != nullptr) {
      ptr->cmp_info = const_cast<PAPI_component_info_t*>(component_info(cidx));
      return PAPI_OK;
    }
    const bool of_component = number_option(option) && option != PAPI_CLOCKRATE && option != PAPI_MAX_CPUS;
    if (!of_component) return answer(refuse(Code::kInvalid, "option %d is not a component's", option));
    return number_of(option, cidx);
  });
}

CAPI int PAPI_set_opt(int option, PAPI_option_t* ptr) {
  return answered([&] {
    if (ptr == nullptr) return answer(refuse(Code::kInvalid, "no value for option %d", option));
    if (const Status up = library().require_initialised(); !up.ok() && option != PAPI_DEBUG)
      return answer(up);
    return answer(set_option(option, *ptr));
  });
}

CAPI int PAPI_set_domain(int domain) { return PAPI_set_cmp_domain(domain, 0); }

CAPI int PAPI_set_cmp_domain(int domain, int cidx) {
  return answered([&] { return answer(set_default_domain(static_cast<uint32_t>(domain), cidx)); });
}

CAPI int PAPI_set_granularity(int granularity) { return PAPI_set_cmp_granularity(granularity, 0); }

CAPI int PAPI_set_cmp_granularity(int granularity, int cidx) {
  return answered([&] { return answer(set_default_granularity(static_cast<uint32_t>(granularity), cidx)); });
}

CAPI int PAPI_attach(int EventSet, unsigned long tid) {
  return answered([&] { return answer(attach_set(EventSet, tid)); });
}

CAPI int PAPI_detach(int EventSet) {
  return answered([&] { return answer(detach_set(EventSet)); });
}

// Nothing to prepare: a set that is multiplexed brings its own means.
CAPI int PAPI_multiplex_init(void) { return PAPI_OK; }

CAPI int PAPI_set_multiplex(int EventSet) {
  return answered([&] { return answer(multiplex_once(EventSet, 0, false)); });
}

// PAPI answers 0 for a handle it does not know.
CAPI int PAPI_get_multiplex(int EventSet) {
  return answered([&] {
    const Result<MultiplexOption> multiplex = multiplex_of(EventSet);
    return multiplex && multiplex->on ? 1 : 0;
  });
}
