// Delivery of one event's overflows, and the arithmetic of its threshold.
#include "core/overflow/watch.hpp"

namespace substrata {
namespace {

void deliver(void* owner, const Sample* sample) noexcept {
  Watch& watch = *static_cast<Watch*>(owner);
  const Visitors::Visit visit = watch.visitors.enter();
  if (watch.live.load(std::memory_order_seq_cst)) {
    if (watch.profile == nullptr) {
      watch.visitors.begin_call(visit);
      watch.handler(watch.handle, reinterpret_cast<void*>(sample->address),
                    static_cast<long long>(sample->event_mask), sample->context);
      watch.visitors.end_call(visit);
    } else if (sample->address != 0) {
      watch.profile->count(sample->address, 0);
    }
  }
  watch.visitors.leave(visit);
}

}  // namespace

SampleSink Watch::sink() noexcept { return {deliver, this}; }

void Watch::retire(uint64_t forks_now) noexcept {
  live.store(false, std::memory_order_seq_cst);
  // What other threads were doing at a fork, they do not end in the child.
  if (forks != forks_now) visitors.forget();
  visitors.wait();
  profile.reset();
}

int64_t Watch::value_from(const int64_t* natives) const noexcept {
  return formula->evaluate(natives, positions, clock_hz);
}

bool Watch::advanced(int64_t value, int64_t* excess) noexcept {
  int64_t distance = 0;
  if (value < last || __builtin_sub_overflow(value, last, &distance)) {
    last = value;  // it was reset or written
    return false;
  }
  if (distance < threshold) return false;
  // The multiple of the threshold that was reached last, however far one look is from the other.
  last += distance - distance % threshold;
  *excess = distance - threshold;
  return true;
}

}  // namespace substrata
