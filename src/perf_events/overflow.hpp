// Routes the signals of overflowing counters to the sinks of the sets that armed them.
#ifndef SUBSTRATA_PERF_EVENTS_OVERFLOW_HPP
#define SUBSTRATA_PERF_EVENTS_OVERFLOW_HPP

#include <substrata/substrate.h>

namespace substrata::perf {

// The signal handler is installed with the first route and the previous action restored with the last one; the
// same for SIGIO where its action is the default one, for the kernel sends that, to end the process, when it
// cannot queue an overflow (docs/decisions/lost_overflows.md). Thread-safe; the handlers are signal-safe and
// neither lock nor allocate.

// Takes a reference on the handler. Returns the signal to deliver, or a negative errno.
int hold_overflow_signal() noexcept;
void release_overflow_signal() noexcept;

// How many overflows of this process could not be queued so far, at least. Signal-safe.
uint64_t lost_overflows() noexcept;

// Sends samples of `descriptor` to `sink` with `mask` as their events. The kernel holds a counter back that
// overflows more often than `most_each_second`. False when the table is full.
bool add_route(int descriptor, const SampleSink& sink, uint64_t mask, uint64_t most_each_second) noexcept;
void remove_route(int descriptor) noexcept;
// Whether overflows came so fast, since begin_route, that the kernel may have held the counter back.
void begin_route(int descriptor) noexcept;
bool was_held_back(int descriptor) noexcept;

}  // namespace substrata::perf

#endif
