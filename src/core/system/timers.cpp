// Clock readings and the calibration of the cycle counter.
#include "core/system/timers.hpp"

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

// When this library was loaded: the begin of the counter's calibration, so that a program that calls later
// need not wait for its end.
constinit ClockPoint loaded{0, 0};
[[gnu::constructor]] void note_load() noexcept {
  constexpr int kTries = 16;
  loaded = clock_point(kTries, 0);
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
  // Else against the raw clock, for 2 ms at least. Not for long: a machine may be halted and moved meanwhile.
  constexpr int kTries = 16;
  constexpr int64_t kLeast = 2'000'000;
  constexpr int64_t kMost = 10'000'000'000;
  ClockPoint first = loaded;
  if (first.ns == 0 || nanoseconds(CLOCK_MONOTONIC_RAW) - first.ns > kMost) first = clock_point(kTries, 0);
  while (nanoseconds(CLOCK_MONOTONIC_RAW) - first.ns < kLeast) {
  }
  const ClockPoint last = clock_point(kTries, 0);
  return static_cast<double>(last.ticks - first.ticks) / static_cast<double>(last.ns - first.ns) * 1e9;
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

ClockPoint clock_point(int tries, int64_t quick) noexcept {
  ClockPoint best{0, 0};
  int64_t least = INT64_MAX;
  for (int i = 0; i < tries && least > quick; ++i) {
    const int64_t before = real_cycles();
    const int64_t ns = real_ns();
    const int64_t took = real_cycles() - before;
    if (took >= least) continue;
    least = took;
    best = {before + took / 2, ns};
  }
  return best;
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
