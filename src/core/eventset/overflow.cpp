// Who is told of which event's overflow, and the timer that finds overflows the substrate does not tell.
#include "eventset/overflow.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <new>
#include <utility>

#include "base/immortal.hpp"
#include "eventset/event_set_object.hpp"
#include "eventset/options.hpp"
#include "multiplex/rotation.hpp"

namespace substrata {
namespace {

constexpr size_t kMaxWatches = 64;  // the bits of an overflow vector

// One event that overflows. Written under the set's lock while nobody reads: `live` is published last and
// taken back first, and `busy` tells of a reader in a signal handler.
struct Watch {
  std::atomic<bool> live{false};
  std::atomic<int> busy{0};
  std::atomic<uint64_t> busy_thread{0};
  uint64_t forks = 0;  // fork_count() when it was set
  int handle = -1;
  uint32_t code = 0;
  int64_t threshold = 0;
  OverflowBy by = OverflowBy::kEither;
  bool timed = false;
  OverflowHandler handler = nullptr;
  std::unique_ptr<Profile> profile;
  // For the timer.
  size_t place = 0;   // among the set's entries
  uint64_t mask = 0;  // the bit of its first native event
  int64_t last = 0;   // the value at which the present threshold began
};

uint64_t program_counter(const void* context) noexcept {
  if (context == nullptr) return 0;
  const auto* where = static_cast<const ucontext_t*>(context);
#if defined(__x86_64__)
  return static_cast<uint64_t>(where->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return where->uc_mcontext.pc;
#else
  (void)where;
  return 0;
#endif
}

// The sink of what substrates tell by themselves.
void told(void* owner, const Sample* sample) noexcept {
  Watch& watch = *static_cast<Watch*>(owner);
  watch.busy.fetch_add(1, std::memory_order_seq_cst);
  watch.busy_thread.store(this_thread_number(), std::memory_order_seq_cst);
  if (watch.live.load(std::memory_order_seq_cst)) {
    if (watch.profile != nullptr)
      watch.profile->count(sample->address, 0);
    else
      watch.handler(watch.handle, reinterpret_cast<void*>(sample->address),
                    static_cast<long long>(sample->event_mask), sample->context);
  }
  watch.busy.fetch_sub(1, std::memory_order_seq_cst);
}

// Nobody is told any more. Waits for a handler in another thread; one in this thread is our caller.
void retire(Watch& watch) noexcept {
  watch.live.store(false, std::memory_order_seq_cst);
  // What other threads were doing at a fork, they do not end in the child.
  if (watch.forks != fork_count()) watch.busy.store(0, std::memory_order_seq_cst);
  while (watch.busy.load(std::memory_order_seq_cst) != 0 &&
         watch.busy_thread.load(std::memory_order_seq_cst) != this_thread_number())
    sched_yield();
  watch.profile.reset();
}

// The timer's signal: its handler is there as long as a running set needs it.
struct Tick {
  ForkLock lock;
  int holders = 0;
  int signal = 0;
  struct sigaction previous = {};
};
Tick& tick() {
  static Immortal<Tick> one;
  return *one;
}

void on_tick(int, siginfo_t* info, void* context) noexcept {
  const int saved = errno;
  if (info->si_code == SI_TIMER) look_for_overflows(info->si_value.sival_int, context);
  errno = saved;
}

Result<int> hold_signal() {
  Tick& all = tick();
  const std::lock_guard guard(all.lock);
  if (all.holders == 0) {
    // A real-time signal that nobody uses, from the end that programs and substrates take last.
    int found = 0;
    for (int number = SIGRTMAX; number > SIGRTMIN && found == 0; --number) {
      struct sigaction now = {};
      if (::sigaction(number, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
          now.sa_handler == SIG_DFL)
        found = number;
    }
    if (found == 0)
      return refuse(Code::kConflict,
                    "every real-time signal has a handler already; overflow by a timer needs one");
    struct sigaction action = {};
    action.sa_sigaction = on_tick;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigemptyset(&action.sa_mask);
    if (::sigaction(found, &action, &all.previous) != 0)
      return refuse_system(errno, "the handler of signal %d was refused", found);
    all.signal = found;
  }
  ++all.holders;
  return all.signal;
}

void release_signal() noexcept {
  Tick& all = tick();
  const std::lock_guard guard(all.lock);
  if (all.holders == 0 || --all.holders != 0) return;
  // Ignoring discards what is still queued; the restored default would end the process with it.
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(all.signal, &ignore, nullptr);
  ::sigaction(all.signal, &all.previous, nullptr);
  all.signal = 0;
}

}  // namespace

// What an eventset that ever overflowed keeps; lives as long as the eventset's object, which is for ever.
class OverflowPlan {
 public:
  std::array<Watch, kMaxWatches + 1> watches;  // one more: a replacement is made before the old one goes
  std::vector<int64_t> values;                 // native values, for the handler
  bool ticking = false;
  bool looks = false;  // the timer reads values, else it only lets turns pass
  timer_t timer{};
  uint64_t fork_count = 0;

  Watch* find(uint32_t code, const Watch* except = nullptr) noexcept {
    for (Watch& watch : watches) {
      if (watch.live.load(std::memory_order_relaxed) && watch.code == code && &watch != except) return &watch;
    }
    return nullptr;
  }
  Watch* unused() noexcept {
    size_t live = 0;
    Watch* free = nullptr;
    for (Watch& watch : watches) {
      if (watch.live.load(std::memory_order_relaxed))
        ++live;
      else if (watch.busy.load(std::memory_order_seq_cst) == 0)
        free = &watch;
    }
    return live > kMaxWatches ? nullptr : free;
  }
  template <class Test>
  bool any(Test&& test) const noexcept {
    return std::any_of(watches.begin(), watches.end(), [&](const Watch& watch) {
      return watch.live.load(std::memory_order_relaxed) && test(watch);
    });
  }
};

namespace {

void update_state(EventSet& set) noexcept {
  const OverflowPlan& plan = *set.overflow;
  const bool armed =
      std::any_of(set.entries.begin(), set.entries.end(), [](const auto& entry) { return entry.armed; });
  const bool overflowing = armed || plan.any([](const Watch&) { return true; });
  const bool profiling = plan.any([](const Watch& watch) { return watch.profile != nullptr; });
  set.state &= ~static_cast<uint32_t>(kSetOverflowing | kSetProfiling);
  if (overflowing) set.state |= kSetOverflowing;
  if (profiling) set.state |= kSetProfiling;
}

// Whether a signal handler may read the set: it reads all events, whichever of them overflows.
Status check_readable(const EventSet& set) {
  const Component& component = *set.component;
  if (component.has(kReadBlocks))
    return refuse(Code::kComponent, "reading %s may block, so that a signal handler cannot look at it",
                  component.name());
  for (const uint32_t native : set.natives) {
    Event event;
    if (set.table->event_at(component.device(), native, &event).ok() && (event.flags & kEventReadLocks) != 0)
      return refuse(Code::kComponent,
                    "reading %s takes a lock that the program may hold when the timer's signal comes; put it "
                    "into an eventset that does not overflow by the timer",
                    event.name);
  }
  return kSuccess;
}

// Whether a timer can tell an overflow of the event by looking at it in a signal handler.
Status check_timed(const EventSet& set, const EventSet::Entry& entry) {
  const Component& component = *set.component;
  if (const Status status = check_readable(set); !status.ok()) return status;
  for (const uint16_t position : entry.positions) {
    Event event;
    if (set.table->event_at(component.device(), set.natives[position], &event).ok() &&
        event.type == ValueType::kDouble)
      return refuse(Code::kNoSupport, "%s is a floating-point value; only whole numbers overflow",
                    event.name);
  }
  return kSuccess;
}

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
  if (threshold < 1) return refuse(Code::kInvalid, "an overflow wants a threshold above 0");
  if (handler == nullptr && profile == nullptr)
    return refuse(Code::kInvalid, "an overflow wants somebody to call");
  if (by != OverflowBy::kTimer && entry->formula.kind() != DerivedKind::kNone)
    return refuse(
        Code::kInvalid,
        "a derived event overflows by the timer only (PAPI_OVERFLOW_FORCE_SW), or its native events do");
  if (set->overflow == nullptr) set->overflow = new OverflowPlan;
  OverflowPlan& plan = *set->overflow;
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
    status = arm_event(handle, code, threshold, 0, SampleSink{told, watch});
    if (status.code == Code::kComponent && by == OverflowBy::kEither) {
      watch->timed = true;
      status = kSuccess;
    }
  }
  if (status.ok() && watch->timed) status = check_timed(*set, *entry);
  if (status.ok() && watch->timed && entry->armed) status = disarm_event(handle, code);
  if (!status.ok()) {
    retire(*watch);
    return status;
  }
  if (Watch* const old = plan.find(code, watch); old != nullptr) retire(*old);
  update_state(*set);
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
  retire(*watch);
  update_state(*set);
  return kSuccess;
}

void forget_overflow(EventSet& set, uint32_t code) noexcept {
  if (set.overflow == nullptr) return;
  for (Watch& watch : set.overflow->watches) {
    if (watch.live.load(std::memory_order_relaxed) && (code == 0 || watch.code == code)) retire(watch);
  }
  update_state(set);
}

Status rearm_in_child(EventSet& set) noexcept {
  if (set.overflow == nullptr) return kSuccess;
  for (Watch& watch : set.overflow->watches) {
    if (!watch.live.load(std::memory_order_relaxed) || watch.timed) continue;
    for (const EventSet::Entry& entry : set.entries) {
      if (entry.code != watch.code || !entry.armed) continue;
      const SampleSink sink{told, &watch};
      const Status status = keep_note(set.table->arm(set.set, entry.positions[0], watch.threshold, 0, &sink));
      if (!status.ok()) return status;
    }
  }
  return kSuccess;
}

Status prepare_turns(EventSet& set) {
  if (set.overflow == nullptr) set.overflow = new OverflowPlan;
  return kSuccess;
}

namespace {

// Whether the timer can let the turns of the layer's multiplexing pass. If not, reads do.
bool turns_pass_by_timer(const EventSet& set) noexcept {
  return set.rotation != nullptr && set.rotation->turns() > 1 && set.component->has(kSwitchesInSignal) &&
         set.lock.owner() == this_thread_number();
}

}  // namespace

Status start_watching(EventSet& set) noexcept {
  OverflowPlan* const plan = set.overflow;
  if (plan == nullptr) return kSuccess;
  plan->looks = plan->any([](const Watch& watch) { return watch.timed; });
  const bool turning = turns_pass_by_timer(set);
  if (!plan->looks && !turning) return kSuccess;
  if (plan->looks) {
    if (set.lock.owner() != this_thread_number())
      return refuse(Code::kNoSupport,
                    "an eventset that overflows by the timer is started by the thread that made it");
    // Events that came later, or that the program published since.
    if (const Status status = check_readable(set); !status.ok()) return status;
    if (set.rotation != nullptr && set.rotation->turns() > 1 && !set.component->has(kSwitchesInSignal))
      return refuse(Code::kComponent,
                    "events of %s that take turns cannot overflow by the timer; count fewer at once",
                    set.component->name());
  }
  for (Watch& watch : plan->watches) {
    if (!watch.live.load(std::memory_order_relaxed) || !watch.timed) continue;
    watch.last = 0;
    for (size_t i = 0; i < set.entries.size(); ++i) {
      if (set.entries[i].code != watch.code) continue;
      watch.place = i;
      const uint16_t position = set.entries[i].positions[0];
      watch.mask = position < 64 ? uint64_t{1} << position : 0;
    }
  }
  try {
    plan->values.assign(set.natives.size(), 0);
  } catch (const std::bad_alloc&) {
    return refuse(Code::kNoMemory, "no memory for the values that the timer looks at");
  }
  const Result<int> signal = hold_signal();
  if (!signal) return signal.error();
  const TimerOption option = default_timer();
  struct sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = *signal;
  event.sigev_value.sival_int = set.handle;
#ifdef sigev_notify_thread_id
  event.sigev_notify_thread_id = static_cast<pid_t>(::syscall(SYS_gettid));
#else
  event._sigev_un._tid = static_cast<pid_t>(::syscall(SYS_gettid));
#endif
  const clockid_t clock = option.timer == ITIMER_REAL ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
  if (::timer_create(clock, &event, &plan->timer) != 0) {
    const int os_error = errno;
    release_signal();
    return refuse_system(os_error, "the timer that looks for overflows was refused");
  }
  int64_t period = std::max<int64_t>(option.ns, 1);
  if (turning) {
    const auto turn = static_cast<int64_t>(
        std::clamp<uint64_t>(set.configuration.multiplex_period_ns, 1, uint64_t{1} << 62));
    period = plan->looks ? std::min(period, turn) : turn;
  }
  struct itimerspec when = {};
  when.it_interval.tv_sec = static_cast<time_t>(period / 1000000000);
  when.it_interval.tv_nsec = static_cast<long>(period % 1000000000);
  when.it_value = when.it_interval;
  if (::timer_settime(plan->timer, 0, &when, nullptr) != 0) {
    const int os_error = errno;
    ::timer_delete(plan->timer);
    release_signal();
    return refuse_system(os_error, "a timer of %lld ns was refused", static_cast<long long>(period));
  }
  plan->ticking = true;
  plan->fork_count = fork_count();
  return kSuccess;
}

namespace {

int64_t value_of(const EventSet& set, const OverflowPlan& plan, const Watch& watch) noexcept {
  const EventSet::Entry& entry = set.entries[watch.place];
  return entry.formula.evaluate(plan.values.data(), entry.positions.data(), set.clock_hz);
}

// Whether the event went beyond its threshold since the last look, and by how much.
bool advanced(Watch& watch, int64_t value, int64_t* excess) noexcept {
  int64_t distance = 0;
  if (value < watch.last || __builtin_sub_overflow(value, watch.last, &distance)) {
    watch.last = value;  // it was reset or written
    return false;
  }
  if (distance < watch.threshold) return false;
  // The multiple of the threshold that was reached last, however far one look is from the other.
  watch.last += distance - distance % watch.threshold;
  *excess = distance - watch.threshold;
  return true;
}

struct Hit {
  OverflowHandler handler;
  uint64_t mask;
};

// Profiles count at once; the handlers to call are left in `hits`.
size_t look_at(EventSet& set, uint64_t address, Hit* hits) noexcept {
  OverflowPlan& plan = *set.overflow;
  if (set.rotation != nullptr) set.rotation->tick();
  if (!plan.looks || !set.table->read(set.set, plan.values.data()).ok()) return 0;
  size_t count = 0;
  for (Watch& watch : plan.watches) {
    if (!watch.live.load(std::memory_order_relaxed) || !watch.timed) continue;
    int64_t excess = 0;
    if (!advanced(watch, value_of(set, plan, watch), &excess)) continue;
    if (watch.profile != nullptr) {
      watch.profile->count(address, excess);
      continue;
    }
    size_t i = 0;
    while (i < count && hits[i].handler != watch.handler) ++i;
    if (i == count) hits[count++] = {watch.handler, 0};
    hits[i].mask |= watch.mask;
  }
  return count;
}

}  // namespace

void take_baseline(EventSet& set) noexcept {
  OverflowPlan* const plan = set.overflow;
  if (plan == nullptr || !plan->ticking || !plan->looks ||
      !set.table->read(set.set, plan->values.data()).ok())
    return;
  for (Watch& watch : plan->watches) {
    if (watch.live.load(std::memory_order_relaxed) && watch.timed) watch.last = value_of(set, *plan, watch);
  }
}

void look_for_overflows(int handle, void* context) noexcept {
  EventSet* const set = event_sets.find(handle);
  if (set == nullptr || !set->lock.try_lock_as_owner()) return;
  const uint64_t address = program_counter(context);
  std::array<Hit, kMaxWatches + 1> hits;
  size_t count = 0;
  if (set->handle == handle && set->running() && set->overflow != nullptr && set->overflow->ticking)
    count = look_at(*set, address, hits.data());
  set->lock.unlock();
  // Unlocked, so that the handler may read the set, or stop it.
  for (size_t i = 0; i < count; ++i)
    hits[i].handler(handle, reinterpret_cast<void*>(address), static_cast<long long>(hits[i].mask), context);
}

void stop_watching(EventSet& set) noexcept {
  OverflowPlan* const plan = set.overflow;
  if (plan == nullptr || !plan->ticking) return;
  plan->ticking = false;
  // A forked child has no timers of its parent.
  if (plan->fork_count == fork_count()) ::timer_delete(plan->timer);
  release_signal();
}

int overflow_signal() noexcept {
  const std::lock_guard guard(tick().lock);
  return tick().signal;
}

}  // namespace substrata
