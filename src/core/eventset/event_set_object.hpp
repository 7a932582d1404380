// The object behind an eventset handle.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/handle_table.hpp"
#include "base/owner_lock.hpp"
#include "core/events/catalogue.hpp"
#include "core/eventset/event_set.hpp"
#include "core/eventset/thread_state.hpp"
#include "core/overflow/plan.hpp"

namespace substrata {

class Multiplexer;

inline constexpr size_t kCacheLine = 64;

// Never freed; recycled for later handles. Every field is guarded by `lock`. On cache lines of its own: a thread that
// reads writes to the lock of its set only.
class alignas(kCacheLine) EventSet {
 public:
  OwnerLock lock;

  // What the hot path looks at.
  int handle = -1;     // under which clients know it; -1: not in use
  bool direct = true;  // the reported values are the native values in order
  uint32_t state = kSetStopped;
  bool beneath = false;  // under a set of another substrate: it does not compete for the thread
  const SubstrateTable* table = nullptr;
  Set* set = nullptr;

  // One event as the client added it.
  struct Entry {
    uint32_t code;
    Formula formula;
    std::vector<uint16_t> positions;  // of its terms in `natives`
    bool armed = false;
    bool modelled = false;
  };
  Component* component = nullptr;
  ThreadState* thread = nullptr;  // that measures; set with the component
  std::vector<Entry> entries;
  std::vector<uint32_t> natives;  // what is programmed
  std::vector<int64_t> native_values, values, last;
  std::vector<ValueDetail> native_details;
  Configuration configuration;
  Multiplexer* multiplexer = nullptr;  // behind `set` and `table` while the layer multiplexes, else null
  bool started_once = false;
  Code lost = Code::kOk;  // not ok: why the last stop has no values; until it starts, or is reset or changed
  double clock_hz = 0;    // for per-second events
  OverflowPlan* overflow = nullptr;  // once it ever overflowed; kept with the object
  uint64_t fork_count = 0;
  const Face* face = nullptr;  // with whose use of the layer it ends; null: with the layer
  // While what the set holds is exchanged: a fork at such a moment leaves half of it to the child.
  std::atomic<bool> changing{false};

  bool running() const noexcept { return (state & kSetRunning) != 0; }

  // Running: the values now; else those of the last stop. `out` has entries.size() places.
  Status current_values(int64_t* out) noexcept;
  // kSuccess, or that a stopped set has no values.
  Status has_values() const noexcept;
  // Native values to reported ones.
  void evaluate(const int64_t* from, int64_t* to) const noexcept;

  Status bind(Component& to);
  void unbind() noexcept;
  // The first so many of `entries` and `natives` become the set's, and the others go; refused, both lists are as they
  // were. After renew_in_child, which needs the former lists.
  Status program(size_t entry_count, size_t native_count);
  Status apply(const Configuration& wanted);
  // The same with a new set of the substrate, multiplexed by the layer or not.
  Status exchange(bool multiplexed, const Configuration& wanted);
  Status start() noexcept;
  // A set that ran is stopped afterwards, whatever the answer: where the substrate refuses, its values are
  // lost.
  Status stop(int64_t* out) noexcept;
  // After a fork: the set in the child no longer shares the parent's counters.
  Status renew_in_child();
  // Stops, empties and frees for reuse, whatever the state.
  void dismantle() noexcept;

  // Overflow. Makes the plan, which also holds the timer that switches the multiplexer's groups.
  OverflowPlan& overflow_plan();
  // The bits of `state` that report overflow and profiling.
  void update_overflow_state() noexcept;
  // The event left the set; 0: all events.
  void forget_overflow(uint32_t code) noexcept;
  // What the timer's signal does, in the set's own thread. How many `hits`.
  size_t look_for_overflows(uint64_t address, OverflowHits* hits) noexcept;
  // Whether the timer can find an overflow of the event by looking at it in a signal handler.
  Status check_timed(const Entry& entry) const;

 private:
  struct Fresh {
    Set* set = nullptr;
    Multiplexer* multiplexer = nullptr;
  };
  Result<Fresh> make_set(Component& of, Thread* attached, bool multiplexed);
  Status configure(const Configuration& wanted);
  void take(const Fresh& fresh) noexcept;

  // start_watching comes right before the substrate's start and take_baseline right after it; stop_watching
  // may come twice.
  Status start_watching() noexcept;
  void take_baseline() noexcept;
  void stop_watching() noexcept;
  // Arms a forked child's new counters as the parent's were.
  Status rearm_in_child() noexcept;
  Status check_readable() const;
  bool timer_switches_groups() const noexcept;
};

inline constexpr size_t kMaxEventSets = 65536;
extern HandleTable<EventSet, kMaxEventSets> event_sets;

// Why a handle has no living set: kNotInitialised or kNoEventSet.
Status absent_set(int handle) noexcept;

void destroy_sets_of(const ThreadState& thread) noexcept;
void destroy_sets_of(const Face& face) noexcept;
void destroy_all_sets() noexcept;
// A forked child begins anew: forgets every set without touching the parent's counters.
void abandon_all_sets() noexcept;
// Right after a fork, in the child.
void renew_set_locks_in_child() noexcept;
// Remembers what a forked child gives up without freeing it, since it is half the parent's: reachable, so not
// a leak. Thread-safe.
void keep_given_up(const void* parents) noexcept;
// How many forks lie between this process and the one that loaded the library.
uint64_t fork_count() noexcept;

}  // namespace substrata
