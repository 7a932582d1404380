// Routes the signals of overflowing counters to the sinks of the sets that armed them.
#ifndef SUBSTRATA_PERF_EVENTS_OVERFLOW_HPP
#define SUBSTRATA_PERF_EVENTS_OVERFLOW_HPP

#include <substrata/substrate.h>

namespace substrata::perf {

// The signal handler is installed with the first route and the previous action restored with the last one.
// Thread-safe; the handler itself is signal-safe and neither locks nor allocates.

// Takes a reference on the handler. Returns the signal to deliver, or a negative errno.
int hold_overflow_signal() noexcept;
void release_overflow_signal() noexcept;

// Sends samples of `descriptor` to `sink` with `mask` as their events. False when the table is full.
bool add_route(int descriptor, const SampleSink& sink, uint64_t mask) noexcept;
void remove_route(int descriptor) noexcept;

}  // namespace substrata::perf

#endif
