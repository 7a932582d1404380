// The two state machines by which the processor card estimates invalidation hits and misses from outside.
#pragma once

#include <cstdint>

// Source: Lemieux's thesis, section 4.4.4 and figure 4.8. They see indices of the secondary cache and states,
// no tags; that is why they estimate.
namespace substrata::numachine {

// Figure 4.8a. An external invalidation is followed by the processor's probe of the cache; if the probe finds
// the line of that index valid and then makes it invalid before another line is accessed, it was a hit.
class InvalidationHitEstimate {
 public:
  void external_invalidate(std::uint32_t index) noexcept {
    index_ = index;
    state_ = State::kWatching;
  }
  // The processor accesses a line of its secondary cache, or probes it for the invalidation.
  void access(std::uint32_t index, bool valid) noexcept {
    if (state_ == State::kWatching && index == index_) {
      state_ = valid ? State::kSeenValid : State::kIdle;
    } else if (state_ == State::kSeenValid && index != index_) {
      state_ = State::kIdle;
    }
  }
  // A line's state is changed to invalid. True: counted as an external invalidation hit.
  bool made_invalid(std::uint32_t index) noexcept {
    if (state_ != State::kSeenValid || index != index_) return false;
    state_ = State::kIdle;
    return true;
  }

 private:
  enum class State : std::uint8_t { kIdle, kWatching, kSeenValid };
  State state_ = State::kIdle;
  std::uint32_t index_ = 0;
};

// Figure 4.8b. An access that reads an invalid state, followed by a read of the same index, was an
// invalidation miss; writes in between may be older than the miss and are let pass.
class InvalidationMissEstimate {
 public:
  InvalidationMissEstimate() = default;
  // Whether a write is let pass; else it ends the wait, as a circuit without that state would.
  explicit InvalidationMissEstimate(bool waits) noexcept : waits_(waits) {}
  void access(std::uint32_t index, bool valid) noexcept {
    if (valid) return;
    waiting_ = true;
    index_ = index;
  }
  // The external agent emits a read or read exclusive of a line. True: counted as an invalidation miss.
  bool read(std::uint32_t index) noexcept {
    const bool counted = waiting_ && index == index_;
    waiting_ = false;
    return counted;
  }
  void uncached_read() noexcept { waiting_ = false; }
  void write() noexcept { waiting_ = waiting_ && waits_; }

 private:
  bool waits_ = true;
  bool waiting_ = false;
  std::uint32_t index_ = 0;
};

}  // namespace substrata::numachine
