// The lock of what a process has once: a forked child finds it free, and what it guards whole.
#pragma once

#include <pthread.h>

#include "base/visibility.hpp"

namespace substrata {

// Recursive, usable with std::lock_guard and std::unique_lock. A fork waits until no other thread holds a lock
// of this kind: a gate is closed to threads that hold none (pthread_atfork), those that hold one go on, also
// into further locks, until they hold none, and then the fork happens. So nothing that such locks guard is
// half changed in the child, which finds them all free. A thread that holds a lock for longer than a second is
// not waited for: what that lock guards may be half changed in the child. Thread-safe.
class ForkLock {
 public:
  SUBSTRATA_PRIVATE_API ForkLock() noexcept;
  ~ForkLock();
  ForkLock(const ForkLock&) = delete;
  ForkLock& operator=(const ForkLock&) = delete;

  SUBSTRATA_PRIVATE_API void lock() noexcept;
  SUBSTRATA_PRIVATE_API void unlock() noexcept;
  // False also while a fork waits.
  bool try_lock() noexcept;

 private:
  friend class ForkGate;
  void make() noexcept;
  pthread_mutex_t mutex_;
  ForkLock* next_ = nullptr;
  ForkLock** link_ = nullptr;
};

}  // namespace substrata
