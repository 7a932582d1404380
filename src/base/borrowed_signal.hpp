// Signals of the program's that the library handles for a while.
#pragma once

#include <signal.h>

#include "base/fork_lock.hpp"

namespace substrata {

// One signal with a handler of ours while it is held. The first holder installs the handler, the last one
// brings back the action of before, unless the program has installed another one meanwhile: that one stays.
// Thread-safe; what the handler calls is signal-safe.
class BorrowedSignal {
 public:
  using Handler = void (*)(int signal, siginfo_t* info, void* context);
  explicit BorrowedSignal(Handler handler, int flags = SA_RESTART) noexcept
      : handler_(handler), flags_(flags | SA_SIGINFO) {}
  BorrowedSignal(const BorrowedSignal&) = delete;
  BorrowedSignal& operator=(const BorrowedSignal&) = delete;

  // Each answers the number of the signal, or a negative errno; then nothing is held.
  int hold(int signal) noexcept;
  // -EBUSY where the program handles or ignores it.
  int hold_if_default(int signal) noexcept;
  // The first of the default action between `first` and `last`, in either direction. -EBUSY: none.
  int hold_free(int first, int last) noexcept;
  // What is queued for our handler is discarded with the last holder: the default action would end the
  // process.
  void release() noexcept;

  // 0 while nobody holds it.
  int number() noexcept;
  // Inside the handler: what was done with the signal before. Signal-safe.
  void pass_on(int signal, siginfo_t* info, void* context) const noexcept;

 private:
  int install(int signal) noexcept;
  bool ours() const noexcept;

  const Handler handler_;
  const int flags_;
  ForkLock lock_;
  int holders_ = 0;
  int number_ = 0;
  struct sigaction previous_ = {};
};

}  // namespace substrata
