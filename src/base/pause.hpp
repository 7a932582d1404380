// Waiting for another thread that does not say when it is done.
#pragma once

#include <sched.h>
#include <time.h>

#include "base/uncancelled.hpp"

namespace substrata {

// Between two looks. Yields at first, then sleeps: a thread of a real-time policy that only yields keeps its
// processor from the thread it waits for. Signal-safe.
class Pause {
 public:
  void once() noexcept {
    if (yields_ < kYields) {
      ++yields_;
      sched_yield();
      return;
    }
    const Uncancelled here;  // the waiting thread may hold what others wait for
    const timespec pause{0, 50'000};
    nanosleep(&pause, nullptr);
  }

 private:
  static constexpr int kYields = 16;
  int yields_ = 0;
};

}  // namespace substrata
