// What the layer keeps for one measuring thread: its attachments to substrates and which sets run.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/eventset/threads.hpp"
#include "core/registry/component.hpp"

namespace substrata {

class EventSet;

// Made at a thread's first measurement; freed when the thread has ended and its last set is gone, or at
// shutdown. Fields are guarded by the thread list's lock, except the atomics. Thread-compatible.
struct ThreadState {
  ThreadState(uint64_t thread_number, unsigned long thread_id, int components);

  uint64_t number;
  unsigned long id;
  bool alive = true;
  int sets = 0;  // eventsets bound to this thread
  uint64_t fork_count;
  struct Attachment {
    bool attached = false;
    Thread* thread = nullptr;
  };
  std::vector<Attachment> attachments;                // by component
  std::unique_ptr<std::atomic<EventSet*>[]> running;  // by component: the set that counts, or null
  void* slots[kThreadSlots] = {};
};

// The calling thread's state, made if need be. A shutdown in another thread may free it, so that it is used
// under the list's lock only, or by a set that retains it. May throw std::bad_alloc.
ThreadState* this_thread_state();
// The calling thread's state if it has one.
ThreadState* known_thread_state() noexcept;

// Attaches the calling thread, whose state this is, to a substrate, once.
Result<Thread*> attach_thread(const ThreadState* own, Component& component);
// One set of the calling thread more, or of any thread less, that needs its state. The last one of an ended
// thread frees it.
Status retain_thread(ThreadState* own);
void release_thread(ThreadState& state);
// Shutdown: no state is known any more. Those of the calling thread and of ended threads are detached and freed; those
// of other threads, which may be in a call, when these begin anew or end, and those with sets with their last set. A
// forked child gives up the parent's states without detaching.
void drop_all_threads(bool detach);
// Whether another thread that has measured still runs, and so may be in a call.
bool other_threads_measure() noexcept;
void renew_user_locks_in_child() noexcept;

// Whether the thread of that number can still run code; for reuse of what was biased to it.
bool thread_ended(uint64_t number);
// From now on the calling thread's end is noted. May throw std::bad_alloc.
void watch_this_thread();

}  // namespace substrata
