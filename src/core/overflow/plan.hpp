// What one set that overflows keeps: its watched events and the timer that looks at them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/overflow/timer.hpp"
#include "core/overflow/watch.hpp"

namespace substrata {

inline constexpr size_t kMaxWatches = 64;  // the bits of an overflow vector

// A handler to call and the native events that overflowed.
struct OverflowHit {
  OverflowHandler handler;
  uint64_t mask;
};
using OverflowHits = std::array<OverflowHit, kMaxWatches + 1>;

// Lives as long as the set's object. Guarded by the set's lock; knows nothing of the set itself.
class OverflowPlan {
 public:
  std::array<Watch, kMaxWatches + 1> watches;  // one more: a replacement is made before the old one goes
  std::vector<int64_t> values;                 // native values, for the timer
  bool looks = false;  // the timer reads values, else it only switches the multiplexer's groups
  OverflowTimer timer;

  Watch* find(uint32_t code, const Watch* except = nullptr) noexcept;
  // Null when kMaxWatches events overflow.
  Watch* unused() noexcept;
  template <class Test>
  bool any(Test&& test) const noexcept {
    return std::any_of(watches.begin(), watches.end(), [&](const Watch& watch) {
      return watch.live.load(std::memory_order_relaxed) && test(watch);
    });
  }
  template <class Action>
  void for_each_timed(Action&& action) noexcept {
    for (Watch& watch : watches) {
      if (watch.live.load(std::memory_order_relaxed) && watch.timed) action(watch);
    }
  }

  // `values` are those at the set's start.
  void take_baseline() noexcept;
  // `values` are those of now: profiles count at once, the handlers to call are left in `hits`; how many.
  size_t collect(uint64_t address, OverflowHits* hits) noexcept;
};

}  // namespace substrata
