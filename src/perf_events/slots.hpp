// The slots that the substrates of the kernel's performance events have in common (substrata/substrate.h); a substrate
// adds detect and open.
#pragma once

#include <substrata/substrate.h>

#include "perf_events/event_set.hpp"

namespace substrata::perf {

struct Slots {
  static constexpr bool kReachesNoCancellationPoint = true;
  static void close(Device* device) noexcept;
  static uint32_t event_count(Device* device) noexcept;
  static Status event_at(Device* device, uint32_t index, Event* out) noexcept;
  static Status find_event(Device* device, const char* name, uint32_t* index) noexcept;
  static const char* units(Device* device) noexcept;
  static Status create_set(Device* device, Thread*, Set** out) noexcept;
  static void destroy_set(Set* set) noexcept;
  static Status program(Set* set, const uint32_t* events, uint32_t count) noexcept;
  static Status configure(Set* set, const Configuration* wanted) noexcept;
  static Status start(Set* set) noexcept;
  static Status stop(Set* set) noexcept;
  static Status read(Set* set, int64_t* values) noexcept;
  static Status read_details(Set* set, ValueDetail* details) noexcept;
  static Status take(Set* set, int64_t* values) noexcept;
  static Status reset(Set* set) noexcept;
  static Status write(Set* set, const int64_t* values) noexcept;
};

// With overflows, which counters of a thread have.
struct OverflowingSlots : Slots {
  static Status arm(Set* set, uint32_t position, int64_t threshold, uint32_t flags,
                    const SampleSink* sink) noexcept;
  static Status disarm(Set* set, uint32_t position) noexcept;
};

// The data of the table for a thread's events.
inline constexpr SubstrateTable kThreadEvents{
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
    .granularities = kGranularityThread | kGranularitySystem | kGranularitySystemCpu,
    .prefixes = "perf::,perf_raw::",
};

}  // namespace substrata::perf
