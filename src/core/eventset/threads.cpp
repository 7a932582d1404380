// The list of measuring threads, their storage and the user locks.
#include "core/eventset/threads.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <unordered_set>

#include "base/immortal.hpp"
#include "base/log.hpp"
#include "base/thread_end.hpp"
#include "core/eventset/event_set_object.hpp"
#include "core/eventset/library.hpp"
#include "core/eventset/thread_state.hpp"

namespace substrata {
namespace {

struct Threads {
  ForkLock lock;
  std::vector<std::unique_ptr<ThreadState>> states;
  std::unordered_set<uint64_t> watched;  // threads that run and whose end will be noted
  std::atomic<unsigned long (*)()> id_function{nullptr};
  std::atomic<bool> id_function_set{false};
  std::atomic<uint32_t> user_locks[kUserLocks] = {};
};

Threads& threads() noexcept {
  static Immortal<Threads> all;
  return *all;
}

// The calling thread's state and under which epoch of the library it was made.
struct Own {
  ThreadState* state = nullptr;
  uint64_t epoch = 0;
};
constinit thread_local Own own __attribute__((tls_model("initial-exec")));

unsigned long system_thread_id() { return static_cast<unsigned long>(syscall(SYS_gettid)); }

unsigned long current_thread_id() {
  unsigned long (*function)() = threads().id_function.load(std::memory_order_acquire);
  return function != nullptr ? function() : system_thread_id();
}

void detach_all(ThreadState& state) {
  if (state.fork_count != fork_count()) {  // these belong to the parent process
    for (const ThreadState::Attachment& attachment : state.attachments) keep_given_up(attachment.thread);
    return;
  }
  for (size_t i = state.attachments.size(); i-- > 0;) {
    ThreadState::Attachment& attachment = state.attachments[i];
    if (!attachment.attached) continue;
    Component* component = Library::instance().registry().at(static_cast<int>(i));
    if (component != nullptr && component->opened() != 0)
      component->table().detach(component->device(), attachment.thread);
    attachment.attached = false;
  }
}

void free_state(ThreadState& state) {
  detach_all(state);
  auto& states = threads().states;
  const auto place =
      std::find_if(states.begin(), states.end(), [&](const auto& item) { return item.get() == &state; });
  if (place != states.end()) states.erase(place);
}

// The calling thread's states of earlier lives of the library, which it may have been using when these ended.
void free_former_states() {
  std::erase_if(threads().states, [number = this_thread_number()](const auto& state) {
    if (state->number != number || state->alive || state->sets != 0) return false;
    detach_all(*state);
    return true;
  });
}

void note_end() noexcept {
  Threads& all = threads();
  const std::lock_guard guard(all.lock);
  all.watched.erase(this_thread_number());
  ThreadState* state = known_thread_state();
  if (state != nullptr) {
    state->alive = false;
    own = Own{};
    if (state->sets == 0) free_state(*state);
  }
  free_former_states();
}
constinit thread_local AtThreadEnd end_of_thread __attribute__((tls_model("initial-exec"))) = {note_end};

}  // namespace

ThreadState::ThreadState(uint64_t thread_number, unsigned long thread_id, int components)
    : number(thread_number),
      id(thread_id),
      fork_count(substrata::fork_count()),
      attachments(static_cast<size_t>(components)),
      running(new std::atomic<EventSet*>[static_cast<size_t>(components)]) {
  for (int i = 0; i < components; ++i)
    running[static_cast<size_t>(i)].store(nullptr, std::memory_order_relaxed);
}

void watch_this_thread() {
  if (end_of_thread.noted) return;
  Threads& all = threads();
  const std::lock_guard guard(all.lock);
  all.watched.insert(this_thread_number());
  if (at_thread_end(end_of_thread)) return;
  all.watched.erase(this_thread_number());
  throw std::bad_alloc();
}

bool thread_ended(uint64_t number) {
  Threads& all = threads();
  const std::lock_guard guard(all.lock);
  return !all.watched.contains(number);
}

ThreadState* known_thread_state() noexcept {
  return own.epoch == Library::instance().epoch() ? own.state : nullptr;
}

ThreadState* this_thread_state() {
  Library& library = Library::instance();
  if (ThreadState* state = known_thread_state(); state != nullptr) return state;
  const int components = library.registry().count();
  const unsigned long id = current_thread_id();
  watch_this_thread();
  Threads& all = threads();
  const std::lock_guard guard(all.lock);
  free_former_states();
  all.states.push_back(std::make_unique<ThreadState>(this_thread_number(), id, components));
  own.state = all.states.back().get();
  own.epoch = library.epoch();
  log_line(kLogThreads, "thread %lu is known", id);
  return own.state;
}

namespace {

Status shut_down_meanwhile() {
  return refuse(Code::kNotInitialised, "another thread shut the library down during the call");
}

// Under the list's lock: use(state) of the calling thread's state, which it has.
template <typename Use>
Status with_own_state(const Use& use) {
  this_thread_state();
  const std::lock_guard guard(threads().lock);
  ThreadState* const state = known_thread_state();
  if (state == nullptr) return shut_down_meanwhile();
  use(*state);
  return kSuccess;
}

}  // namespace

Result<Thread*> attach_thread(const ThreadState* own_state, Component& component) {
  const std::lock_guard guard(threads().lock);
  if (known_thread_state() != own_state) return shut_down_meanwhile();
  ThreadState& state = *own.state;
  if (state.fork_count != fork_count()) {
    for (ThreadState::Attachment& attachment : state.attachments) attachment = {};
    state.fork_count = fork_count();
  }
  ThreadState::Attachment& attachment = state.attachments[static_cast<size_t>(component.index())];
  if (!attachment.attached) {
    const Status status = keep_note(component.table().attach(component.device(), &attachment.thread));
    if (!status.ok()) return status;
    attachment.attached = true;
  }
  return attachment.thread;
}

Status retain_thread(ThreadState* own_state) {
  const std::lock_guard guard(threads().lock);
  if (known_thread_state() != own_state) return shut_down_meanwhile();
  ++own_state->sets;
  return kSuccess;
}

void release_thread(ThreadState& state) {
  const std::lock_guard guard(threads().lock);
  if (--state.sets == 0 && !state.alive) free_state(state);
}

void drop_all_threads(bool detach) {
  Threads& all = threads();
  const std::lock_guard guard(all.lock);
  std::erase_if(all.states, [&](const auto& state) {
    state->alive = false;
    // A thread that lives may be in a call that uses its state: it frees the state itself, later.
    const bool in_use =
        detach && state->number != this_thread_number() && all.watched.contains(state->number);
    // A set that another thread bound during the shutdown still points to its state.
    if (in_use || state->sets != 0) return false;
    if (detach) detach_all(*state);
    return true;
  });
  all.id_function.store(nullptr, std::memory_order_release);
  all.id_function_set.store(false, std::memory_order_release);
}

bool other_threads_measure() noexcept {
  Threads& all = threads();
  const std::lock_guard guard(all.lock);
  return all.watched.size() > (all.watched.contains(this_thread_number()) ? 1u : 0u);
}

void renew_user_locks_in_child() noexcept {
  for (std::atomic<uint32_t>& lock : threads().user_locks) lock.store(0, std::memory_order_relaxed);
}

Status set_thread_id_function(unsigned long (*function)()) {
  if (const Status status = Library::instance().require_initialised(); !status.ok()) return status;
  Threads& all = threads();
  all.id_function.store(function, std::memory_order_release);
  all.id_function_set.store(true, std::memory_order_release);
  const unsigned long id = current_thread_id();
  return with_own_state([&](ThreadState& state) { state.id = id; });
}

bool thread_id_function_set() noexcept { return threads().id_function_set.load(std::memory_order_acquire); }

Result<unsigned long> thread_id() {
  if (!thread_id_function_set())
    return refuse(Code::kMisc, "threads have no ids before PAPI_thread_init says how to get them");
  return current_thread_id();
}

Status register_thread() {
  if (const Status status = Library::instance().require_initialised(); !status.ok()) return status;
  this_thread_state();
  return kSuccess;
}

Status unregister_thread() {
  const std::lock_guard no_shutdown(Library::instance().lock());
  ThreadState* state = known_thread_state();
  if (state == nullptr) return refuse(Code::kMisc, "this thread is not registered");
  destroy_sets_of(*state);
  const std::lock_guard guard(threads().lock);
  own = Own{};
  free_state(*state);
  return kSuccess;
}

std::vector<unsigned long> list_threads() {
  std::vector<unsigned long> ids;
  if (!Library::instance().initialised()) return ids;
  const std::lock_guard guard(threads().lock);
  for (const auto& state : threads().states) {
    if (state->alive) ids.push_back(state->id);
  }
  return ids;
}

namespace {

Status check_slot(int tag) {
  if (const Status status = Library::instance().require_initialised(); !status.ok()) return status;
  if (tag < 0 || tag >= kThreadSlots)
    return refuse(Code::kInvalid, "thread storage has places 0 to %d, not %d", kThreadSlots - 1, tag);
  return kSuccess;
}

}  // namespace

Result<void*> thread_specific(int tag) {
  if (const Status status = check_slot(tag); !status.ok()) return status;
  void* value = nullptr;
  const Status status = with_own_state([&](const ThreadState& state) { value = state.slots[tag]; });
  if (!status.ok()) return status;
  return value;
}

Status set_thread_specific(int tag, void* value) {
  if (const Status status = check_slot(tag); !status.ok()) return status;
  return with_own_state([&](ThreadState& state) { state.slots[tag] = value; });
}

Result<std::vector<ThreadValue>> all_thread_specific(int tag) {
  if (const Status status = check_slot(tag); !status.ok()) return status;
  std::vector<ThreadValue> values;
  const std::lock_guard guard(threads().lock);
  for (const auto& state : threads().states) {
    if (state->alive && state->slots[tag] != nullptr) values.push_back({state->id, state->slots[tag]});
  }
  return values;
}

// Not recursive and not bound to a thread, as PAPI's: any thread may unlock.
Status lock_user(int number) {
  if (number < 0 || number >= kUserLocks)
    return refuse(Code::kInvalid, "there are locks 0 to %d, not %d", kUserLocks - 1, number);
  std::atomic<uint32_t>& lock = threads().user_locks[number];
  while (lock.exchange(1, std::memory_order_acquire) != 0) lock.wait(1, std::memory_order_relaxed);
  return kSuccess;
}

Status unlock_user(int number) {
  if (number < 0 || number >= kUserLocks)
    return refuse(Code::kInvalid, "there are locks 0 to %d, not %d", kUserLocks - 1, number);
  std::atomic<uint32_t>& lock = threads().user_locks[number];
  lock.store(0, std::memory_order_release);
  lock.notify_one();
  return kSuccess;
}

}  // namespace substrata
