// Opens the substrate over any kernel and any table of names: the entry point uses the running ones, tests
// others.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "event_set.hpp"
#include "presets.hpp"

namespace substrata::perf {

// The process-wide state behind the table's opaque Device.
struct DeviceState {
  DeviceState(const Host& host, const Kernel& kernel, std::unique_ptr<Encoder> encoder, PmuKind kind)
      : shared(host, kernel, std::move(encoder), kind), presets(shared.host, shared.catalogue) {}
  Shared shared;
  Presets presets;
  std::once_flag units_known;
  std::string units;
  std::atomic<uint32_t> counters{0};  // what hardware_counters found, 0 so far
};

// The substrate's table.
const SubstrateTable& core_table() noexcept;

}  // namespace substrata::perf
