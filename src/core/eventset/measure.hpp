// Measuring with eventsets: the hot path. No allocation in read, reset, accumulate, and no lock but the
// set's, which costs its owner two plain stores (base/owner_lock.hpp); what a substrate does in its read is
// its own.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "base/visibility.hpp"
#include "core/eventset/event_set.hpp"

namespace substrata {

// Common: kNotInitialised, kNoEventSet, kNoComponent (a set without component). Values come in the order of
// addition; a null pointer where values are asked for is kInvalid. Either every value is written or none.

// kRunning: this set, or another one of the same substrate and thread, runs. kInvalid: no events.
SUBSTRATA_PRIVATE_API Status start_set(int handle);
// `values` may be null. kNotRunning. Otherwise the set is stopped afterwards; any other refusal says that its
// values are lost (kCountersLost: the counters were), and reads repeat it until the set starts or is reset.
SUBSTRATA_PRIVATE_API Status stop_set(int handle, int64_t* values);
// A stopped set gives the values of its stop, one never started zeros.
SUBSTRATA_PRIVATE_API Status read_set(int handle, int64_t* values);
// The same as the end of a C function: PAPI_OK, or what `refused` makes of the error's number. The caller
// passes down how it answers errors, which differs by generation, and has nothing left to do: PAPI_read is a
// load and a jump. Mapping the number there instead would put a frame, a call, a test and a second return on
// the path of every read, and after a system call each return is mispredicted.
SUBSTRATA_PRIVATE_API int read_set(int handle, int64_t* values, int (*refused)(int code) noexcept) noexcept;
// Also the cycle counter (real_cycles) right after the values were taken; `cycles` must not be null
// (kInvalid).
SUBSTRATA_PRIVATE_API Status read_set_ts(int handle, int64_t* values, int64_t* cycles);
// Adds the values to `values`, then resets.
SUBSTRATA_PRIVATE_API Status accumulate_set(int handle, int64_t* values);
SUBSTRATA_PRIVATE_API Status reset_set(int handle);
// Sets the counters. kNoSupport where the substrate cannot while running.
SUBSTRATA_PRIVATE_API Status write_set(int handle, const int64_t* values);

// Values with time, age, enabled and running times, and flags (PA-32). For a derived event: the sum's value,
// the worst age, the flags of all terms together. `capacity`: entries at `details`; kBufferTooSmall when too few.
Status read_set_details(int handle, ValueDetail* details, uint32_t capacity);

}  // namespace substrata
