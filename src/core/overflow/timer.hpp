// The timer that looks for overflows: one per running set, with one signal handler for all of them.
#pragma once

#include <time.h>

#include <cstdint>

#include "base/result.hpp"

namespace substrata {

// Called in the signal handler: the set's handle and the signal's ucontext_t. Signal-safe; the same function
// for every timer of a process.
using OverflowLook = void (*)(int handle, void* context);

// Thread-compatible.
class OverflowTimer {
 public:
  // From now on the calling thread gets a real-time signal at every period of its clock. The signal's handler
  // is installed by the first timer of the process and the previous one restored after the last. kConflict
  // when no real-time signal is free, kSystem and its like when the kernel refuses a timer. `forks`: how many
  // forks lie behind the process.
  Status start(int handle, clockid_t clock, int64_t period_ns, OverflowLook look, uint64_t forks) noexcept;
  // Does nothing for a timer that does not run.
  void stop(uint64_t forks) noexcept;
  bool running() const noexcept { return running_; }

 private:
  bool running_ = false;
  timer_t timer_{};
  uint64_t forks_ = 0;
};

// The signal of the timers while one runs, else 0. Thread-safe.
int overflow_signal() noexcept;

}  // namespace substrata
