// The substrate `process`: processor time, faults, switches, memory and transfers that the kernel accounts to
// every process, where performance events are not allowed too.
#include <substrata/substrate.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/guard.hpp"
#include "base/table_of.hpp"
#include "process/usage.hpp"
#include "sysfs/measurement.hpp"
#include "sysfs/sysfs.hpp"

namespace {

using namespace substrata;
using process::Usage;

struct Known {
  const char* name;
  const char* text;
  const char* unit;
  ValueKind kind;
};
constexpr Known kKnown[process::kQuantities] = {
    {"cpu:time", "Processor time, user and system", "ns", ValueKind::kCount},
    {"cpu:user", "Processor time in user mode, in the kernel's ticks while the process runs", "ns",
     ValueKind::kCount},
    {"cpu:system", "Processor time in the kernel, in the kernel's ticks while the process runs", "ns",
     ValueKind::kCount},
    {"faults:minor", "Page faults that needed no input", "faults", ValueKind::kCount},
    {"faults:major", "Page faults that waited for input", "faults", ValueKind::kCount},
    {"switches:voluntary", "Context switches because the process waited", "switches", ValueKind::kCount},
    {"switches:involuntary", "Context switches because its time was up or another came first", "switches",
     ValueKind::kCount},
    {"memory:resident", "Memory that is resident, of all processes together", "bytes", ValueKind::kGauge},
    {"memory:peak", "Largest resident memory of a single process so far", "bytes", ValueKind::kGauge},
    {"io:in:bytes", "Bytes that read calls gave, from files, pipes and terminals", "bytes",
     ValueKind::kCount},
    {"io:out:bytes", "Bytes that write calls took, to files, pipes and terminals", "bytes",
     ValueKind::kCount},
    {"storage:read:bytes", "Bytes fetched from storage", "bytes", ValueKind::kCount},
    {"storage:written:bytes", "Bytes that were to be written to storage", "bytes", ValueKind::kCount},
    {"processes", "Processes", "processes", ValueKind::kGauge},
    {"threads", "Threads", "threads", ValueKind::kGauge},
};

// What a set looks at: the calling process, or one it is attached to.
class Sampler {
 public:
  Sampler() = default;
  Sampler(const Configuration& configuration, std::vector<uint32_t> selected)
      : selected_(std::move(selected)),
        inherit_(configuration.inherit != 0),
        attached_(configuration.target == Target::kThreadOrProcess) {
    // A process runs on this machine, whatever stands for the sensors' one.
    if (attached_) tree_ = process::Tree("", static_cast<pid_t>(configuration.target_id), inherit_);
  }
  const std::vector<uint32_t>& selected() const noexcept { return selected_; }
  uint32_t size() const noexcept { return static_cast<uint32_t>(selected_.size()); }
  bool counts(uint32_t i) const noexcept { return kKnown[selected_[i]].kind == ValueKind::kCount; }
  Status growth(uint32_t, int64_t from, int64_t to, int64_t* out) const noexcept {
    *out = to - from;
    return kSuccess;
  }
  Status sample(int64_t* raw) noexcept {
    Usage now;
    const int error = attached_ ? tree_.read(&now) : process::own_usage(inherit_, &now);
    if (error == ESRCH && seen_) {
      // It has ended and was waited for: its last account stands.
      for (uint32_t i = 0; i < process::kQuantities; ++i)
        now.of[i] = kKnown[i].kind == ValueKind::kCount || i == process::kPeak ? last_.of[i] : 0;
    } else if (error != 0) {
      return refuse_system(error, "the process to measure cannot be looked at: %s", std::strerror(error));
    }
    // What ended descendants used comes in coarser steps than what living ones use, and what nobody waited for
    // is lost: counts do not fall for it.
    for (uint32_t i = 0; i < process::kQuantities; ++i)
      if ((kKnown[i].kind == ValueKind::kCount || i == process::kPeak) && seen_ && now.of[i] < last_.of[i])
        now.of[i] = last_.of[i];
    last_ = now;
    seen_ = true;
    for (uint32_t i = 0; i < size(); ++i) raw[i] = now.of[selected_[i]];
    return kSuccess;
  }

 private:
  std::vector<uint32_t> selected_;
  process::Tree tree_;
  Usage last_;
  bool inherit_ = false;
  bool attached_ = false;
  bool seen_ = false;
};

struct State {
  explicit State(const Host* host) noexcept : measurement(host) {}
  Configuration configuration;
  sysfs::Measurement<Sampler> measurement;
};

const Host* host_of(Device* device) noexcept { return reinterpret_cast<const Host*>(device); }
State* state_of(Set* set) noexcept { return reinterpret_cast<State*>(set); }

struct Slots {
  static Status open(const Host* host, Device** out) noexcept {
    *out = reinterpret_cast<Device*>(const_cast<Host*>(host));
    return kSuccess;
  }

  static uint32_t event_count(Device*) noexcept { return process::kQuantities; }

  static Status event_at(Device*, uint32_t index, Event* out) noexcept {
    if (index >= process::kQuantities) return {Code::kNoEvent, 0, "process has no event of this index"};
    *out = Event{};
    out->name = kKnown[index].name;
    out->text = kKnown[index].text;
    out->unit = kKnown[index].unit;
    out->kind = kKnown[index].kind;
    out->flags = kEventScopeProcess;
    return kSuccess;
  }

  static Status create_set(Device* device, Thread*, Set** out) noexcept {
    return make<State>(out, host_of(device));
  }

  static void destroy_set(Set* set) noexcept { delete state_of(set); }

  static Status program(Set* set, const uint32_t* events, uint32_t count) noexcept {
    return guarded([&]() -> Status {
      for (uint32_t i = 0; i < count; ++i)
        if (events[i] >= process::kQuantities)
          return {Code::kNoEvent, 0, "process has no event of this index"};
      State& state = *state_of(set);
      state.measurement.program(Sampler(state.configuration, std::vector<uint32_t>(events, events + count)));
      return kSuccess;
    });
  }

  static Status configure(Set* set, const Configuration* wanted) noexcept {
    return guarded([&]() -> Status {
      constexpr uint32_t kBoth = kDomainUser | kDomainKernel;
      if ((wanted->domain & kBoth) != kBoth)
        return {Code::kInvalidDomain, 0,
                "the kernel accounts user and kernel mode together; cpu:user and cpu:system are apart"};
      if (wanted->target == Target::kCpu)
        return {Code::kComponent, 0, "process measures processes, not a processor"};
      if (wanted->granularity != kGranularityProcess)
        return {Code::kComponent, 0, "process measures with the granularity of a process only"};
      if (wanted->multiplex != 0) return {Code::kComponent, 0, "process does not multiplex by itself"};
      State& state = *state_of(set);
      state.configuration = *wanted;
      state.measurement.program(Sampler(*wanted, state.measurement.sampler().selected()));
      return kSuccess;
    });
  }

  static Status start(Set* set) noexcept { return state_of(set)->measurement.start(); }
  static Status stop(Set* set) noexcept { return state_of(set)->measurement.stop(); }
  static Status read(Set* set, int64_t* values) noexcept { return state_of(set)->measurement.read(values); }
  static Status read_details(Set* set, ValueDetail* details) noexcept {
    return state_of(set)->measurement.read_details(details);
  }
  static Status reset(Set* set) noexcept { return state_of(set)->measurement.reset(); }
};

constexpr SubstrateTable kTable = table_of<Slots>({
    .name = "process",
    .summary = "What the kernel accounts to a process and its descendants, for everyone",
    .version = "1.0",
    .traits = kCanAttach | kCanInherit,
    .default_granularity = kGranularityProcess,
    .granularities = kGranularityProcess,
    .event_names = "cpu:*,faults:*,switches:*,memory:*,io:*:bytes,storage:*:bytes,processes,threads",
});

}  // namespace

SUBSTRATA_PUBLISH(process, kTable);
