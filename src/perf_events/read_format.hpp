// What a read of a perf descriptor gives.
#pragma once

#include <substrata/substrate.h>
#include <sys/types.h>

#include <cstddef>

namespace substrata::perf {

inline constexpr size_t kGroupHeader = 3;  // count, time enabled, time running; then a value for each member
inline constexpr size_t kSingleWords = 3;  // value, time enabled, time running

// Of counters that were wanted and never on the processor.
inline Status never_ran() noexcept {
  return {Code::kCountersLost, 0,
          "the set was not on the processor's counters for a moment; another user holds them (a profiler, "
          "the NMI "
          "watchdog): end it, count fewer events or multiplex"};
}

// Of a read that gave fewer bytes than asked for, or a negative errno.
inline Status read_failure(ssize_t got) noexcept {
  if (got >= 0)
    return {
        Code::kCountersLost, 0,
        "the kernel could not keep the set on the processor's counters; another user holds them (a profiler, "
        "the NMI watchdog): end it, count fewer events or multiplex"};
  return {Code::kSystem, static_cast<int32_t>(-got),
          "reading a perf descriptor failed; the set must be rebuilt"};
}

}  // namespace substrata::perf
