// One event that overflows: its threshold, and the handler or profile that receives the overflows.
#pragma once

#include <substrata/substrate.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/visitors.hpp"
#include "core/events/derived.hpp"
#include "core/overflow/profile.hpp"

namespace substrata {

// Called in a signal handler: the eventset, the interrupted program counter (null: unknown), bit i for the
// i-th native event of the set, the signal's ucontext_t (or null).
using OverflowHandler = void (*)(int handle, void* address, long long vector, void* context);

enum class OverflowBy {
  kEither,     // the substrate's own means, else the timer
  kSubstrate,  // kComponent where it has none
  kTimer,      // the timer, whatever the substrate can
};

// Written under the set's lock while no reader is active: `live` is published last and taken back first, and
// `visitors` counts readers in signal handlers.
struct Watch {
  std::atomic<bool> live{false};
  Visitors visitors;
  uint64_t forks = 0;  // how many forks lay behind the process when it was set
  int handle = -1;
  uint32_t code = 0;
  int64_t threshold = 0;
  OverflowBy by = OverflowBy::kEither;
  bool timed = false;
  OverflowHandler handler = nullptr;
  std::unique_ptr<Profile> profile;
  // For the timer, while the set runs: how to compute the event's value from the native values.
  const Formula* formula = nullptr;
  const uint16_t* positions = nullptr;
  double clock_hz = 0;
  uint64_t mask = 0;  // the bit of its first native event
  int64_t last = 0;   // the value at which the present threshold began

  // Receives the overflows that a substrate reports by itself. Valid as long as the watch.
  SampleSink sink() noexcept;
  // How the substrate is to sample (SampleFlags).
  uint32_t sample_flags() const noexcept {
    return profile != nullptr && profile->of_data() ? static_cast<uint32_t>(kSampleDataAddress) : 0u;
  }
  // No overflow is delivered any more. Waits for a handler that runs in another thread, for one of the program's a
  // second at most; one in this thread is the caller. `forks_now`: as `forks`, in this process.
  void retire(uint64_t forks_now) noexcept;
  int64_t value_from(const int64_t* natives) const noexcept;
  // Whether the event went beyond its threshold since the last look, and by how much. Signal-safe.
  bool advanced(int64_t value, int64_t* excess) noexcept;
};

}  // namespace substrata
