// The calls, in the order of a program's life.
#include "script.hpp"

#include <papi.h>
#include <sde_lib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

namespace substrata::torture {
namespace {

long long published = 7;
long long called_back(void*) { return 9; }
void overflowed(int, void*, long long, void*) {}
unsigned long number_of_thread() { return static_cast<unsigned long>(gettid()); }

// Standard error, which PAPI_perror writes to, goes nowhere for as long as this lives; opened with the program.
std::FILE* nowhere = std::fopen("/dev/null", "we");
struct Silence {
  Silence() { std::swap(stderr, nowhere); }
  ~Silence() { std::swap(stderr, nowhere); }
};

}  // namespace

std::vector<Call> Script::pass() {
  std::vector<Call> calls = std::exchange(space_, {});
  calls.reserve(kSpace);
  const auto note = [&](const char* name, int code) { calls.push_back({name, code}); };
#define CALL(function, ...) note(#function, function(__VA_ARGS__))
#define FIND(function, ...) note(#function, function(__VA_ARGS__) != nullptr ? 1 : 0)

  // libsde first: a library publishes before anyone measures.
  sde_ = papi_sde_init("torture");
  note("papi_sde_init", sde_ != nullptr);
  void *counter = nullptr, *recorder = nullptr, *counting_set = nullptr;
  CALL(papi_sde_register_counter, sde_, "variable", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_long_long,
       &published);
  CALL(papi_sde_register_counter_cb, sde_, "callback", PAPI_SDE_RO | PAPI_SDE_INSTANT, PAPI_SDE_long_long,
       called_back, nullptr);
  CALL(papi_sde_describe_counter, sde_, "variable", "a variable");
  CALL(papi_sde_add_counter_to_group, sde_, "variable", "group", PAPI_SDE_SUM);
  CALL(papi_sde_create_counter, sde_, "counter", PAPI_SDE_RO | PAPI_SDE_DELTA, &counter);
  CALL(papi_sde_inc_counter, counter, 5);
  note("papi_sde_get_counter_handle", papi_sde_get_counter_handle(sde_, "counter") == counter);
  CALL(papi_sde_create_recorder, sde_, "recorder", sizeof(long long), papi_sde_compare_long_long, &recorder);
  for (long long value = 0; value < 300; ++value) CALL(papi_sde_record, recorder, sizeof value, &value);
  CALL(papi_sde_create_counting_set, sde_, "set", &counting_set);
  for (int value = 0; value < 40; ++value)
    CALL(papi_sde_counting_set_insert, counting_set, sizeof value, sizeof value, &value, 1);
  const int removed = 3;
  CALL(papi_sde_counting_set_remove, counting_set, sizeof removed, &removed, 1);

  // For the time before the library is initialised; refused with one number there and with another in a forked child,
  // which has its parent's.
  note("PAPI_disable_component_by_name", PAPI_disable_component_by_name("no such component") != PAPI_OK);
  note("PAPI_disable_component", PAPI_disable_component(1000) != PAPI_OK);
  note("PAPI_library_init", PAPI_library_init(PAPI_VER_CURRENT) == PAPI_VER_CURRENT ? PAPI_OK : PAPI_EMISC);
  note("PAPI_is_initialized", PAPI_is_initialized() != PAPI_NOT_INITED);
  CALL(PAPI_thread_init, number_of_thread);
  CALL(PAPI_multiplex_init);
  CALL(PAPI_set_debug, PAPI_QUIET);
  CALL(PAPI_register_thread);
  note("PAPI_thread_id", PAPI_thread_id() == number_of_thread());
  note("PAPI_num_components", PAPI_num_components() > 0);
  const int example = PAPI_get_component_index("example");
  note("PAPI_get_component_index", example >= 0);
  note("PAPI_get_component_info", PAPI_get_component_info(example) != nullptr);
  note("PAPI_num_cmp_hwctrs", PAPI_num_cmp_hwctrs(example) > 0);
  note("PAPI_num_hwctrs", std::min(PAPI_num_hwctrs(), 1));
  FIND(PAPI_get_hardware_info);
  FIND(PAPI_get_executable_info);
  FIND(PAPI_get_shared_lib_info);
  PAPI_dmem_info_t memory;
  CALL(PAPI_get_dmem_info, &memory);
  for (int option :
       {PAPI_DEFDOM, PAPI_DEFGRN, PAPI_CLOCKRATE, PAPI_MAX_CPUS, PAPI_MAX_HWCTRS, PAPI_LIB_VERSION}) {
    PAPI_option_t value;
    std::memset(&value, 0, sizeof value);
    note("PAPI_get_opt", std::min(PAPI_get_opt(option, &value), 1));
    note("PAPI_get_cmp_opt", std::min(PAPI_get_cmp_opt(option, &value, example), 1));
  }
  CALL(PAPI_set_domain, PAPI_DOM_USER);
  CALL(PAPI_set_cmp_domain, PAPI_DOM_USER, 0);
  CALL(PAPI_set_granularity, PAPI_GRN_THR);
  CALL(PAPI_set_cmp_granularity, PAPI_GRN_THR, 0);
  void* devices = nullptr;
  const void* attribute = nullptr;
  CALL(PAPI_enum_dev_type, PAPI_DEV_TYPE_ENUM__CPU, &devices);
  if (devices != nullptr) {
    CALL(PAPI_get_dev_type_attr, devices, PAPI_DEV_TYPE_ATTR__CHAR_NAME, &attribute);
    CALL(PAPI_get_dev_attr, devices, 0, PAPI_DEV_ATTR__CPU_CHAR_NAME, &attribute);
    CALL(PAPI_get_dev_attr, devices, 0, PAPI_DEV_ATTR__CPU_UINT_L1D_CACHE_SIZE, &attribute);
  } else {
    for (int i = 0; i < 3; ++i) note("without devices", 0);  // as many answers in every pass
  }

  int owl = PAPI_NATIVE_MASK;
  CALL(PAPI_enum_cmp_event, &owl, PAPI_ENUM_FIRST, PAPI_get_component_index("owl"));

  int ticks = 0, reads = 0, constant = 0, walk = PAPI_NATIVE_MASK;
  char name[PAPI_MAX_STR_LEN];
  PAPI_event_info_t info;
  CALL(PAPI_event_name_to_code, "example:::ticks", &ticks);
  CALL(PAPI_event_name_to_code, "example:::reads", &reads);
  CALL(PAPI_event_name_to_code, "example:::constant", &constant);
  CALL(PAPI_event_name_to_code, "example:::nothing", &walk);
  CALL(PAPI_event_code_to_name, ticks, name);
  CALL(PAPI_get_event_info, ticks, &info);
  CALL(PAPI_query_event, ticks);
  CALL(PAPI_query_named_event, "example:::ticks");
  CALL(PAPI_query_named_event, "PAPI_TOT_CYC");
  walk = PAPI_NATIVE_MASK;
  CALL(PAPI_enum_cmp_event, &walk, PAPI_ENUM_FIRST, example);
  CALL(PAPI_enum_cmp_event, &walk, PAPI_ENUM_EVENTS, example);
  walk = static_cast<int>(PAPI_PRESET_MASK);
  CALL(PAPI_enum_event, &walk, PAPI_ENUM_FIRST);
  note("PAPI_get_event_component", PAPI_get_event_component(ticks) == example);

  // One eventset through its whole life.
  long long values[8] = {}, cycles = 0;
  int codes[8] = {}, number = 8, state = 0;
  set_ = PAPI_NULL;
  CALL(PAPI_create_eventset, &set_);
  CALL(PAPI_assign_eventset_component, set_, example);
  note("PAPI_get_eventset_component", PAPI_get_eventset_component(set_) == example);
  CALL(PAPI_add_event, set_, ticks);
  CALL(PAPI_add_named_event, set_, "example:::constant");
  CALL(PAPI_add_event, set_, ticks);  // a second time: refused
  note("PAPI_num_events", PAPI_num_events(set_) == 2);
  CALL(PAPI_list_events, set_, codes, &number);
  CALL(PAPI_start, set_);
  CALL(PAPI_start, set_);  // runs already: refused
  CALL(PAPI_read, set_, values);
  CALL(PAPI_read_ts, set_, values, &cycles);
  CALL(PAPI_accum, set_, values);
  CALL(PAPI_reset, set_);
  CALL(PAPI_write, set_, values);
  CALL(PAPI_state, set_, &state);
  CALL(PAPI_stop, set_, values);
  CALL(PAPI_remove_event, set_, ticks);
  CALL(PAPI_remove_named_event, set_, "example:::constant");
  int both[2] = {reads, constant};
  CALL(PAPI_add_events, set_, both, 2);
  CALL(PAPI_overflow, set_, reads, 1000, PAPI_OVERFLOW_FORCE_SW, overflowed);
  number = 8;
  CALL(PAPI_get_overflow_event_index, set_, 1, codes, &number);
  CALL(PAPI_start, set_);
  CALL(PAPI_stop, set_, nullptr);
  CALL(PAPI_overflow, set_, reads, 0, 0, nullptr);
  CALL(PAPI_remove_events, set_, both, 2);
  CALL(PAPI_cleanup_eventset, set_);
  CALL(PAPI_destroy_eventset, &set_);

  // The kernel's events, where there are any. One eventset attached and profiled, with options of its own; the period
  // is one that is not reached.
  constexpr int kNever = 1'000'000'000;
  profiled_ = PAPI_NULL;
  CALL(PAPI_create_eventset, &profiled_);
  CALL(PAPI_assign_eventset_component, profiled_, 0);
  PAPI_option_t of_set;
  std::memset(&of_set, 0, sizeof of_set);
  of_set.domain = {0, profiled_, PAPI_DOM_ALL};
  CALL(PAPI_set_opt, PAPI_DOMAIN, &of_set);
  CALL(PAPI_attach, profiled_, static_cast<unsigned long>(getpid()));
  CALL(PAPI_add_named_event, profiled_, "perf::TASK-CLOCK");
  CALL(PAPI_start, profiled_);
  CALL(PAPI_stop, profiled_, values);
  CALL(PAPI_detach, profiled_);
  int clock = 0;
  CALL(PAPI_event_name_to_code, "perf::TASK-CLOCK", &clock);
  CALL(PAPI_profil, buckets_, sizeof buckets_, nullptr, 65536, profiled_, clock, kNever, PAPI_PROFIL_POSIX);
  CALL(PAPI_start, profiled_);
  CALL(PAPI_stop, profiled_, values);
  CALL(PAPI_profil, buckets_, sizeof buckets_, nullptr, 65536, profiled_, clock, 0, PAPI_PROFIL_POSIX);
  PAPI_sprofil_t regions[2] = {{buckets_, sizeof buckets_ / 2, nullptr, 65536},
                               {buckets_ + kBuckets / 2, sizeof buckets_ / 2, nullptr, 2}};
  CALL(PAPI_sprofil, regions, 2, profiled_, clock, kNever, PAPI_PROFIL_POSIX);
  CALL(PAPI_sprofil, regions, 2, profiled_, clock, 0, PAPI_PROFIL_POSIX);
  CALL(PAPI_cleanup_eventset, profiled_);
  CALL(PAPI_destroy_eventset, &profiled_);

  const auto count = [&](int* set, std::initializer_list<const char*> events) {
    for (const char* event : events) CALL(PAPI_add_named_event, *set, event);
    CALL(PAPI_start, *set);
    CALL(PAPI_read, *set, values);
    CALL(PAPI_stop, *set, values);
    CALL(PAPI_cleanup_eventset, *set);
    CALL(PAPI_destroy_eventset, set);
  };
  // One multiplexed.
  software_ = PAPI_NULL;
  CALL(PAPI_create_eventset, &software_);
  CALL(PAPI_assign_eventset_component, software_, 0);
  CALL(PAPI_set_multiplex, software_);
  note("PAPI_get_multiplex", PAPI_get_multiplex(software_) >= 0);
  count(&software_, {"perf::TASK-CLOCK", "perf::PAGE-FAULTS"});

  // What libsde publishes.
  other_ = PAPI_NULL;
  CALL(PAPI_create_eventset, &other_);
  count(&other_, {"sde:::torture::variable", "sde:::torture::counter", "sde:::torture::recorder:CNT"});

  // Threads' words, locks, clocks, rates, texts.
  void* word = nullptr;
  CALL(PAPI_set_thr_specific, PAPI_USR1_TLS, &published);
  CALL(PAPI_get_thr_specific, PAPI_USR1_TLS, &word);
  PAPI_thread_id_t threads[8];
  number = 8;
  CALL(PAPI_list_threads, threads, &number);
  CALL(PAPI_lock, 0);
  CALL(PAPI_unlock, 0);
  note("PAPI_get_real_nsec", PAPI_get_real_nsec() > 0);
  note("PAPI_get_virt_nsec", PAPI_get_virt_nsec() >= 0);
  note("PAPI_get_real_cyc", PAPI_get_real_cyc() > 0);
  note("PAPI_get_virt_cyc", PAPI_get_virt_cyc() >= 0);
  note("PAPI_get_real_usec", PAPI_get_real_usec() > 0);
  note("PAPI_get_virt_usec", PAPI_get_virt_usec() >= 0);
  note("PAPI_strerror", PAPI_strerror(PAPI_EINVAL) != nullptr);
  float real = 0, process = 0, rate = 0;
  const auto stop_rate = [&] { note("PAPI_rate_stop", std::min(PAPI_rate_stop(), 0) == 0); };
  CALL(PAPI_flops_rate, PAPI_FP_OPS, &real, &process, values, &rate);
  CALL(PAPI_ipc, &real, &process, values, &rate);
  stop_rate();
  CALL(PAPI_flips_rate, PAPI_FP_INS, &real, &process, values, &rate);
  stop_rate();
  CALL(PAPI_epc, clock, &real, &process, values, values + 1, values + 2, &rate);
  CALL(PAPI_epc, clock, &real, &process, values, values + 1, values + 2, &rate);
  stop_rate();
  {
    const Silence silence;
    PAPI_perror("torture");
  }

  // Regions; their report is written when the program ends.
  CALL(PAPI_hl_region_begin, "torture");
  CALL(PAPI_hl_read, "torture");
  CALL(PAPI_hl_region_end, "torture");
  CALL(PAPI_hl_stop);

  CALL(PAPI_unregister_thread);
  PAPI_shutdown();
  CALL(papi_sde_reset_recorder, recorder);
  CALL(papi_sde_reset_counter, counter);
  CALL(papi_sde_unregister_counter, sde_, "variable");
  CALL(papi_sde_shutdown, sde_);
  sde_ = nullptr;
  return calls;
#undef CALL
#undef FIND
}

std::string Script::put_right() {
  space_.reserve(kSpace);
  std::string wrong;
  const auto expect_ok = [&](const char* what, int code) {
    if (code != PAPI_OK && wrong.empty()) wrong = std::string(what) + " gives " + std::to_string(code);
  };
  for (int* set : {&set_, &other_, &software_, &profiled_}) {
    if (*set == PAPI_NULL || PAPI_is_initialized() == PAPI_NOT_INITED) continue;
    int state = 0;
    if (PAPI_state(*set, &state) == PAPI_ENOEVST) continue;  // given up by PAPI_shutdown
    if ((state & PAPI_RUNNING) != 0) expect_ok("PAPI_stop", PAPI_stop(*set, nullptr));
    expect_ok("PAPI_cleanup_eventset", PAPI_cleanup_eventset(*set));
    expect_ok("PAPI_destroy_eventset", PAPI_destroy_eventset(set));
  }
  PAPI_unlock(0);
  PAPI_shutdown();
  if (sde_ != nullptr) expect_ok("papi_sde_shutdown", papi_sde_shutdown(sde_));
  sde_ = nullptr;
  // The script's last calls of libsde may have failed too.
  if (void* const left = papi_sde_init("torture")) expect_ok("papi_sde_shutdown", papi_sde_shutdown(left));
  return wrong;
}

std::string difference(const std::vector<Call>& expected, const std::vector<Call>& found) {
  if (expected.size() != found.size()) return "another number of calls";
  for (size_t i = 0; i < expected.size(); ++i)
    if (expected[i].code != found[i].code)
      return std::string(found[i].name) + " (call " + std::to_string(i) + ") gives " +
             std::to_string(found[i].code) + " instead of " + std::to_string(expected[i].code);
  return {};
}

std::string not_an_answer(const std::vector<Call>& expected, const std::vector<Call>& found) {
  if (expected.size() != found.size()) return "another number of calls";
  for (size_t i = 0; i < expected.size(); ++i) {
    const int code = found[i].code;
    // 0 stands for a pointer that is null, or for a comparison that a failed call before has made false.
    const bool known = code == expected[i].code || code == 0 || (code >= PAPI_EMULPASS && code < 0);
    // Some calls answer how many they have done.
    const bool count = code > 0 && code <= 2 && std::strcmp(found[i].name, "PAPI_add_events") == 0;
    const bool removed = code > 0 && code <= 2 && std::strcmp(found[i].name, "PAPI_remove_events") == 0;
    if (code == PAPI_EBUG) return std::string(found[i].name) + " calls itself defective (PAPI_EBUG)";
    if (!known && !count && !removed)
      return std::string(found[i].name) + " gives " + std::to_string(code) + ", which is no answer";
  }
  return {};
}

}  // namespace substrata::torture
