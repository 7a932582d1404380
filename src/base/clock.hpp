// The layer's clock: one monotonic time base for every substrate and group read, replaceable in tests.
#pragma once

#include <cstdint>

namespace substrata {

// Nanoseconds of CLOCK_MONOTONIC_RAW, or of the clock a test has set. Thread-safe, signal-safe.
int64_t clock_now_ns() noexcept;

// Replaces the clock; null restores the real one. For tests. Thread-safe.
using ClockFunction = int64_t() noexcept;
void set_clock(ClockFunction* clock) noexcept;

}  // namespace substrata
