// Overflow of counters that libsde keeps: reported at the increment, by the thread that made it.
#include "sde/overflow.hpp"

#include <sched.h>

#include <array>
#include <limits>

namespace substrata_sde {
namespace {

std::array<Alarm, 64> alarms;
// Alarms at and above this were never taken.
std::atomic<std::size_t> in_use{0};

// An address that is this thread's own.
const void* this_thread() noexcept {
  static thread_local const char mark = 0;
  return &mark;
}

long long plus(long long a, long long b) noexcept {
  long long sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<long long>::max() : sum;
}

}  // namespace

Alarm* Alarm::take(std::uint32_t counter, std::uint32_t position, long long threshold,
                   const substrata::SampleSink& sink) noexcept {
  for (std::size_t i = 0; i < alarms.size(); ++i) {
    Alarm& alarm = alarms[i];
    int free = kFree;
    if (!alarm.state_.compare_exchange_strong(free, kIdle, std::memory_order_acq_rel)) continue;
    alarm.counter_.store(counter, std::memory_order_relaxed);
    alarm.position_.store(position, std::memory_order_relaxed);
    alarm.threshold_.store(threshold, std::memory_order_relaxed);
    alarm.call_.store(sink.call, std::memory_order_relaxed);
    alarm.owner_.store(sink.owner, std::memory_order_relaxed);
    std::size_t known = in_use.load(std::memory_order_relaxed);
    while (known < i + 1 && !in_use.compare_exchange_weak(known, i + 1, std::memory_order_acq_rel)) {
    }
    return &alarm;
  }
  return nullptr;
}

void Alarm::give_back() noexcept {
  stop();
  state_.store(kFree, std::memory_order_release);
}

void Alarm::start(long long value) noexcept {
  const long long threshold = threshold_.load(std::memory_order_relaxed);
  next_.store(value == kFromFirst ? kFromFirst : plus(value, threshold), std::memory_order_relaxed);
  thread_.store(this_thread(), std::memory_order_relaxed);
  state_.store(kHearing, std::memory_order_release);
}

void Alarm::stop() noexcept {
  int hearing = kHearing;
  state_.compare_exchange_strong(hearing, kIdle, std::memory_order_seq_cst);
  // The sink runs only in the thread that started the set: seen from that thread, it is either over or our
  // caller.
  if (thread_.load(std::memory_order_relaxed) != this_thread()) wait_for_sink();
}

void Alarm::wait_for_sink() noexcept {
  while (busy_.load(std::memory_order_seq_cst) != 0) sched_yield();
}

void Alarm::hear(long long value) noexcept {
  const long long threshold = threshold_.load(std::memory_order_relaxed);
  const long long next = next_.load(std::memory_order_relaxed);
  if (next == kFromFirst) {
    next_.store(plus(value, threshold), std::memory_order_relaxed);
    return;
  }
  if (value < next) return;
  // The next multiple of the threshold beyond the value, however far the increment jumped.
  const auto beyond = static_cast<unsigned long long>(value) - static_cast<unsigned long long>(next);
  const long long rest = static_cast<long long>(beyond % static_cast<unsigned long long>(threshold));
  next_.store(plus(value, threshold - rest), std::memory_order_relaxed);
  substrata::Sample sample;
  sample.event_mask = std::uint64_t{1} << position_.load(std::memory_order_relaxed);
  const auto call = call_.load(std::memory_order_relaxed);
  if (call != nullptr) call(owner_.load(std::memory_order_relaxed), &sample);
}

void Alarm::check(std::uint32_t counter, long long value) noexcept {
  const std::size_t count = in_use.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    Alarm& alarm = alarms[i];
    if (alarm.state_.load(std::memory_order_acquire) != kHearing || alarm.counter() != counter ||
        alarm.thread_.load(std::memory_order_relaxed) != this_thread())
      continue;
    alarm.busy_.fetch_add(1, std::memory_order_seq_cst);
    if (alarm.state_.load(std::memory_order_seq_cst) == kHearing) alarm.hear(value);
    alarm.busy_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace substrata_sde
