// Overflow of counters that libsde keeps: reported at the increment, by the thread that made it.
#pragma once

#include <atomic>
#include <cstdint>

#include "substrata/substrate.h"

namespace substrata_sde {

// One armed event of one set. Only increments by the thread that started the set are heard, as the eventset
// measures that thread. Places are static, so that an increment which races with a disarm reads nothing that
// was freed.
class Alarm {
 public:
  // The first value an increment brings is where counting begins.
  static constexpr long long kFromFirst = INT64_MIN;

  // A free place, made ready; null when all are taken.
  static Alarm* take(std::uint32_t counter, std::uint32_t position, long long threshold,
                     const substrata::SampleSink& sink) noexcept;
  // After this, and unless called from inside the sink itself, the sink is not called any more.
  void give_back() noexcept;

  // Hears increments by the calling thread from now on; `value` is the counter's value now, or kFromFirst.
  void start(long long value) noexcept;
  void stop() noexcept;

  std::uint32_t counter() const noexcept { return counter_.load(std::memory_order_relaxed); }

  // What libpapi's papi_sde_check_overflow_status passes on: a watched counter has this value now.
  // Signal-safe, no lock.
  static void check(std::uint32_t counter, long long value) noexcept;

 private:
  enum State : int { kFree, kIdle, kHearing };

  void hear(long long value) noexcept;
  void wait_for_sink() noexcept;

  std::atomic<int> state_{kFree};
  std::atomic<int> busy_{0};
  std::atomic<const void*> thread_{nullptr};
  std::atomic<std::uint32_t> counter_{0};
  std::atomic<std::uint32_t> position_{0};
  std::atomic<long long> threshold_{1};
  std::atomic<long long> next_{kFromFirst};
  std::atomic<void (*)(void*, const substrata::Sample*) noexcept> call_{nullptr};
  std::atomic<void*> owner_{nullptr};
};

}  // namespace substrata_sde
