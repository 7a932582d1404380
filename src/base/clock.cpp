// The real clock behind clock_now_ns, and the place for a test's.
#include "base/clock.hpp"

#include <atomic>
#include <ctime>

namespace substrata {
namespace {

constinit std::atomic<ClockFunction*> replacement{nullptr};

}  // namespace

int64_t clock_now_ns() noexcept {
  ClockFunction* clock = replacement.load(std::memory_order_acquire);
  if (clock != nullptr) [[unlikely]]
    return clock();
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

void set_clock(ClockFunction* clock) noexcept { replacement.store(clock, std::memory_order_release); }

}  // namespace substrata
