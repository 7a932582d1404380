// Overflow of eventsets: told by the substrate where it can, else found by a timer that looks at the values.
#ifndef SUBSTRATA_CORE_OVERFLOW_HPP
#define SUBSTRATA_CORE_OVERFLOW_HPP

#include <cstdint>
#include <memory>

#include "base/result.hpp"
#include "eventset/profile.hpp"

namespace substrata {

class EventSet;

// Called in a signal handler: the eventset, the interrupted program counter (null: unknown), bit i for the
// i-th native event of the set, the signal's ucontext_t (or null).
using OverflowHandler = void (*)(int handle, void* address, long long vector, void* context);

enum class OverflowBy {
  kEither,     // the substrate's own means, else the timer
  kSubstrate,  // kComponent where it has none
  kTimer,      // the timer, whatever the substrate can
};

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
Status set_overflow(int handle, uint32_t code, int64_t threshold, OverflowBy by, OverflowHandler handler);
// The same with a histogram instead of a handler. The profile is kept until the event overflows otherwise or
// not at all.
Status set_profile(int handle, uint32_t code, int64_t threshold, OverflowBy by,
                   std::unique_ptr<Profile> profile);
// kInvalid when the event does not overflow; else as above.
Status clear_overflow(int handle, uint32_t code);

// What the timer's signal does. Signal-safe; does nothing for a set that does not run in this thread.
void look_for_overflows(int handle, void* context) noexcept;
// The signal of the timer while a set needs it, else 0. Thread-safe.
int overflow_signal() noexcept;

// The eventset's side; the set's lock is held. start_watching comes right before the substrate's start and
// take_baseline right after it; stop_watching may come twice.
// prepare_turns makes room for a timer that lets the layer's turns pass (multiplex/multiplexer.hpp).
Status prepare_turns(EventSet& set);
Status start_watching(EventSet& set) noexcept;
void take_baseline(EventSet& set) noexcept;
void stop_watching(EventSet& set) noexcept;
// The event left the set; 0: all events.
void forget_overflow(EventSet& set, uint32_t code) noexcept;
// Arms a forked child's new counters as the parent's were.
Status rearm_in_child(EventSet& set) noexcept;

}  // namespace substrata

#endif
