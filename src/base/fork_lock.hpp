// A mutex that a forked child finds unlocked, whatever other threads of the parent were doing.
#ifndef SUBSTRATA_SUPPORT_FORK_LOCK_HPP
#define SUBSTRATA_SUPPORT_FORK_LOCK_HPP

#include <pthread.h>

#include "base/visibility.hpp"

namespace substrata {

// Recursive, usable with std::lock_guard. Every instance is registered; a fork takes none of them (a parent
// must not wait for its own other threads), the child renews them all. State guarded by such a lock may be
// half-changed in the child only if another thread of the parent was changing it at that moment; the owners
// of the guarded state say how they cope. Thread-safe.
class ForkLock {
 public:
  SUBSTRATA_PRIVATE_API ForkLock() noexcept;
  ~ForkLock();
  ForkLock(const ForkLock&) = delete;
  ForkLock& operator=(const ForkLock&) = delete;

  void lock() noexcept { pthread_mutex_lock(&mutex_); }
  void unlock() noexcept { pthread_mutex_unlock(&mutex_); }
  bool try_lock() noexcept { return pthread_mutex_trylock(&mutex_) == 0; }

  // Makes every registered lock new; called in a forked child, where only one thread runs.
  static void renew_all_in_child() noexcept;

 private:
  void make() noexcept;
  pthread_mutex_t mutex_;
  ForkLock* next_ = nullptr;
  ForkLock** link_ = nullptr;
};

}  // namespace substrata

#endif
