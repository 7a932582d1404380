// Overflow of an eventset's events: reported by the substrate where it can, else found by a timer.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.hpp"
#include "base/visibility.hpp"
#include "core/overflow/plan.hpp"

namespace substrata {

// From the set's next start on, `handler` is called whenever the event advanced by `threshold` or more since
// the last call; setting an event again replaces its threshold and receiver.
// By the timer: while the set runs, the thread that started it gets a real-time signal at every period of the
// default timer (default_timer()) of its processor time; several thresholds passed between two signals give
// one call, and several events with one handler give one call with several bits. A signal that interrupts a
// call on the same set looks at the next period. The signal's handler is installed by the first such start
// and the previous one restored by the last stop.
// kNoEventSet, kRunning, kNoEvent (not in the set), kInvalid (threshold < 1, no handler, a derived event by
// the substrate's means), kConflict (other events of the set overflow by the timer on request, this one not,
// or the reverse), kComponent (a substrate whose reading blocks cannot be read in a signal), kTooMany (more
// than 64 events), kNoSupport (a floating-point event by the timer). A failed call has no effect.
// Thread-safe.
SUBSTRATA_PRIVATE_API Status set_overflow(int handle, uint32_t code, int64_t threshold, OverflowBy by,
                                          OverflowHandler handler);
// The same with a histogram instead of a handler. The profile is kept until the event overflows otherwise or
// not at all.
SUBSTRATA_PRIVATE_API Status set_profile(int handle, uint32_t code, int64_t threshold, OverflowBy by,
                                         std::unique_ptr<Profile> profile);
// kInvalid when the event does not overflow; else as above.
SUBSTRATA_PRIVATE_API Status clear_overflow(int handle, uint32_t code);

// What the timer's signal does. Signal-safe; does nothing for a set that does not run in this thread.
void look_for_overflows(int handle, void* context) noexcept;

}  // namespace substrata
