// The substrate perf_event: the processor's counters and the kernel's software events through
// perf_event_open.
#include <substrata/substrate.h>

#include <cerrno>
#include <new>

#include "base/guard.hpp"
#include "perf_events/device.hpp"
#include "perf_events/note.hpp"

namespace substrata::perf {
namespace {

DeviceState& state(Device* device) noexcept { return *reinterpret_cast<DeviceState*>(device); }
EventSet& event_set(Set* set) noexcept { return *reinterpret_cast<EventSet*>(set); }

// Software events or the tick counter count nearly everywhere; what does not open says so event by event.
Status detect(const Host* host) noexcept {
  return guarded([&]() -> Status {
    const Kernel& kernel = kernel_of(host->root);
    if (kernel.ticks != nullptr || *host->root != '\0') return kSuccess;  // a recorded machine's are listed
    perf_event_attr attr = blank_attr();
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_DUMMY;
    const int descriptor = kernel.open(kernel.context, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (descriptor < 0)
      return refuse(Code::kNoSupport, -descriptor,
                    "perf_event: " + explain_refusal(host->root, -descriptor, false));
    kernel.close(kernel.context, descriptor);
    return kSuccess;
  });
}

Status open(const Host* host, Device** out) noexcept {
  return guarded([&]() -> Status {
    *out = reinterpret_cast<Device*>(new DeviceState(
        *host, kernel_of(host->root), libpfm_encoder(host->root, PmuKind::kCore), PmuKind::kCore));
    return kSuccess;
  });
}

void close(Device* device) noexcept { delete reinterpret_cast<DeviceState*>(device); }

uint32_t event_count(Device* device) noexcept {
  uint32_t count = 0;
  guarded([&]() -> Status {
    count = state(device).shared.catalogue.count();
    return kSuccess;
  });
  return count;
}

Status event_at(Device* device, uint32_t index, Event* out) noexcept {
  return guarded([&] { return state(device).shared.catalogue.at(index, out); });
}

Status find_event(Device* device, const char* name, uint32_t* index) noexcept {
  return guarded([&] { return state(device).shared.catalogue.find(name, index); });
}

Status recipe(Device* device, const char* preset, Recipe* out) noexcept {
  return guarded([&] { return state(device).presets.recipe(preset, out); });
}

const char* units(Device* device) noexcept {
  guarded([&]() -> Status {
    DeviceState& self = state(device);
    std::call_once(self.units_known, [&] {
      for (const std::string& name : self.shared.catalogue.pmu_names()) {
        // The kernel's own events have their prefixes.
        if (name == "perf" || name == "perf_raw") continue;
        if (!self.units.empty()) self.units += ',';
        self.units += name;
      }
    });
    return kSuccess;
  });
  return state(device).units.c_str();
}

Status create_set(Device* device, Thread*, Set** out) noexcept {
  return guarded([&]() -> Status {
    *out = reinterpret_cast<Set*>(new EventSet(state(device).shared));
    return kSuccess;
  });
}

void destroy_set(Set* set) noexcept { delete reinterpret_cast<EventSet*>(set); }

Status program(Set* set, const uint32_t* events, uint32_t count) noexcept {
  return guarded([&] { return event_set(set).program(events, count); });
}
Status configure(Set* set, const Configuration* wanted) noexcept {
  return guarded([&] { return event_set(set).configure(*wanted); });
}
Status start(Set* set) noexcept { return event_set(set).start(); }
Status stop(Set* set) noexcept { return event_set(set).stop(); }
Status read(Set* set, int64_t* values) noexcept { return event_set(set).read(values); }
Status read_details(Set* set, ValueDetail* details) noexcept { return event_set(set).read_details(details); }
Status take(Set* set, int64_t* values) noexcept { return event_set(set).take(values); }
Status reset(Set* set) noexcept { return event_set(set).reset(); }
Status write(Set* set, const int64_t* values) noexcept { return event_set(set).write(values); }
Status arm(Set* set, uint32_t position, int64_t threshold, uint32_t flags, const SampleSink* sink) noexcept {
  return guarded([&] {
    return event_set(set).arm(position, threshold, (flags & kSampleDataAddress) != 0,
                              sink == nullptr ? SampleSink{} : *sink);
  });
}
Status disarm(Set* set, uint32_t position) noexcept {
  return guarded([&] { return event_set(set).disarm(position); });
}

// Opens instructions in one group until the kernel refuses: what a set can hold here, whatever a table says.
uint32_t count_by_opening(DeviceState& device) {
  if (const uint32_t known = device.counters.load(std::memory_order_relaxed); known != 0) return known;
  if (!device.shared.catalogue.has_core_pmu()) return 0;
  const Kernel& kernel = device.shared.kernel;
  std::vector<int> opened;
  while (opened.size() < EventSet::kMaxEvents) {
    perf_event_attr attr = blank_attr();
    attr.type = PERF_TYPE_HARDWARE;
    attr.config = opened.empty() ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_HW_INSTRUCTIONS;
    attr.disabled = opened.empty();
    const int descriptor =
        kernel.open(kernel.context, &attr, 0, -1, opened.empty() ? -1 : opened.front(), PERF_FLAG_FD_CLOEXEC);
    if (descriptor < 0) break;
    opened.push_back(descriptor);
  }
  for (auto descriptor = opened.rbegin(); descriptor != opened.rend(); ++descriptor)
    kernel.close(kernel.context, *descriptor);
  // None may be passing trouble (permission, descriptors) and is asked again.
  device.counters.store(static_cast<uint32_t>(opened.size()), std::memory_order_relaxed);
  return static_cast<uint32_t>(opened.size());
}

// Whether a counter of this thread can be read without a system call.
bool reads_by_mapped_page(DeviceState& device) {
  if (!device.shared.user_reads || !device.shared.catalogue.has_core_pmu()) return false;
  const Kernel& kernel = device.shared.kernel;
  const Encoding* encoding = nullptr;
  uint32_t index = 0;
  if (!device.shared.catalogue.find("perf::INSTRUCTIONS", &index).ok() ||
      !device.shared.catalogue.encoding(index, &encoding).ok())
    return false;
  for (const Leg& leg : encoding->legs) {
    perf_event_attr attr = leg.attr;
    if (device.shared.user_read_bits) attr.config1 |= leg.user_access;
    const int descriptor = kernel.open(kernel.context, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (descriptor < 0) continue;
    void* const page = kernel.map(kernel.context, descriptor, 0);
    const bool fast = page != nullptr && static_cast<const perf_event_mmap_page*>(page)->cap_user_rdpmc != 0;
    if (page != nullptr) kernel.unmap(kernel.context, page, 0);
    kernel.close(kernel.context, descriptor);
    if (fast) return true;
  }
  return false;
}

uint32_t hardware_counters(Device* device) noexcept {
  uint32_t count = 0;
  guarded([&]() -> Status {
    count = count_by_opening(state(device));
    return kSuccess;
  });
  return count;
}

bool fast_reads(Device* device) noexcept {
  bool fast = false;
  guarded([&]() -> Status {
    fast = reads_by_mapped_page(state(device));
    return kSuccess;
  });
  return fast;
}

constexpr uint32_t kGranularities = kGranularityThread | kGranularitySystem | kGranularitySystemCpu;

constexpr SubstrateTable kTable{
    .name = "perf_event",
    .short_name = "perf",
    .summary = "Linux perf_event CPU counters",
    .version = "1.0",
    .traits = kProcessor | kKernelMultiplex | kFastRead | kCanAttach | kCanBindCpu | kCanInherit |
              kHardwareInterrupt | kCounterUmasks | kSwitchesInSignal | kDataAddresses,
    .max_events = EventSet::kMaxEvents,
    .max_multiplexed = EventSet::kMaxEvents,
    .default_domain = kDomainUser,
    .domains = kDomainUser | kDomainKernel | kDomainSupervisor,
    .default_granularity = kGranularityThread,
    .granularities = kGranularities,
    .prefixes = "perf::,perf_raw::",
    .detect = detect,
    .open = open,
    .close = close,
    .event_count = event_count,
    .event_at = event_at,
    .find_event = find_event,
    .recipe = recipe,
    .create_set = create_set,
    .destroy_set = destroy_set,
    .program = program,
    .configure = configure,
    .start = start,
    .stop = stop,
    .read = read,
    .read_details = read_details,
    .reset = reset,
    .write = write,
    .arm = arm,
    .disarm = disarm,
    .hardware_counters = hardware_counters,
    .fast_reads = fast_reads,
    .units = units,
    .take = take,
};

}  // namespace

SubstrateTable table_of_slots() noexcept {
  SubstrateTable table = kTable;
  table.detect = nullptr;
  table.open = nullptr;
  table.recipe = nullptr;
  table.hardware_counters = nullptr;
  table.fast_reads = nullptr;
  return table;
}

const SubstrateTable& core_table() noexcept { return kTable; }

}  // namespace substrata::perf

SUBSTRATA_PUBLISH(perf_event, substrata::perf::core_table());
