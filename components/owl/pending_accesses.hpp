// The accesses that a module which reduces patterns has not given away yet.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "owl/pattern.hpp"
#include "owl/pattern_table.hpp"

namespace substrata::owl {

// From one address to the next; kBreak where the distance has no 32 bits.
inline PatternStep step_between(uint64_t from, uint64_t to, uint32_t symbol = 0) noexcept {
  const auto distance = static_cast<int64_t>(to - from);
  return distance == static_cast<int32_t>(distance) ? PatternStep{static_cast<int32_t>(distance), symbol}
                                                    : PatternStep{0, kBreak};
}

// A queue with the step from each access to the next. A size of twice what is held at most moves them seldom.
// Thread-compatible.
template <typename Access>
class PendingAccesses {
 public:
  explicit PendingAccesses(size_t size) : accesses_(size), steps_(size) {}

  // `step(before, access)`; asked where there is one before.
  template <typename Step>
  void add(const Access& access, const Step& step) noexcept {
    if (first_ + held_ == accesses_.size()) {
      std::move(accesses_.begin() + first_, accesses_.end(), accesses_.begin());
      std::move(steps_.begin() + first_, steps_.end(), steps_.begin());
      first_ = 0;
    }
    const uint32_t at = first_ + held_++;
    accesses_[at] = access;
    steps_[at] = held_ != 1 ? step(accesses_[at - 1], accesses_[at]) : PatternStep{0, kBreak};
  }
  void drop(uint32_t count) noexcept {
    first_ += count;
    held_ -= count;
    if (held_ == 0) first_ = 0;
  }
  uint32_t held() const noexcept { return held_; }
  const Access& operator[](uint32_t index) const noexcept { return accesses_[first_ + index]; }
  // From the first access to the second, and so on: held() - 1 of them.
  const PatternStep* steps() const noexcept { return steps_.data() + first_ + 1; }

 private:
  std::vector<Access> accesses_;
  std::vector<PatternStep> steps_;  // to each of them from the one before
  uint32_t first_ = 0;
  uint32_t held_ = 0;
};

}  // namespace substrata::owl
