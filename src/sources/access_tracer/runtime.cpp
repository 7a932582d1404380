// Attaches threads, binds their access sites to objects, and hands each watched access on.
// The hooks call it only when a site meets a new object, or is watched.
#include "sources/access_tracer/runtime.hpp"

#include <limits.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>

#include "base/environment.hpp"
#include "sources/access_tracer/entry.hpp"
#include "sources/access_tracer/report.hpp"
#include "sources/access_tracer/summary.hpp"

namespace substrata::access_tracer {
namespace {

// Is this thread over, but for what its last destructors do?
thread_local bool is_over __attribute__((tls_model("initial-exec"))) = false;

pthread_key_t thread_end;

// The program's own destructors may run after this one, so it waits for the last round of them.
void at_thread_end(void* ending) {
  auto& state = *static_cast<ThreadState*>(ending);
  if (++state.rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
    pthread_setspecific(thread_end, ending);
    return;
  }
  is_over = true;
  Entry().run([&] { Runtime::instance().detach(state); });
}

int answer_place(uint64_t address, substrata_place* out) {
  bool known = false;
  Entry::answer([&] { known = Runtime::instance().place_at(address, out); });
  return known ? 0 : -1;
}

void add_own_stack(Objects& objects, uint32_t thread) {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* low = nullptr;
  size_t size = 0;
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  objects.add_stack(thread, reinterpret_cast<uintptr_t>(low), size);
}

}  // namespace

Runtime::Runtime() {
  if (const char* path = environment("SUBSTRATA_MEMORY_SUMMARY")) summary_ = path;
  if (const char* text = environment("SUBSTRATA_MEMORY_FILTER")) report(parse_filter(text, filter_));
  if (const char* text = environment("SUBSTRATA_MEMORY_SAMPLE")) report(parse_burst(text, burst_));
  pthread_key_create(&thread_end, at_thread_end);
  has_feed_ = add_source();
  if (has_feed_) substrata_places(answer_place);
  recorder_ = begin_trace();
}

void Runtime::begin(volatile uint64_t* salt, substrata_memory_thread* first) {
  salt_.begin(salt);
  first_table_ = first;
  pthread_atfork(nullptr, nullptr, [] { instance().after_fork_in_child(); });
  // Before the libraries end: a query in one of them is still open.
  std::atexit([] { Entry().run([] { instance().hand_on(); }); });
}

void Runtime::end() {
  if (recorder_) (void)recorder_.stop();
  const std::lock_guard guard(lock_);
  if (summary_.empty()) return;
  std::string name = summary_;
  if (const size_t at = name.find("%p"); at != std::string::npos)
    name.replace(at, 2, std::to_string(getpid()));
  else if (forked_)
    return;  // the parent's file is the parent's
  try {
    write_summary(name,
                  {.threads = threads_,
                   .ended = ended_,
                   .times = times_,
                   .all_threads = all_threads_,
                   .skipped = Entry::skipped()},
                  objects_);
  } catch (const std::runtime_error& error) {
    report(error.what());
  }
}

substrata_memory_thread* Runtime::attach(substrata_memory_thread** place) {
  if (is_over) throw std::bad_alloc();  // counted as skipped
  auto state = std::make_unique<ThreadState>();
  state->table.runtime = state.get();
  state->table.phase = substrata_phase_place();
  state->place = place;
  {
    const std::lock_guard guard(lock_);
    state->number = free_numbers_.empty() ? next_number_ : *free_numbers_.begin();
    threads_.reserve(threads_.size() + 1);
    if (has_feed_) state->publisher.open(state->number, burst_, salt_.word());
    add_own_stack(objects_, state->number);
    if (free_numbers_.erase(state->number) == 0) ++next_number_;
    threads_.push_back(state.get());
    ++all_threads_;
  }
  pthread_setspecific(thread_end, state.get());
  ThreadState& made = *state.release();
  *place = &made.table;
  made.publisher.begin();  // delivers, without the lock
  return &made.table;
}

void Runtime::detach(ThreadState& state) {
  *state.place = first_table_;
  if (state.table.idle != nullptr) *state.table.idle = 0;
  if (state.is_parents) return;  // the parent's feed still has it
  state.publisher.close();       // delivers, without the lock: an observer may run a whole model
  const std::unique_ptr<ThreadState> gone(&state);
  const std::lock_guard guard(lock_);
  std::erase(threads_, &state);
  objects_.remove_stack(state.number);
  salt_.forget_bindings();  // other threads may have accessed its stack
  for (const auto& [key, tally] : counts_of(state.moved, state.table)) {
    Tally& all = ended_[key];
    all.accesses += tally.accesses;
    all.bytes += tally.bytes;
  }
  free_numbers_.insert(state.number);
}

bool Runtime::rests(ThreadState& state) {
  // Before the question whether it is observed: an observer that comes after it changes the salt.
  const uint64_t salt = salt_.now();
  if (state.table.idle == nullptr || !summary_.empty() || state.publisher.is_observed()) return false;
  __atomic_store_n(state.table.idle, salt, __ATOMIC_RELAXED);
  return true;
}

void Runtime::bind(ThreadState& state, unsigned slot, uintptr_t pc, uintptr_t address, unsigned kind,
                   unsigned size) {
  if (rests(state)) return;
  bool wanted = false;
  {
    const std::lock_guard guard(lock_);
    wanted = bind_locked(state, slot, pc, address, kind, size);
  }
  if (wanted) state.publisher.access(pc, address, kind, size);
}

bool Runtime::bind_locked(ThreadState& state, unsigned slot, uintptr_t pc, uintptr_t address, unsigned kind,
                          unsigned size) {
  substrata_memory_site& site = state.table.sites[slot];
  move_away(state.moved, site);
  // Before the question whether it is observed: an observer that comes after it makes the key stale.
  const uint64_t key = salt_.key_of(pc);
  if (kind == SUBSTRATA_MEMORY_CALL) {
    rebind(site, bound_to_calls(key, pc, objects_.calls()));
    return false;
  }
  const Extent extent = objects_.locate(address);
  const bool wanted = state.publisher.is_observed() && takes(pc, extent.object, address);
  rebind(site, bound_to(key, pc, extent, wanted, kind, size));
  return wanted;
}

bool Runtime::takes(uintptr_t pc, uint32_t object, uintptr_t address) {
  if (!filter_.functions.empty() && !filter_.takes_function(objects_.function_name(pc))) return false;
  return filter_.takes_object(objects_[object].name) && filter_.takes_address(address);
}

void Runtime::range(ThreadState& state, uintptr_t pc, uintptr_t address, unsigned kind, uint64_t size) {
  if (rests(state)) return;
  bool wanted = false;
  {
    const std::lock_guard guard(lock_);
    const Extent extent = objects_.locate(address);
    Tally& tally = state.moved[{pc, extent.object, kind}];
    ++tally.accesses;
    tally.bytes += size;
    wanted = state.publisher.is_observed() && takes(pc, extent.object, address);
  }
  if (wanted) state.publisher.access(pc, address, kind, size);
}

void Runtime::ran(uintptr_t pc, uint64_t ns) {
  const std::lock_guard guard(lock_);
  times_[pc].add({1, ns, ns});
}

void Runtime::barrier_made(uintptr_t barrier, unsigned threads) {
  const std::lock_guard guard(lock_);
  barriers_[barrier] = {threads, 0};
}

// Called before the thread waits, so every arrival of one opening is counted before the first of the next.
void Runtime::barrier(ThreadState& state, uintptr_t pc, uintptr_t barrier) {
  uint32_t threads = 0;
  uint64_t opening = 0;
  {
    const std::lock_guard guard(lock_);
    const auto known = barriers_.find(barrier);
    if (known == barriers_.end()) return;  // made where the wrappers did not compile
    threads = known->second.threads;
    opening = known->second.arrivals++ / threads;
  }
  state.publisher.barrier(pc, barrier, opening, threads);
}

void Runtime::locked(ThreadState& state, uintptr_t pc, uintptr_t lock, bool shared) {
  uint64_t after = 0;
  bool wanted = false;
  {
    const std::lock_guard guard(lock_);
    Lock& known = locks_[lock];
    after = shared ? known.last_exclusive : known.releases;
    known.is_exclusive = !shared;
    wanted = takes(pc, objects_.locate(lock).object, lock);
  }
  state.publisher.lock(
      SUBSTRATA_LOCK, pc, lock, after,
      shared ? static_cast<uint16_t>(SUBSTRATA_SHARED) : static_cast<uint16_t>(SUBSTRATA_EXCLUSIVE));
  if (wanted) state.publisher.access(pc, lock, SUBSTRATA_MEMORY_ATOMIC, SUBSTRATA_MEMORY_LOCK_BYTES);
}

// Called while the thread still has it, so releases are counted in their order.
void Runtime::unlocks(ThreadState& state, uintptr_t pc, uintptr_t lock) {
  uint64_t number = 0;
  bool exclusive = false;
  bool wanted = false;
  {
    const std::lock_guard guard(lock_);
    Lock& known = locks_[lock];
    number = ++known.releases;
    exclusive = known.is_exclusive;
    if (exclusive) known.last_exclusive = number;
    wanted = takes(pc, objects_.locate(lock).object, lock);
  }
  if (wanted) state.publisher.access(pc, lock, SUBSTRATA_MEMORY_WRITE, SUBSTRATA_MEMORY_LOCK_BYTES);
  state.publisher.lock(
      SUBSTRATA_UNLOCK, pc, lock, number,
      exclusive ? static_cast<uint16_t>(SUBSTRATA_EXCLUSIVE) : static_cast<uint16_t>(SUBSTRATA_SHARED));
}

void Runtime::allocated(void* memory, size_t size, uintptr_t site) {
  if (memory == nullptr) return;
  const std::lock_guard guard(lock_);
  objects_.allocated(reinterpret_cast<uintptr_t>(memory), size, site);
  salt_.forget_bindings();  // what lay here before may be bound as "elsewhere"
}

void Runtime::freed(void* memory) {
  if (memory == nullptr) return;
  const std::lock_guard guard(lock_);
  if (objects_.freed(reinterpret_cast<uintptr_t>(memory))) salt_.forget_bindings();
}

void Runtime::before_free() {
  auto* const state = static_cast<ThreadState*>(pthread_getspecific(thread_end));
  if (state != nullptr && !state->is_parents) state->publisher.before_free();
}

void Runtime::hand_on() {
  auto* const state = static_cast<ThreadState*>(pthread_getspecific(thread_end));
  if (state != nullptr && !state->is_parents && state->publisher.is_observed()) state->publisher.deliver();
}

// Gives up while another thread stays in here: the caller may hold what that one waits for.
bool Runtime::place_at(uint64_t address, substrata_place* out) {
  const std::unique_lock guard(lock_, std::chrono::seconds(1));
  if (!guard.owns_lock()) return false;
  const Extent extent = objects_.locate(address);
  // What has no name may have named objects beside it.
  const bool named = !objects_.is_elsewhere(extent.object);
  const std::string name = named ? objects_[extent.object].name : objects_.code_name(address);
  std::snprintf(out->name, sizeof out->name, "%s", name.c_str());
  out->low = named ? extent.low : address;
  out->length = named ? extent.length : 1;
  return true;
}

// In a child process: its own counts, its own file if the name asks for one. Other threads are not there.
void Runtime::after_fork_in_child() {
  new (&lock_) std::timed_mutex;
  forked_ = true;
  for (ThreadState* state : threads_) {
    state->moved.clear();
    for (auto& site : state->table.sites) site.count = 0;
    state->publisher.after_fork();
    state->is_parents = true;
  }
  ended_.clear();
  times_.clear();
  recorder_.release();
  salt_.forget_bindings();
}

}  // namespace substrata::access_tracer

using substrata::access_tracer::Entry;
using substrata::access_tracer::Runtime;
using substrata::access_tracer::ThreadState;

namespace {

ThreadState& state_of(substrata_memory_thread* thread) { return *static_cast<ThreadState*>(thread->runtime); }

__attribute__((destructor)) void at_end() {
  Entry().run([] { Runtime::instance().end(); });
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void substrata_memory_begin(volatile uint64_t* salt, substrata_memory_thread* first) {
  Entry::begin();
  Entry().run([&] { Runtime::instance().begin(salt, first); });
}
substrata_memory_thread* substrata_memory_attach(substrata_memory_thread** place) {
  substrata_memory_thread* table = nullptr;
  Entry().run([&] { table = Runtime::instance().attach(place); });
  return table;
}
void substrata_memory_bind_slot(substrata_memory_thread* thread, unsigned slot, uintptr_t pc,
                                uintptr_t address, unsigned kind, unsigned size) {
  Entry().run([&] { Runtime::instance().bind(state_of(thread), slot, pc, address, kind, size); });
}
void substrata_memory_bind(substrata_memory_thread* thread, uintptr_t pc, uintptr_t address, unsigned kind,
                           unsigned size) {
  substrata_memory_bind_slot(thread, substrata_memory_slot(pc), pc, address, kind, size);
}
void substrata_memory_publish(substrata_memory_thread* thread, uintptr_t address, unsigned kind,
                              unsigned size) {
  Entry().run([&] { state_of(thread).publisher.access(0, address, kind, size); });
}
void substrata_memory_publish_at(substrata_memory_thread* thread, uintptr_t pc, uintptr_t address,
                                 unsigned kind, unsigned size) {
  Entry().run([&] {
    auto& publisher = state_of(thread).publisher;
    publisher.access(publisher.keeps_sites() ? pc : 0, address, kind, size);
  });
}
void substrata_memory_range(substrata_memory_thread* thread, uintptr_t pc, uintptr_t address, unsigned kind,
                            uint64_t size) {
  Entry().run([&] { Runtime::instance().range(state_of(thread), pc, address, kind, size); });
}
void substrata_memory_branched(substrata_memory_thread* thread, uintptr_t block) {
  Entry().run([&] { state_of(thread).publisher.branch(block); });
}
int substrata_memory_takes_times(void) {
  const char* const asked = substrata::environment("SUBSTRATA_MEMORY_TIMES");
  return asked != nullptr && asked[0] == '1' ? 1 : 0;
}
void substrata_memory_ran(substrata_memory_thread*, uintptr_t pc, uint64_t ns) {
  Entry().run([&] { Runtime::instance().ran(pc, ns); });
}
void substrata_memory_barrier_made(const void* barrier, unsigned threads) {
  Entry().run([&] { Runtime::instance().barrier_made(reinterpret_cast<uintptr_t>(barrier), threads); });
}
void substrata_memory_barrier(substrata_memory_thread* thread, uintptr_t pc, const void* barrier) {
  Entry().run(
      [&] { Runtime::instance().barrier(state_of(thread), pc, reinterpret_cast<uintptr_t>(barrier)); });
}
int substrata_memory_is_observed(substrata_memory_thread* thread) {
  return state_of(thread).publisher.is_observed() ? 1 : 0;
}
void substrata_memory_asks(substrata_memory_thread* thread, uintptr_t pc, const void* lock) {
  Entry().run([&] { state_of(thread).publisher.asks(pc, lock, SUBSTRATA_RETRIED); });
}
void substrata_memory_gives_up(substrata_memory_thread* thread, uintptr_t pc, const void* lock) {
  Entry().run([&] { state_of(thread).publisher.asks(pc, lock, SUBSTRATA_CANCELLED); });
}
void substrata_memory_locked(substrata_memory_thread* thread, uintptr_t pc, const void* lock, int shared) {
  Entry().run([&] {
    Runtime::instance().locked(state_of(thread), pc, reinterpret_cast<uintptr_t>(lock), shared != 0);
  });
}
void substrata_memory_unlocks(substrata_memory_thread* thread, uintptr_t pc, const void* lock) {
  Entry().run([&] { Runtime::instance().unlocks(state_of(thread), pc, reinterpret_cast<uintptr_t>(lock)); });
}
void substrata_memory_meets(substrata_memory_thread* thread, uintptr_t pc, uintptr_t barrier,
                            uint64_t opening, unsigned threads) {
  Entry().run([&] { state_of(thread).publisher.barrier(pc, barrier, opening, threads); });
}
}
#pragma GCC visibility pop
