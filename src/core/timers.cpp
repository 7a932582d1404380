// Clock readings and the calibration of the cycle counter.
#include "core/timers.hpp"

#include <ctime>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace substrata {
namespace {

int64_t nanoseconds(clockid_t clock) noexcept {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

double measured_hz() noexcept {
#if defined(__aarch64__)
  uint64_t hz = 0;
  __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(hz));
  return static_cast<double>(hz);
#elif defined(__x86_64__)
  // Leaf 0x15: crystal frequency (ECX) times EBX/EAX; many processors and hypervisors leave parts of it zero.
  unsigned denominator = 0, numerator = 0, crystal = 0, unused = 0;
  if (__get_cpuid(0x15, &denominator, &numerator, &crystal, &unused) != 0 && denominator != 0 &&
      numerator != 0 && crystal != 0)
    return static_cast<double>(crystal) * numerator / denominator;
  // Else against the raw clock for 2 ms; of the pairs at both ends the one least disturbed counts.
  struct Pair {
    int64_t ns, cycles;
  };
  const auto pair = []() {
    Pair best{0, 0};
    int64_t shortest = INT64_MAX;
    for (int i = 0; i < 16; ++i) {
      const int64_t before = static_cast<int64_t>(__rdtsc());
      const int64_t ns = nanoseconds(CLOCK_MONOTONIC_RAW);
      const int64_t after = static_cast<int64_t>(__rdtsc());
      if (after - before < shortest) {
        shortest = after - before;
        best = {ns, before + (after - before) / 2};
      }
    }
    return best;
  };
  const Pair first = pair();
  while (nanoseconds(CLOCK_MONOTONIC_RAW) - first.ns < 2'000'000) {
  }
  const Pair last = pair();
  return static_cast<double>(last.cycles - first.cycles) / static_cast<double>(last.ns - first.ns) * 1e9;
#else
  return 1e9;  // real_cycles counts nanoseconds
#endif
}

}  // namespace

int64_t real_ns() noexcept { return nanoseconds(CLOCK_MONOTONIC_RAW); }
int64_t real_us() noexcept { return real_ns() / 1000; }

int64_t real_cycles() noexcept {
#if defined(__x86_64__)
  return static_cast<int64_t>(__rdtsc());
#elif defined(__aarch64__)
  uint64_t ticks = 0;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return static_cast<int64_t>(ticks);
#else
  return real_ns();
#endif
}

int64_t virtual_ns() noexcept { return nanoseconds(CLOCK_THREAD_CPUTIME_ID); }
int64_t virtual_us() noexcept { return virtual_ns() / 1000; }
int64_t virtual_cycles() noexcept {
  return static_cast<int64_t>(static_cast<double>(virtual_ns()) * (cycle_hz() / 1e9));
}

double cycle_hz() noexcept {
  static const double hz = measured_hz();
  return hz;
}

}  // namespace substrata
