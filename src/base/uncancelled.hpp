// Keeps pthread_cancel() out of the library's calls.
#pragma once

#include <pthread.h>

namespace substrata {

// While one lives, its thread is not cancelled: it would be ended in the middle of what it changes, by an unwinding
// that may not pass functions which promise to throw nothing, and the process with it. What was asked meanwhile
// happens at the thread's next cancellation point after it. May nest. Signal-safe.
class Uncancelled {
 public:
  Uncancelled() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uncancelled() {
    if (before_ != PTHREAD_CANCEL_DISABLE) pthread_setcancelstate(before_, nullptr);
  }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_DISABLE;
};

}  // namespace substrata
