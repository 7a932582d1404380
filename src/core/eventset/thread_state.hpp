// What the layer keeps for one measuring thread: its attachments to substrates and which sets run.
#ifndef SUBSTRATA_CORE_THREAD_STATE_HPP
#define SUBSTRATA_CORE_THREAD_STATE_HPP

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "eventset/threads.hpp"
#include "registry/component.hpp"

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

// The calling thread's state, made if need be. May throw std::bad_alloc.
ThreadState* this_thread_state();
// The calling thread's state if it has one.
ThreadState* known_thread_state() noexcept;

// Attaches the calling thread to a substrate, once.
Result<Thread*> attach_thread(ThreadState& state, Component& component);
// One set more or less that needs this state; frees the state with the last one of an ended thread.
void retain_thread(ThreadState& state);
void release_thread(ThreadState& state);
// Shutdown: detaches and frees every state. A forked child gives up the parent's states without detaching.
void drop_all_threads(bool detach);
void renew_user_locks_in_child() noexcept;

// Whether the thread of that number can still run code; for reuse of what was biased to it.
bool thread_ended(uint64_t number);
// From now on the calling thread's end is noted. May throw std::bad_alloc.
void watch_this_thread();

}  // namespace substrata

#endif
