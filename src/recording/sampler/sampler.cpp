// Eventsets attached to the command or sampled for the node.
#include "recording/sampler/sampler.hpp"

#include <papi.h>
#include <substrata/feed.hpp>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string_view>

#include "base/environment.hpp"
#include "base/glob.hpp"
#include "recording/sampler/measuring.hpp"

namespace substrata::sampler {
namespace {

// Interfaces that never carried a byte are many and show nothing.
bool interface_is_used(const std::string& name) {
  if (*machine_root() != '\0') return true;  // /sys/class/net is of this machine
  std::uint64_t bytes = 0;
  for (const char* direction : {"rx_bytes", "tx_bytes"}) {
    std::uint64_t count = 0;
    std::ifstream("/sys/class/net/" + name + "/statistics/" + direction) >> count;
    bytes += count;
  }
  return bytes != 0 || name == "lo";
}

std::int64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

const char* scope_name(const substrata_event& event) {
  switch (event.scope) {
    case SUBSTRATA_SCOPE_CORE:
      return "core";
    case SUBSTRATA_SCOPE_PACKAGE:
      return "package";
    case SUBSTRATA_SCOPE_NODE:
      return "node";
    case SUBSTRATA_SCOPE_THREAD:
    case SUBSTRATA_SCOPE_PROCESS:
      return "recording process";
    default:
      return "node";
  }
}

std::uint8_t flags_of(const substrata_value& value) {
  std::uint8_t flags = 0;
  if ((value.flags & SUBSTRATA_VALUE_SCALED) != 0) flags |= recording::kScaled;
  if ((value.flags & SUBSTRATA_VALUE_MODELLED) != 0) flags |= recording::kModelled;
  if ((value.flags & SUBSTRATA_VALUE_STALE) != 0) flags |= recording::kStale;
  return flags;
}

// Transactions that the models of this process were given.
std::uint64_t delivered() {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < substrata_probe_count(); ++i)
    if (auto probe = client::sized<substrata_probe_info>(); substrata_probe_at(i, &probe) == 0)
      sum += probe.delivered;
  return sum;
}

constexpr std::size_t kOwnSeries = 2;

}  // namespace

std::int64_t raw_now_ns() { return clock_ns(CLOCK_MONOTONIC_RAW); }

Sampler::Sampler(pid_t command, bool follow, bool node) : command_(command), follow_(follow), node_(node) {}

Sampler::Sampler(OfProcessor processor) : follow_(true), node_(false), processor_(processor.number) {}

Sampler::~Sampler() {
  for (Set& set : sets_) release(set);
}

void Sampler::release(Set& set) {
  if (set.handle == PAPI_NULL) return;
  int state = 0;
  if (PAPI_state(set.handle, &state) == PAPI_OK && (state & PAPI_RUNNING) != 0)
    PAPI_stop(set.handle, nullptr);
  PAPI_cleanup_eventset(set.handle);
  PAPI_destroy_eventset(&set.handle);
  set.handle = PAPI_NULL;
}

// A set of the substrate, following the command where it can; the reason when that is refused.
std::string Sampler::open(Set& set) {
  set.handle = PAPI_NULL;
  if (const int status = PAPI_create_eventset(&set.handle); status != PAPI_OK) return refusal(status);
  if (!set.follows) return {};
  const auto option = [&](int which, PAPI_option_t value) { return PAPI_set_opt(which, &value); };
  int status = PAPI_assign_eventset_component(set.handle, set.component);
  if (status == PAPI_OK && processor_ < 0) {
    PAPI_option_t inherit{};
    inherit.inherit.eventset = set.handle;
    inherit.inherit.inherit = PAPI_INHERIT_ALL;
    status = option(PAPI_INHERIT, inherit);
  }
  if (status == PAPI_OK) {
    PAPI_option_t domain{};
    domain.domain.eventset = set.handle;
    domain.domain.domain = set.user_only ? PAPI_DOM_USER : PAPI_DOM_USER | PAPI_DOM_KERNEL;
    status = option(PAPI_DOMAIN, domain);
  }
  if (status == PAPI_OK && processor_ >= 0) {
    PAPI_option_t target{};
    target.cpu.eventset = set.handle;
    target.cpu.cpu_num = static_cast<unsigned>(processor_);
    status = option(PAPI_CPU_ATTACH, target);
  } else if (status == PAPI_OK) {
    status = PAPI_attach(set.handle, static_cast<unsigned long>(command_));
  }
  if (status == PAPI_OK && set.multiplexed) {
    PAPI_multiplex_init();
    status = PAPI_set_multiplex(set.handle);
  }
  for (std::size_t i = 0; i < set.codes.size() && status == PAPI_OK; ++i)
    status = PAPI_add_event(set.handle, set.codes[i]);
  if (status == PAPI_OK) return {};
  const std::string why = refusal(status);
  release(set);
  return why;
}

// Adds one event to a set; where kernel mode is forbidden or the counters do not suffice, by a set that
// counts less or is multiplexed.
std::string Sampler::add(Set& set, int code, const std::string& name) {
  int status = PAPI_add_event(set.handle, code);
  if (status == PAPI_OK) return {};
  const std::string first = refusal(status);
  if (!set.follows) return first;
  const bool forbidden = status == PAPI_EPERM || status == PAPI_ESYS;
  const bool crowded = status == PAPI_ECNFLCT || status == PAPI_ENOCNTR || status == PAPI_ECOUNT;
  if ((!forbidden || set.user_only) && (!crowded || set.multiplexed)) return first;
  const bool user_before = set.user_only, multiplexed_before = set.multiplexed;
  set.user_only = set.user_only || forbidden;
  set.multiplexed = set.multiplexed || crowded;
  release(set);
  if (open(set).empty() && PAPI_add_event(set.handle, code) == PAPI_OK) {
    notes_.push_back(forbidden ? "events of " + std::string(component_name(set.component)) +
                                     " count user mode only, except for clocks, which count both: " + first
                               : name + ": too few counters; the events are multiplexed and extrapolated");
    return {};
  }
  release(set);
  set.user_only = user_before;
  set.multiplexed = multiplexed_before;
  if (const std::string lost = open(set); !lost.empty()) notes_.push_back(named(name, lost));
  return first;
}

std::string Sampler::try_add(const std::string& name) {
  int code = 0;
  if (const int status = PAPI_event_name_to_code(name.c_str(), &code); status != PAPI_OK)
    return refusal(name, status);
  const int component = PAPI_get_event_component(code);
  if (component < 0) return refusal(name, component);
  const PAPI_component_info_t* info = PAPI_get_component_info(component);
  const bool follows = info != nullptr && info->attach != 0 && info->inherit != 0;
  if (follows ? !follow_ : !node_) return {};  // another process of this node has it
  auto set = std::find_if(sets_.begin(), sets_.end(), [&](const Set& s) { return s.component == component; });
  const bool fresh = set == sets_.end();
  if (fresh) {
    set = sets_.emplace(sets_.end());
    set->component = component;
    set->follows = follows;
    if (const std::string why = open(*set); !why.empty()) {
      sets_.pop_back();
      return named(name, why);
    }
  }
  if (std::find(set->codes.begin(), set->codes.end(), code) != set->codes.end()) return {};
  if (const std::string why = add(*set, code, name); !why.empty()) {
    if (fresh) {
      release(*set);
      sets_.pop_back();
    }
    return named(name, why);
  }
  set->codes.push_back(code);
  set->names.push_back(name);
  ++events_;
  return {};
}

void Sampler::start() {
  for (std::size_t i = 0; i < sets_.size();) {
    Set& set = sets_[i];
    const int status = set.handle == PAPI_NULL ? PAPI_ENOEVST : PAPI_start(set.handle);
    if (status == PAPI_OK) {
      set.values.resize(set.codes.size());
      for (const int code : set.codes) {
        const substrata_event about = describe(code);
        set.models.push_back(about.modelled == 0 ? Model::kNone
                             : about.kind == 1   ? Model::kLevel
                                                 : Model::kCount);
      }
      ++i;
      continue;
    }
    std::string names;
    for (const std::string& name : set.names) names += (names.empty() ? "" : ", ") + name;
    notes_.push_back(names + " did not start: " + refusal(status));
    events_ -= set.codes.size();
    release(set);
    sets_.erase(sets_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  row_.assign(events_ + kOwnSeries, 0);
  flags_.assign(row_.size(), 0);
  cpu_at_start_ns_ = -1;
  delivered_at_start_ = delivered();
}

std::vector<recording::SeriesInfo> Sampler::series() const {
  std::vector<recording::SeriesInfo> out;
  for (const Set& set : sets_)
    for (std::size_t i = 0; i < set.codes.size(); ++i) {
      const substrata_event about = describe(set.codes[i]);
      PAPI_event_info_t info{};
      recording::SeriesInfo one;
      one.name = set.names[i];
      one.unit = about.unit;
      if (PAPI_get_event_info(set.codes[i], &info) == PAPI_OK) one.text = info.long_descr;
      one.component = component_name(set.component);
      one.scope = !set.follows ? scope_name(about) : processor_ >= 0 ? "machine" : "process tree";
      one.kind = static_cast<recording::Kind>(std::min<std::uint32_t>(about.kind, 2));
      one.type = static_cast<recording::Type>(std::min<std::uint32_t>(about.type, 2));
      one.modelled = about.modelled != 0;
      one.recorded = is_recorded(one.component);
      out.push_back(std::move(one));
    }
  const auto own = [&out](const char* name, const char* text, recording::Kind kind) {
    out.push_back({name, "ns", text, "record", "recorder", kind, recording::Type::kInt64, false});
  };
  own("recorder:cpu",
      "Processor time that the recording process used since its first row, all its work included",
      recording::Kind::kCount);
  own("recorder:row", "How long it took to read the row before", recording::Kind::kGauge);
  return out;
}

std::vector<Counting> Sampler::counting() const {
  std::vector<Counting> out;
  for (const Set& set : sets_)
    for (const substrata_value& value : set.values)
      out.push_back({static_cast<double>(value.enabled_ns), static_cast<double>(value.running_ns)});
  return out;
}

std::vector<std::string> Sampler::unobserved() const {
  std::vector<std::string> out;
  for (const Set& set : sets_)
    for (std::size_t i = 0; i < set.values.size(); ++i)
      if (!has_observed(set, i)) {
        out.emplace_back(component_name(set.component));
        break;
      }
  return out;
}

bool Sampler::Set::counted_something() const {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (models[i] == Model::kCount && values[i].value != 0) return true;
  return false;
}

// A model of temperatures is given nothing and has levels all the same.
bool Sampler::has_observed(const Set& set, std::size_t i) const {
  return observed_ || set.models[i] == Model::kNone ||
         (set.models[i] == Model::kLevel && set.values[i].value != 0);
}

// The row before is given once more, with the zeros from which the models begin.
void Sampler::begin_to_observe(recording::Sink& sink, std::uint32_t set) {
  if (observed_) return;
  observed_ = true;
  if (time_ == 0) return;
  bool changed = false;
  std::size_t at = 0;
  for (const Set& one : sets_)
    for (std::size_t i = 0; i < one.values.size(); ++i, ++at) {
      if (one.models[i] != Model::kCount || one.status != PAPI_OK) continue;
      flags_[at] = flags_of(one.values[i]);
      changed = true;
    }
  if (changed) sink.sample(set, time_ + 1, skew_, row_.data(), flags_.data());
}

void Sampler::sample(recording::Sink& sink, std::uint32_t set) {
  const std::int64_t begin = raw_now_ns();
  for (Set& one : sets_)
    one.status =
        substrata_read_values(one.handle, one.values.data(), static_cast<unsigned>(one.values.size()));
  // A model that was given nothing has not counted 0; one that was given something may have.
  bool observed = observed_;
  for (std::size_t i = 0; i < sets_.size() && !observed; ++i) observed = sets_[i].counted_something();
  if (observed || delivered() != delivered_at_start_) begin_to_observe(sink, set);
  std::size_t at = 0;
  for (const Set& one : sets_)
    for (std::size_t i = 0; i < one.values.size(); ++i, ++at) {
      const bool present = one.status == PAPI_OK && has_observed(one, i);
      row_[at] = present ? one.values[i].value : 0;
      flags_[at] = present ? flags_of(one.values[i]) : std::uint8_t{recording::kAbsent};
    }
  const std::int64_t end = raw_now_ns();
  const std::int64_t cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  if (cpu_at_start_ns_ < 0) cpu_at_start_ns_ = cpu;
  row_[at] = cpu - cpu_at_start_ns_;
  row_[at + 1] = last_cost_ns_;
  const std::int64_t half = (end - begin) / 2;
  time_ = begin + half;
  skew_ = half;
  sink.sample(set, time_, skew_, row_.data(), flags_.data());
  last_cost_ns_ = end - begin;
}

namespace {

// A limit of a sensor is a level as its value is, but one that does not change.
bool is_limit(const std::string& name) {
  if (glob("coretemp:::thermal-*", name)) return !name.ends_with(":temp");  // trip points
  if (glob("lmsensors:::*.temp*", name)) return !name.ends_with("_input");
  for (const char* const limit : {":max", ":crit", ":emergency", ":min", ":lcrit"})
    if (name.ends_with(limit)) return true;
  return false;
}

}  // namespace

std::vector<std::string> add_usual_events(const TryAdd& try_add, std::vector<Refused>* not_counted) {
  // What the kernel's accounts have instead of an event of perf.
  struct Usual {
    const char* name;
    std::vector<const char*> otherwise;
  };
  const std::vector<Usual> usual = {
      {"perf::TASK-CLOCK", {"process:::cpu:time", "process:::cpu:user", "process:::cpu:system"}},
      {"PAPI_TOT_CYC", {}},
      {"PAPI_TOT_INS", {}},
      {"perf::PAGE-FAULTS", {"process:::faults:minor", "process:::faults:major"}},
      {"perf::CONTEXT-SWITCHES", {"process:::switches:voluntary", "process:::switches:involuntary"}},
      {"perf::CPU-MIGRATIONS", {}}};
  std::vector<std::string> notes;
  std::string missing, why;
  bool stands_in = false;  // something of the kernel's accounts
  for (const Usual& one : usual) {
    int code = 0;
    std::string refused = "not known here";
    if (PAPI_event_name_to_code(one.name, &code) == PAPI_OK) {
      const substrata_event about = describe(code);
      refused = about.available != 0 ? try_add(one.name) : about.why;
    }
    if (refused.empty()) continue;
    if (not_counted != nullptr && refused != kLeftOut) not_counted->push_back({one.name, refused});
    for (const char* other : one.otherwise) stands_in = try_add(other).empty() || stands_in;
    // That a machine has no counters of its processor is not worth a line each time.
    if (std::strncmp(one.name, "perf::", 6) != 0 || refused == kLeftOut) continue;
    missing += (missing.empty() ? "" : ", ") + std::string(one.name);
    why = refused;
  }
  if (!missing.empty())
    notes.push_back(
        missing + " cannot be counted here (" + why + ")" +
        (stands_in ? "; the kernel's accounts (process:::*) stand in where they have the same" : ""));
  const auto is_available = [](const char* component) {
    const PAPI_component_info_t* const info = PAPI_get_component_info(PAPI_get_component_index(component));
    return info != nullptr && info->disabled == 0;
  };
  // The first of these that has temperatures; the model only where the user switched it on.
  for (const char* component : {"coretemp", "lmsensors", "thermal_model"}) {
    const int index = PAPI_get_component_index(component);
    bool added = false;
    for (const int code : index >= 0 ? native_events(index) : std::vector<int>()) {
      const substrata_event about = describe(code);
      const std::string name = event_name(code);
      if (about.available == 0 || about.kind != 1 || std::strstr(about.unit, "degC") == nullptr) continue;
      if (is_limit(name) || (glob("coretemp:::amdgpu-*", name) && is_available("rocm_smi"))) continue;
      added = try_add(name).empty() || added;
    }
    if (added) break;
  }
  if (const int index = PAPI_get_component_index("net"); index >= 0)
    for (const int code : native_events(index)) {
      const std::string name = event_name(code);  // net:::eth0:rx:bytes
      const std::size_t begin = name.rfind(":::") + 3, end = name.find(":rx:bytes"),
                        other = name.find(":tx:bytes");
      const std::size_t stop = std::min(end, other);
      if (stop != std::string::npos && stop > begin && interface_is_used(name.substr(begin, stop - begin)))
        try_add(name);
    }
  // Of the devices of a node what their users look at first, where they are.
  struct Chosen {
    const char* component;
    std::vector<const char*> events;
    const char* unless = nullptr;  // a component that has the same
  };
  const std::vector<Chosen> chosen = {
      {"powercap", {"ENERGY_UJ:*"}},
      // Where the kernel has no zones, from the processor's registers.
      {"rapl", {"*_ENERGY:PACKAGE*"}, "powercap"},
      // Grace, POWER and EPYC without powercap show their power as sensors.
      {"coretemp", {"*Power_Socket_*:average", "ibmpowernv-*:System", "amd_energy-*:Esocket*"}},
      {"nvml", {"*:power", "*:energy", "*:gpu_utilization", "*:temperature", "*:allocated_memory"}},
      {"rocm_smi",
       {"power_average:*", "energy_count:*", "busy_percent:*", "temp_current:*:sensor=1",
        "mem_usage_VRAM:*"}},
      {"intel_gpu", {"*-busy:*", "*-active-ticks:*", "frequency:*", "energy*:device=*"}},
      {"infiniband", {"*_[0-9]:port_xmit_data", "*_[0-9]:port_rcv_data"}},
      {"cxi", {"*_ok_octets"}},
      {"lustre", {"*/stats_llread", "*/stats_llwrite"}},
      {"cray_pm", {"PM_ENERGY:NODE", "PM_POWER:NODE"}}};
  for (const Chosen& one : chosen) {
    if (one.unless != nullptr && is_available(one.unless)) continue;
    const int index = PAPI_get_component_index(one.component);
    const std::string start = std::string(one.component) + ":::";
    for (const int code : index >= 0 ? native_events(index) : std::vector<int>()) {
      const std::string name = event_name(code);
      if (std::any_of(one.events.begin(), one.events.end(),
                      [&](const char* pattern) { return glob(start + pattern, name); }) &&
          describe(code).available != 0)
        try_add(name);
    }
  }
  return notes;
}

}  // namespace substrata::sampler
