// Which of a set's events passed their thresholds.
#include "core/overflow/plan.hpp"

namespace substrata {

Watch* OverflowPlan::find(uint32_t code, const Watch* except) noexcept {
  for (Watch& watch : watches) {
    if (watch.live.load(std::memory_order_relaxed) && watch.code == code && &watch != except) return &watch;
  }
  return nullptr;
}

Watch* OverflowPlan::unused() noexcept {
  size_t live = 0;
  Watch* free = nullptr;
  for (Watch& watch : watches) {
    if (watch.live.load(std::memory_order_relaxed))
      ++live;
    else if (watch.visitors.only_caller())
      free = &watch;
  }
  if (live > kMaxWatches || free == nullptr) return nullptr;
  free->visitors.forget();  // a handler of this thread's that was left by a jump
  return free;
}

void OverflowPlan::take_baseline() noexcept {
  for_each_timed([&](Watch& watch) { watch.last = watch.value_from(values.data()); });
}

size_t OverflowPlan::collect(uint64_t address, OverflowHits* hits) noexcept {
  size_t count = 0;
  for_each_timed([&](Watch& watch) {
    int64_t excess = 0;
    if (!watch.advanced(watch.value_from(values.data()), &excess)) return;
    if (watch.profile != nullptr) {
      watch.profile->count(address, excess);
      return;
    }
    size_t i = 0;
    while (i < count && (*hits)[i].handler != watch.handler) ++i;
    if (i == count) (*hits)[count++] = {watch.handler, 0};
    (*hits)[i].mask |= watch.mask;
  });
  return count;
}

}  // namespace substrata
