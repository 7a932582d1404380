// The overflows of an eventset: which events are watched, and the timer's look at a running set.
#include "core/eventset/overflow.hpp"

#include <sys/time.h>
#include <time.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include "base/program_counter.hpp"
#include "core/eventset/event_set_object.hpp"
#include "core/eventset/options.hpp"
#include "core/multiplex/multiplexer.hpp"

namespace substrata {
namespace {

// The calling thread's time in user mode: CPUCLOCK_VIRT of thread 0 (the kernel's include/linux/posix-timers.h), which
// has no name in time.h.
constexpr clockid_t kThreadUserTime = (~0 << 3) | 4 | 1;

// A set that may be changed, its lock held by the caller. Ok: `entry` is the event's.
Status find_entry(EventSet& set, int handle, uint32_t code, EventSet::Entry** entry) {
  if (set.handle != handle) return absent_set(handle);
  if (set.running()) return refuse(Code::kRunning, "the eventset runs; stop it first");
  for (EventSet::Entry& one : set.entries) {
    if (one.code != code) continue;
    *entry = &one;
    return kSuccess;
  }
  return refuse(Code::kNoEvent, "the event 0x%08x is not in the eventset", code);
}

Status watch_event(int handle, uint32_t code, int64_t threshold, OverflowBy by, OverflowHandler handler,
                   std::unique_ptr<Profile> profile) {
  EventSet* const set = event_sets.find(handle);
  if (set == nullptr) return absent_set(handle);
  const std::lock_guard guard(set->lock);
  EventSet::Entry* entry = nullptr;
  if (const Status status = find_entry(*set, handle, code, &entry); !status.ok()) return status;
  if (threshold < 1) return refuse(Code::kInvalid, "the threshold of an overflow must be positive");
  if (handler == nullptr && profile == nullptr) return refuse(Code::kInvalid, "the overflow handler is null");
  if (by != OverflowBy::kTimer && entry->formula.kind() != DerivedKind::kNone)
    return refuse(
        Code::kInvalid,
        "a derived event overflows by the timer only (PAPI_OVERFLOW_FORCE_SW), or its native events do");
  OverflowPlan& plan = set->overflow_plan();
  const bool by_timer = by == OverflowBy::kTimer;
  if (plan.any([&](const Watch& watch) { return (watch.by == OverflowBy::kTimer) != by_timer; }))
    return refuse(Code::kConflict, "one eventset overflows either all by the timer or not by request of it");
  Watch* const watch = plan.unused();
  if (watch == nullptr)
    return refuse(Code::kTooMany, "%u events of the eventset overflow already",
                  static_cast<unsigned>(kMaxWatches));
  watch->forks = fork_count();
  watch->handle = handle;
  watch->code = code;
  watch->threshold = threshold;
  watch->by = by;
  watch->timed = by_timer;
  watch->handler = handler;
  watch->profile = std::move(profile);
  watch->live.store(true, std::memory_order_seq_cst);
  Status status = kSuccess;
  if (!by_timer) {
    status = arm_event(handle, code, threshold, watch->sample_flags(), watch->sink());
    if (status.code == Code::kComponent && by == OverflowBy::kEither) {
      watch->timed = true;
      status = kSuccess;
    }
  }
  if (status.ok() && watch->timed) status = set->check_timed(*entry);
  if (status.ok() && watch->timed && entry->armed) status = disarm_event(handle, code);
  if (!status.ok()) {
    watch->retire(fork_count());
    return status;
  }
  if (Watch* const old = plan.find(code, watch); old != nullptr) old->retire(fork_count());
  set->update_overflow_state();
  return kSuccess;
}

}  // namespace

Status set_overflow(int handle, uint32_t code, int64_t threshold, OverflowBy by, OverflowHandler handler) {
  return watch_event(handle, code, threshold, by, handler, nullptr);
}

Status set_profile(int handle, uint32_t code, int64_t threshold, OverflowBy by,
                   std::unique_ptr<Profile> profile) {
  return watch_event(handle, code, threshold, by, nullptr, std::move(profile));
}

Status clear_overflow(int handle, uint32_t code) {
  EventSet* const set = event_sets.find(handle);
  if (set == nullptr) return absent_set(handle);
  const std::lock_guard guard(set->lock);
  EventSet::Entry* entry = nullptr;
  if (const Status status = find_entry(*set, handle, code, &entry); !status.ok()) return status;
  Watch* const watch = set->overflow == nullptr ? nullptr : set->overflow->find(code);
  if (watch == nullptr) return refuse(Code::kInvalid, "no overflow was set for the event 0x%08x", code);
  if (entry->armed) {
    if (const Status status = disarm_event(handle, code); !status.ok()) return status;
  }
  watch->retire(fork_count());
  set->update_overflow_state();
  return kSuccess;
}

void look_for_overflows(int handle, void* context) noexcept {
  EventSet* const set = event_sets.find(handle);
  if (set == nullptr || !set->lock.try_lock_as_owner()) return;
  const uint64_t address = program_counter(context);
  OverflowHits hits;
  const size_t count = set->handle == handle ? set->look_for_overflows(address, &hits) : 0;
  set->lock.unlock();
  // Unlocked, so that the handler may read the set, or stop it.
  for (size_t i = 0; i < count; ++i)
    hits[i].handler(handle, reinterpret_cast<void*>(address), static_cast<long long>(hits[i].mask), context);
}

OverflowPlan& EventSet::overflow_plan() {
  if (overflow == nullptr) overflow = new OverflowPlan;
  return *overflow;
}

void EventSet::update_overflow_state() noexcept {
  const bool armed =
      std::any_of(entries.begin(), entries.end(), [](const Entry& entry) { return entry.armed; });
  const bool overflowing = armed || overflow->any([](const Watch&) { return true; });
  const bool profiling = overflow->any([](const Watch& watch) { return watch.profile != nullptr; });
  state &= ~static_cast<uint32_t>(kSetOverflowing | kSetProfiling);
  if (overflowing) state |= kSetOverflowing;
  if (profiling) state |= kSetProfiling;
}

// The handler reads all events of the set, whichever of them overflows.
Status EventSet::check_readable() const {
  if (component->has(kReadBlocks))
    return refuse(Code::kComponent, "reading %s may block, so that a signal handler cannot look at it",
                  component->name());
  for (const uint32_t native : natives) {
    Event event;
    if (table->event_at(component->device(), native, &event).ok() && (event.flags & kEventReadLocks) != 0)
      return refuse(Code::kComponent,
                    "reading %s takes a lock that the program may hold when the timer's signal comes; put it "
                    "into an eventset that does not overflow by the timer",
                    event.name);
  }
  return kSuccess;
}

Status EventSet::check_timed(const Entry& entry) const {
  if (const Status status = check_readable(); !status.ok()) return status;
  for (const uint16_t position : entry.positions) {
    Event event;
    if (table->event_at(component->device(), natives[position], &event).ok() &&
        event.type == ValueType::kDouble)
      return refuse(Code::kNoSupport, "%s is a floating-point value; only whole numbers overflow",
                    event.name);
  }
  return kSuccess;
}

void EventSet::forget_overflow(uint32_t code) noexcept {
  if (overflow == nullptr) return;
  for (Watch& watch : overflow->watches) {
    if (watch.live.load(std::memory_order_relaxed) && (code == 0 || watch.code == code))
      watch.retire(substrata::fork_count());
  }
  update_overflow_state();
}

Status EventSet::rearm_in_child() noexcept {
  if (overflow == nullptr) return kSuccess;
  for (Watch& watch : overflow->watches) {
    if (!watch.live.load(std::memory_order_relaxed) || watch.timed) continue;
    for (const Entry& entry : entries) {
      if (entry.code != watch.code || !entry.armed) continue;
      const SampleSink sink = watch.sink();
      const Status status =
          keep_note(table->arm(set, entry.positions[0], watch.threshold, watch.sample_flags(), &sink));
      if (!status.ok()) return status;
    }
  }
  return kSuccess;
}

// Whether the timer can switch the groups of the layer's multiplexing. If not, reads do.
bool EventSet::timer_switches_groups() const noexcept {
  return multiplexer != nullptr && multiplexer->group_count() > 1 && component->has(kSwitchesInSignal) &&
         lock.owner() == this_thread_number();
}

Status EventSet::start_watching() noexcept {
  if (overflow == nullptr) return kSuccess;
  OverflowPlan& plan = *overflow;
  plan.looks = plan.any([](const Watch& watch) { return watch.timed; });
  const bool switching = timer_switches_groups();
  if (!plan.looks && !switching) return kSuccess;
  if (plan.looks) {
    if (lock.owner() != this_thread_number())
      return refuse(Code::kNoSupport,
                    "an eventset that overflows by the timer is started by the thread that made it");
    // Events that came later, or that the program published since.
    if (const Status status = check_readable(); !status.ok()) return status;
    if (multiplexer != nullptr && multiplexer->group_count() > 1 && !component->has(kSwitchesInSignal))
      return refuse(Code::kComponent,
                    "multiplexed events of %s cannot overflow by the timer; count fewer at once",
                    component->name());
  }
  plan.for_each_timed([&](Watch& watch) {
    watch.last = 0;
    for (const Entry& entry : entries) {
      if (entry.code != watch.code) continue;
      watch.formula = &entry.formula;
      watch.positions = entry.positions.data();
      watch.clock_hz = clock_hz;
      const uint16_t position = entry.positions[0];
      watch.mask = position < 64 ? uint64_t{1} << position : 0;
    }
  });
  try {
    plan.values.assign(natives.size(), 0);
  } catch (const std::bad_alloc&) {
    return refuse(Code::kNoMemory, "no memory for the values that the timer looks at");
  }
  const TimerOption option = default_timer();
  int64_t period = std::max<int64_t>(option.ns, 1);
  if (switching) {
    const auto of_group =
        static_cast<int64_t>(std::clamp<uint64_t>(configuration.multiplex_period_ns, 1, uint64_t{1} << 62));
    period = plan.looks ? std::min(period, of_group) : of_group;
  }
  clockid_t clock = CLOCK_THREAD_CPUTIME_ID;
  if (option.timer == ITIMER_REAL) clock = CLOCK_MONOTONIC;
  if (option.timer == ITIMER_VIRTUAL) clock = kThreadUserTime;
  return plan.timer.start(handle, clock, period, substrata::look_for_overflows, substrata::fork_count());
}

void EventSet::take_baseline() noexcept {
  if (overflow == nullptr || !overflow->timer.running() || !overflow->looks ||
      !table->read(set, overflow->values.data()).ok())
    return;
  overflow->take_baseline();
}

size_t EventSet::look_for_overflows(uint64_t address, OverflowHits* hits) noexcept {
  if (!running() || overflow == nullptr || !overflow->timer.running()) return 0;
  if (multiplexer != nullptr) multiplexer->tick();
  if (!overflow->looks || !table->read(set, overflow->values.data()).ok()) return 0;
  return overflow->collect(address, hits);
}

void EventSet::stop_watching() noexcept {
  if (overflow != nullptr) overflow->timer.stop(substrata::fork_count());
}

}  // namespace substrata
