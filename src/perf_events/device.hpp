// Opens the substrate over any kernel and any table of names: the entry point uses the running ones, tests
// others.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "base/fork_lock.hpp"
#include "perf_events/event_set.hpp"
#include "perf_events/presets.hpp"

namespace substrata::perf {

// The process-wide state behind the table's opaque Device.
struct DeviceState {
  DeviceState(const Host& host, const Kernel& kernel, std::unique_ptr<Encoder> encoder, PmuKind kind)
      : shared(host, kernel, std::move(encoder), kind), presets(shared.host, shared.catalogue) {}
  Shared shared;
  Presets presets;
  // An exception does not pass std::call_once where memory is exhausted: the GNU C library ends the program.
  ForkLock units_lock;
  std::optional<std::string> units;
  std::atomic<uint32_t> counters{0};  // what hardware_counters found, 0 so far
};

// The substrate's table.
const SubstrateTable& core_table() noexcept;

}  // namespace substrata::perf
