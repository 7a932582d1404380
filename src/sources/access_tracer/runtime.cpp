// Attaches threads, binds their access sites to objects, and hands each watched access on.
// The hooks call it only when a site meets a new object, or is watched.
#include "runtime.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "report.hpp"
#include "summary.hpp"

namespace substrata::access_tracer {
namespace {

// The last records of a thread go with it.
struct LastRecords {
  ThreadState* state = nullptr;
  ~LastRecords() {
    if (state != nullptr) state->records.hand_over_own();
  }
};
thread_local LastRecords last_records;

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
  if (const char* text = std::getenv("SUBSTRATA_MEMORY_FILTER")) report(parse_filter(text, filter_));
  if (const char* text = std::getenv("SUBSTRATA_MEMORY_SAMPLE")) report(parse_burst(text, burst_));
  has_feed_ = add_source();
  recorder_ = begin_trace();
}

void Runtime::begin(volatile uint64_t* salt) {
  salt_.begin(salt);
  pthread_atfork(nullptr, nullptr, [] { instance().after_fork_in_child(); });
}

void Runtime::end() {
  const std::lock_guard guard(lock_);
  if (recorder_ != nullptr) {
    substrata_record_stop(recorder_, nullptr);
    recorder_ = nullptr;
  }
  const char* path = std::getenv("SUBSTRATA_MEMORY_SUMMARY");
  if (path == nullptr || path[0] == '\0') return;
  std::string name = path;
  if (const size_t at = name.find("%p"); at != std::string::npos)
    name.replace(at, 2, std::to_string(getpid()));
  else if (forked_)
    return;  // the parent's file is the parent's
  write_summary(name, threads_, objects_);
}

substrata_memory_thread* Runtime::attach() {
  auto* state = new ThreadState;
  state->table.runtime = state;
  const std::lock_guard guard(lock_);
  state->table.number = static_cast<uint32_t>(threads_.size());
  add_own_stack(objects_, state->table.number);
  threads_.push_back(state);
  state->table.phase = substrata_phase_place();
  if (has_feed_) state->publisher.open(burst_, salt_.word());
  last_records.state = state;
  return &state->table;
}

void Runtime::bind(ThreadState& state, uintptr_t pc, uintptr_t address, unsigned kind, unsigned size) {
  Watchers watchers;
  {
    const std::lock_guard guard(lock_);
    watchers = bind_locked(state, pc, address, kind, size);
  }
  // Without the lock: a watcher may run a whole model.
  if (!state.records.join(watchers.sink, current_sink_, watchers.observed))
    state.table.sites[substrata_memory_slot(pc)].key = 0;
  if (watchers.wanted) send(state, pc, address, kind, size, true);
}

// The site's new object, and the watchers of the access.
Runtime::Watchers Runtime::bind_locked(ThreadState& state, uintptr_t pc, uintptr_t address, unsigned kind,
                                       unsigned size) {
  substrata_memory_site& site = state.table.sites[substrata_memory_slot(pc)];
  move_away(state.moved, site);
  // Before the question whether there are watchers: an observer that comes after it makes the key stale.
  const uint64_t key = salt_.key_of(pc);
  if (kind == SUBSTRATA_MEMORY_CALL) {
    site = bound_to_calls(key, pc, objects_.calls());
    return watchers_of(state, false);
  }
  const Extent extent = objects_.locate(address);
  const Watchers watchers = watchers_of(state, takes(pc, extent.object, address));
  site = bound_to(key, pc, extent, watchers.wanted, kind, size);
  return watchers;
}

Runtime::Watchers Runtime::watchers_of(const ThreadState& state, bool taken) const {
  Watchers watchers{.sink = {sink_, current_sink_.load()}};
  watchers.observed = state.publisher.is_observed();
  watchers.wanted = taken && (watchers.sink.number != 0 || watchers.observed);
  return watchers;
}

bool Runtime::takes(uintptr_t pc, uint32_t object, uintptr_t address) {
  if (!filter_.functions.empty() && !filter_.takes_function(objects_.function_name(pc))) return false;
  return filter_.takes_object(objects_[object].name) && filter_.takes_address(address);
}

void Runtime::send(ThreadState& state, uintptr_t pc, uintptr_t address, unsigned kind, uint64_t size,
                   bool one_instruction) {
  if (state.records.is_open()) {
    uint64_t left = size;
    for (uintptr_t at = address; left > 0;) {
      const auto part = static_cast<uint32_t>(std::min<uint64_t>(left, UINT32_MAX));
      state.records.access(pc, at, kind, part, one_instruction);
      at += part;
      left -= part;
    }
  }
  state.publisher.access(pc, address, kind, size);
}

void Runtime::range(ThreadState& state, uintptr_t pc, uintptr_t address, unsigned kind, uint64_t size) {
  Watchers watchers;
  {
    const std::lock_guard guard(lock_);
    const Extent extent = objects_.locate(address);
    Tally& tally = state.moved[{pc, extent.object, kind}];
    ++tally.accesses;
    tally.bytes += size;
    watchers = watchers_of(state, takes(pc, extent.object, address));
  }
  state.records.join(watchers.sink, current_sink_, watchers.observed);
  if (watchers.wanted) send(state, pc, address, kind, size, false);
}

void Runtime::barrier_made(uintptr_t barrier, unsigned threads) {
  const std::lock_guard guard(lock_);
  barriers_[barrier] = {threads, 0};
}

// Called before the thread waits, so every arrival of one opening is counted before the first of the next.
void Runtime::barrier(ThreadState& state, uintptr_t pc, uintptr_t barrier) {
  uint32_t threads = 0;
  uint64_t opening = 0;
  Watchers watchers;
  {
    const std::lock_guard guard(lock_);
    const auto known = barriers_.find(barrier);
    if (known == barriers_.end()) return;  // made where the wrappers did not compile
    threads = known->second.threads;
    opening = known->second.arrivals++ / threads;
    watchers = watchers_of(state, true);
  }
  if (state.records.join(watchers.sink, current_sink_, watchers.observed) && state.records.is_open() &&
      threads > 1)
    state.records.barrier(opening, threads, barrier);
  state.publisher.barrier(pc, barrier, opening, threads);
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

int Runtime::set_sink(const substrata_access_sink* sink) {
  std::vector<ThreadState*> threads;
  {
    const std::lock_guard guard(lock_);
    if (sink != nullptr && (sink_.take != nullptr || burst_.on != 0)) return -1;
    sink_ = sink != nullptr ? *sink : substrata_access_sink{};
    current_sink_.store(sink != nullptr ? ++sinks_ : 0);
    threads = threads_;
    salt_.forget_bindings();
  }
  if (sink != nullptr) return 0;
  for (ThreadState* state : threads) state->records.leave();
  return 0;
}

void Runtime::hand_over() {
  for (ThreadState* state : threads()) state->records.hand_over();
}

std::vector<ThreadState*> Runtime::threads() {
  const std::lock_guard guard(lock_);
  return threads_;
}

// Gives up at once while another thread is in here: the caller may hold what that one waits for.
bool Runtime::name_at(uintptr_t address, char* out, size_t size, uintptr_t* low, uintptr_t* length) {
  const std::unique_lock guard(lock_, std::try_to_lock);
  if (!guard.owns_lock()) return false;
  const Extent extent = objects_.locate(address);
  std::snprintf(out, size, "%s", objects_[extent.object].name.c_str());
  // What has no name may have named objects beside it.
  const bool named = !objects_.is_elsewhere(extent.object);
  *low = named ? extent.low : address;
  *length = named ? extent.length : 1;
  return true;
}

// In a child process: its own counts, its own file if the name asks for one. Other threads are not there.
void Runtime::after_fork_in_child() {
  new (&lock_) std::mutex;
  forked_ = true;
  for (ThreadState* state : threads_) {
    state->moved.clear();
    for (auto& site : state->table.sites) site.count = 0;
    state->publisher.after_fork();
    state->records.after_fork();
  }
  sink_ = {};
  current_sink_.store(0);
  recorder_ = nullptr;
  salt_.forget_bindings();
}

}  // namespace substrata::access_tracer

using substrata::access_tracer::Runtime;
using substrata::access_tracer::ThreadState;

namespace {

ThreadState& state_of(substrata_memory_thread* thread) { return *static_cast<ThreadState*>(thread->runtime); }

__attribute__((destructor)) void at_end() { Runtime::instance().end(); }

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void substrata_memory_begin(volatile uint64_t* salt, substrata_memory_thread*) {
  Runtime::instance().begin(salt);
}
substrata_memory_thread* substrata_memory_attach() { return Runtime::instance().attach(); }
void substrata_memory_bind(substrata_memory_thread* thread, uintptr_t pc, uintptr_t address, unsigned kind,
                           unsigned size) {
  Runtime::instance().bind(state_of(thread), pc, address, kind, size);
}
void substrata_memory_publish(substrata_memory_thread* thread, uintptr_t address, unsigned kind,
                              unsigned size) {
  Runtime::publish(state_of(thread), address, kind, size);
}
void substrata_memory_range(substrata_memory_thread* thread, uintptr_t pc, uintptr_t address, unsigned kind,
                            uint64_t size) {
  Runtime::instance().range(state_of(thread), pc, address, kind, size);
}

void substrata_memory_barrier_made(const void* barrier, unsigned threads) {
  Runtime::instance().barrier_made(reinterpret_cast<uintptr_t>(barrier), threads);
}
void substrata_memory_barrier(substrata_memory_thread* thread, uintptr_t pc, const void* barrier) {
  Runtime::instance().barrier(state_of(thread), pc, reinterpret_cast<uintptr_t>(barrier));
}

int substrata_memory_set_sink(const substrata_access_sink* sink) {
  return Runtime::instance().set_sink(sink);
}
void substrata_memory_hand_over() { Runtime::instance().hand_over(); }

int substrata_memory_name_at(uintptr_t address, char* out, size_t size, uintptr_t* low, uintptr_t* length) {
  return Runtime::instance().name_at(address, out, size, low, length) ? 0 : -1;
}
}
#pragma GCC visibility pop
