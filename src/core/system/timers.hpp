// Real and virtual time for the C interface.
#pragma once

#include <cstdint>

#include "base/visibility.hpp"

namespace substrata {

// All usable before initialisation, thread-safe and signal-safe.

// One clock_gettime(CLOCK_MONOTONIC_RAW) through the vDSO: nanoseconds from an arbitrary start, never
// backwards.
SUBSTRATA_PRIVATE_API int64_t real_ns() noexcept;
SUBSTRATA_PRIVATE_API int64_t real_us() noexcept;
// The time-stamp counter where it is there (rdtsc; cntvct on arm64), else real_ns.
SUBSTRATA_PRIVATE_API int64_t real_cycles() noexcept;
// Processor time of the calling thread (CLOCK_THREAD_CPUTIME_ID).
SUBSTRATA_PRIVATE_API int64_t virtual_ns() noexcept;
SUBSTRATA_PRIVATE_API int64_t virtual_us() noexcept;
// virtual_ns in ticks of real_cycles; calibrates at first use.
SUBSTRATA_PRIVATE_API int64_t virtual_cycles() noexcept;
// real_cycles and real_ns at the same moment, as far as that can be had: of so many tries the one least
// disturbed, or the first that took no more than `quick` ticks.
struct ClockPoint {
  int64_t ticks;
  int64_t ns;
};
SUBSTRATA_PRIVATE_API ClockPoint clock_point(int tries, int64_t quick) noexcept;
// Ticks of real_cycles per second: what the processor reports, else measured once against CLOCK_MONOTONIC_RAW
// since the library was loaded; takes up to 2 ms where that was just now. Not signal-safe at first use.
SUBSTRATA_PRIVATE_API double cycle_hz() noexcept;

}  // namespace substrata
