// This host's clocks as a message needs them, from one reading of the time-stamp counter each.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/system/timers.hpp"

namespace substrata::mpi {

// A span of the counter in nanoseconds; 0 for a negative one.
inline int64_t nanoseconds_of_ticks(int64_t ticks) {
  static const double tick_ns = 1e9 / cycle_hz();
  return static_cast<int64_t>(tick_ns * static_cast<double>(std::max<int64_t>(ticks, 0)));
}
// 10 us. In what takes longer another thread may have run.
inline bool may_be_interrupted(int64_t ticks) {
  static const auto limit = static_cast<int64_t>(10e-6 * cycle_hz());
  return ticks < 0 || ticks > limit;
}

// CLOCK_MONOTONIC_RAW at a reading of the counter, which takes half the time of asking for it. The clock is
// asked once a millisecond; the counter's rate is taken from two such questions far apart as soon as there
// are some. Off by less than a microsecond, and by less than a tenth of one after a second.
// Thread-compatible.
class RealTime {
 public:
  // Nanoseconds; `ticks` is a reading of real_cycles() of the last millisecond.
  int64_t at(int64_t ticks) {
    if (ticks - asked_.ticks > fresh_) ask();
    return asked_.ns + static_cast<int64_t>(tick_ns_ * static_cast<double>(ticks - asked_.ticks));
  }

 private:
  [[gnu::noinline]] void ask() {
    constexpr int64_t kFarApart = 1000;  // fresh_
    constexpr int kTries = 4;
    asked_ = clock_point(kTries, static_cast<int64_t>(1e-6 * cycle_hz()));
    if (first_.ns == 0) {
      first_ = asked_;
      tick_ns_ = 1e9 / cycle_hz();
      fresh_ = static_cast<int64_t>(1e-3 * cycle_hz());
    } else if (asked_.ticks - first_.ticks > kFarApart * fresh_) {
      tick_ns_ =
          static_cast<double>(asked_.ns - first_.ns) / static_cast<double>(asked_.ticks - first_.ticks);
    }
  }
  ClockPoint first_{};
  ClockPoint asked_{};
  int64_t fresh_ = INT64_MIN;  // ticks for which an answer is used: a millisecond
  double tick_ns_ = 1;
};

// The calling thread's processor time. Asking the kernel costs more than sending a small message, so between
// two questions that follow each other closely the counter is used. For one thread.
class ThreadTime {
 public:
  // Nanoseconds at a reading of real_cycles() just taken.
  int64_t at(int64_t ticks) {
    const int64_t since = ticks - ticks_;
    if (ticks_ == 0 || may_be_interrupted(since))
      ns_ = virtual_ns();
    else
      ns_ += nanoseconds_of_ticks(since);
    ticks_ = ticks;
    return ns_;
  }

 private:
  int64_t ticks_ = 0;
  int64_t ns_ = 0;
};

}  // namespace substrata::mpi
