// Runs the records of the threads through the model, those of the thread that is behind first.
#include "numachine/thread_merge.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "numachine/machine.hpp"

namespace substrata::numachine {

namespace {

// How many records wait before a lock is taken to be free whose release was never heard of.
constexpr std::size_t kLost = 131072;
// How long a thread has a processor that others want (1 ms), and what a change costs; both ours.
constexpr Time kTimeSlice = 1'000'000'000;
constexpr Time kChangeCycles = 250;

}  // namespace

ThreadMerge::ThreadMerge(Model& model) : model_(model), waits_(model.processors()) {}

Time ThreadMerge::least_time() const noexcept {
  Time least = ~Time{0};
  for (const Thread* other : seen_) {
    if (!other->is_empty() && !other->is_waiting_unheard()) least = std::min(least, other->now);
  }
  return least;
}

void ThreadMerge::add(std::uint32_t number, Records& incoming) {
  if (incoming.empty()) return;
  while (threads_.size() <= number) {
    Thread& fresh = threads_.emplace_back();
    fresh.cpu = static_cast<std::uint32_t>(threads_.size() - 1) % model_.processors();
  }
  if (number >= model_.processors()) turns_.resize(model_.processors());
  Thread& thread = threads_[number];
  waiting_ += incoming.size();
  if (std::find(seen_.begin(), seen_.end(), &thread) == seen_.end()) {
    thread.seen = seen_.size();
    seen_.push_back(&thread);
  }
  if (thread.is_empty() || thread.is_waiting_unheard()) {
    // It did something else meanwhile, and time went on for it too.
    if (const Time least = least_time(); least != ~Time{0}) thread.now = std::max(thread.now, least);
  }
  thread.later.push_back(std::move(incoming));
  incoming = {};
  if (!spare_.empty()) {
    incoming.swap(spare_.back());
    spare_.pop_back();
  }
  if (thread.is_empty()) begin_next(thread);
}

// What it did later becomes what is run now.
void ThreadMerge::begin_next(Thread& thread) {
  if (thread.now_running.capacity() != 0) {
    thread.now_running.clear();
    spare_.push_back(std::move(thread.now_running));
    thread.now_running = {};
  }
  if (!thread.later.empty()) {
    thread.now_running = std::move(thread.later.front());
    thread.later.pop_front();
  }
  thread.at = thread.now_running.data();
  thread.end = thread.at + thread.now_running.size();
}

void ThreadMerge::finish() {
  no_more_ = true;
  run(0);
}

void ThreadMerge::run(std::size_t patience) {
  bool one_is_empty = false;
  reorder_ = true;
  while (waiting_ != 0) {
    if (reorder_) one_is_empty = order_threads();
    if (one_is_empty && waiting_ <= patience) return;
    if (order_.empty()) {
      // All wait. Who did something after a barrier passed it, so those who are missing there were not
      // heard of yet.
      if (waiting_ <= patience || !open_one_that_was_passed()) return;
      reorder_ = true;
      continue;
    }
    Thread& first = *order_.front();
    const Time horizon = order_.size() > 1 ? order_[1]->now : ~Time{0};
    // A little further than the next, so that threads do not change at every access.
    const Time ahead = horizon > ~Time{0} - model_.window() ? ~Time{0} : horizon + model_.window();
    const std::size_t enough = one_is_empty ? waiting_ - patience : waiting_;
    const Record* const begin = first.at;
    const bool takes_turns = !turns_.empty();
    if (order_.size() > 1) fetch_soon(*order_[1]);
    advance(first, horizon, ahead, enough);
    waiting_ -= static_cast<std::size_t>(first.at - begin);
    newest_ = std::max(newest_, first.now);
    if (first.is_empty()) {
      begin_next(first);
      if (first.is_empty()) reorder_ = true;
    }
    if (takes_turns && first.now - turns_[first.cpu].since > kTimeSlice) reorder_ = true;
    if (!reorder_) put_in_order();
  }
}

// Who can go on, by their time. True: one that was seen has nothing left.
bool ThreadMerge::order_threads() {
  reorder_ = false;
  bool one_is_empty = false;
  order_.clear();
  for (Thread* const thread : seen_) {
    if (thread->is_empty() || thread->is_waiting_unheard()) {
      one_is_empty = true;
    } else if (!thread->is_held_up()) {
      order_.push_back(thread);
    }
  }
  if (!turns_.empty()) take_turns();
  std::sort(order_.begin(), order_.end(), [](const Thread* a, const Thread* b) { return is_before(*a, *b); });
  return one_is_empty;
}

// Leaves in the order one thread of each processor: the one that has it until its turn is over or it can not go
// on, then the one that is behind most.
void ThreadMerge::take_turns() {
  for (std::uint32_t cpu = 0; cpu < turns_.size(); ++cpu) {
    Turn& turn = turns_[cpu];
    Thread* next = nullptr;
    bool goes_on = false;
    for (Thread* const thread : order_) {
      if (thread->cpu != cpu) continue;
      if (thread == turn.whose && (model_.is_requesting(cpu) || thread->now - turn.since <= kTimeSlice))
        goes_on = true;
      if (next == nullptr || is_before(*thread, *next)) next = thread;
    }
    if (next == nullptr || goes_on) continue;
    if (turn.whose != nullptr && next != turn.whose) {
      next->now = std::max(next->now, turn.whose->now) + kChangeCycles * model_.parameters().bus_ps;
      model_.set_phase(cpu, next->phase, next->now);
    }
    turn = {next, next->now};
  }
  std::erase_if(order_, [&](const Thread* thread) { return turns_[thread->cpu].whose != thread; });
}

// The first has gone on; the others are in order.
void ThreadMerge::put_in_order() noexcept {
  Thread* const moved = order_.front();
  std::size_t place = 0;
  for (; place + 1 < order_.size() && is_before(*order_[place + 1], *moved); ++place)
    order_[place] = order_[place + 1];
  order_[place] = moved;
}

bool ThreadMerge::is_before(const Thread& a, const Thread& b) noexcept {
  return a.now != b.now ? a.now < b.now : a.seen < b.seen;
}

// What a thread's next turn will look at.
void ThreadMerge::fetch_soon(const Thread& thread) noexcept {
  constexpr std::ptrdiff_t kTurn = 32;
  constexpr std::ptrdiff_t kLine = 64 / sizeof(Record);
  const Record* const end = thread.at + std::min<std::ptrdiff_t>(kTurn, thread.end - thread.at);
  for (const Record* record = thread.at; record < end; record += kLine) __builtin_prefetch(record);
}

// Runs a thread up to `horizon` where its caches serve it, and its misses up to `in_order`, but one step at
// least and `most` records at most.
void ThreadMerge::advance(Thread& thread, Time in_order, Time horizon, std::size_t most) {
  Model& model = model_;
  const std::uint32_t cpu = thread.cpu;
  const auto left = static_cast<std::size_t>(thread.end - thread.at);
  const Record* const end = thread.at + std::min(left, most);
  const bool executes = model.has_execution();
  bool moved = false;
  while (thread.at != end && (thread.now <= horizon || !moved)) {
    Record record = *thread.at;
    if (record.is_plain() && executes) {
      if (!access(thread, {record.address(), record.size(), record.is_write()}, false, in_order, moved))
        return;
    } else if (record.is_plain()) {
      if (!model.is_requesting(cpu)) {
        const Record* const served = model.serve_by_caches(cpu, thread.at, end, horizon, thread.now);
        if (served != thread.at) {
          thread.at = served;
          thread.site = 0;
          moved = true;
          if (served == end || thread.now > horizon || !served->is_plain()) continue;
          record = *served;
        }
      }
      if (!step(thread, {record.address(), record.size(), record.is_write()}, false, in_order, moved)) return;
    } else if (!do_other(thread, record, in_order, moved)) {
      return;
    }
    moved = true;
    ++thread.at;
    if (reorder_) return;  // others can go on now
  }
}

bool ThreadMerge::access(Thread& thread, const Access& access, bool fetch, Time in_order, bool& moved) {
  if (model_.has_execution() && !fetch && !model_.is_under_way(thread.cpu))
    model_.translate(thread.cpu, access.address, access.size, thread.now);
  return (!fetch &&
          model_.serve_by_caches(thread.cpu, access.address, access.size, access.write, thread.now)) ||
         step(thread, access, fetch, in_order, moved);
}

void ThreadMerge::compute(Thread& thread, std::uint64_t instructions) {
  if (model_.has_execution()) {
    model_.compute_mix(thread.cpu, instructions, thread.now);
  } else {
    model_.compute(thread.cpu, instructions, thread.now);
  }
}

// A record that is not a plain access. False: it goes on when others have come as far.
bool ThreadMerge::do_other(Thread& thread, Record record, Time in_order, bool& moved) {
  Model& model = model_;
  const std::uint64_t number = record.address() | thread.upper;
  switch (record.what()) {
    case SUBSTRATA_COMPACT_ANY_READ:
    case SUBSTRATA_COMPACT_ANY_WRITE:
    case SUBSTRATA_COMPACT_ATOMIC:
    case SUBSTRATA_COMPACT_FETCH: {
      const bool fetch = record.what() == SUBSTRATA_COMPACT_FETCH;
      const Access access{
          number, thread.size != 0 ? static_cast<std::uint32_t>(thread.size) : record.size(),
          record.what() == SUBSTRATA_COMPACT_ANY_WRITE || record.what() == SUBSTRATA_COMPACT_ATOMIC};
      if (!this->access(thread, access, fetch, in_order, moved)) return false;
      break;
    }
    case SUBSTRATA_COMPACT_INSTRUCTIONS:
      compute(thread, number);
      break;
    case SUBSTRATA_COMPACT_BRANCH:
    case SUBSTRATA_COMPACT_MISPREDICTED: {
      const bool mispredicted = record.what() == SUBSTRATA_COMPACT_MISPREDICTED;
      if (model.has_execution()) {
        model.branch_to(thread.cpu, thread.site, number, mispredicted, thread.now);
      } else {
        model.branch(thread.cpu, mispredicted, thread.now);
      }
      compute(thread, blocks_.computed_at(number));
      break;
    }
    case SUBSTRATA_COMPACT_BARRIER:
      if (!pass(thread, number, thread.size != 0 ? thread.size : record.size())) return false;
      break;
    case SUBSTRATA_COMPACT_PHASE:
      thread.phase = static_cast<std::uint16_t>(number);
      model.set_phase(thread.cpu, thread.phase, thread.now);
      return true;
    case SUBSTRATA_COMPACT_SITE:
    case SUBSTRATA_COMPACT_DETAIL:
    case SUBSTRATA_COMPACT_SIZE:
      (record.what() == SUBSTRATA_COMPACT_SITE     ? thread.site
       : record.what() == SUBSTRATA_COMPACT_DETAIL ? thread.detail
                                                   : thread.size) = number;
      thread.upper = 0;
      return true;
    case SUBSTRATA_COMPACT_UPPER:
      thread.upper = record.address() << 48;
      return true;
    default:
      if (record.what() >= static_cast<unsigned>(LockRecord::kAsk) &&
          !do_lock(thread, static_cast<LockRecord>(record.what()), number, in_order, moved))
        return false;
  }
  thread.site = thread.detail = thread.size = thread.upper = 0;
  return true;
}

// False: it goes on when others have come as far, or given the lock back.
bool ThreadMerge::do_lock(Thread& thread, LockRecord record, std::uint64_t lock, Time in_order, bool& moved) {
  const bool shared = record == LockRecord::kSharedLock || record == LockRecord::kSharedUnlock;
  switch (record) {
    case LockRecord::kAsk:
      if (!thread.is_asking) {
        thread.is_asking = true;
        thread.asked_for = lock;
        thread.asked = thread.now;
      }
      if (thread.has_more()) return true;
      reorder_ = true;
      return false;
    case LockRecord::kGiveUp:
      if (thread.is_asking) waits_.pass(lock, WaitKind::kLock, thread.cpu, thread.now - thread.asked);
      thread.is_asking = false;
      return true;
    case LockRecord::kLock:
    case LockRecord::kSharedLock:
      return take(thread, lock, shared, in_order, moved);
    case LockRecord::kUnlock:
    case LockRecord::kSharedUnlock: {
      LockOrder& order = locks_[lock];
      order.release(thread.detail, !shared, thread.now);
      if (!shared && order.taken_at != 0)
        waits_.hold(lock, thread.now - std::min(thread.now, order.taken_at));
      reorder_ = true;
      return true;
    }
  }
  return true;
}

// One who finds the lock taken reads its word, keeps reading the copy in its cache until it is given back (test
// and test-and-set), and then goes on to the atomic access, which is a record of its own.
bool ThreadMerge::take(Thread& thread, std::uint64_t lock, bool shared, Time in_order, bool& moved) {
  LockOrder& order = locks_[lock];
  if (thread.lock == nullptr) {
    thread.lock = &order;
    thread.after = thread.detail;
    if (!thread.is_asking) {
      thread.asked_for = lock;
      thread.asked = thread.now;
    }
    thread.stage = order.has_passed(thread.after) && order.free_at(shared) <= thread.now ? LockStage::kNone
                                                                                         : LockStage::kLook;
  }
  if (thread.stage == LockStage::kLook) {
    if (!access(thread, {lock, sizeof(std::uint32_t), false}, false, in_order, moved)) return false;
    thread.stage = LockStage::kWait;
  }
  if (!order.has_passed(thread.after)) {
    reorder_ = true;
    return false;
  }
  const bool waited = thread.is_asking || thread.stage == LockStage::kWait;
  if (waited) thread.now = std::max(thread.now, order.free_at(shared));
  waits_.pass(thread.asked_for, thread.asked_for == lock ? WaitKind::kLock : WaitKind::kCondition, thread.cpu,
              waited ? thread.now - thread.asked : 0);
  if (!shared) order.taken_at = thread.now;
  thread.lock = nullptr;
  thread.stage = LockStage::kNone;
  thread.is_asking = false;
  return true;
}

// A thread leaves a barrier when all have come to it, a trip after the last. False: not yet.
bool ThreadMerge::pass(Thread& thread, std::uint64_t barrier, std::uint64_t threads) {
  if (threads <= 1) return true;
  reorder_ = true;
  const auto key = std::pair(barrier, thread.detail);
  Opening& opening = openings_[key];
  if (thread.waits_at == nullptr) {
    thread.waits_at = &opening;
    ++opening.arrived;
    if (!opening.is_open) opening.latest = std::max(opening.latest, thread.now);
    if (opening.arrived >= threads) opening.is_open = true;
  }
  if (!opening.is_open) return false;
  thread.waits_at = nullptr;
  waits_.pass(barrier, WaitKind::kBarrier, thread.cpu, opening.latest - std::min(opening.latest, thread.now));
  thread.now = std::max(thread.now, opening.latest + kSynchronisationCycles * model_.parameters().bus_ps);
  if (++opening.left >= threads) openings_.erase(key);
  return true;
}

bool ThreadMerge::open_one_that_was_passed() noexcept {
  for (Thread* const thread : seen_) {
    if (thread->waits_at == nullptr || thread->waits_at->is_open) continue;
    if (thread->at + 1 == thread->end && thread->later.empty()) continue;
    thread->waits_at->is_open = true;
    return true;
  }
  if (!no_more_ && waiting_ <= kLost) return false;
  for (Thread* const thread : seen_) {
    if (thread->lock == nullptr || thread->lock->has_passed(thread->after)) continue;
    thread->lock->give_up_before(thread->after);
    return true;
  }
  return false;
}

// The steps of one access. False: it goes on when others have come as far.
bool ThreadMerge::step(Thread& thread, const Access& access, bool fetch, Time in_order, bool& moved) {
  bool done = false;
  while (!done) {
    if (moved && thread.now > in_order) {
      model_.expect(thread.cpu, access.address);
      return false;
    }
    done = model_.step(thread.cpu, access.address, access.size, access.write, fetch, thread.site, thread.now);
    moved = true;
  }
  thread.site = 0;
  return true;
}

}  // namespace substrata::numachine
