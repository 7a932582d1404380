// POSIX timers that signal one thread, and the real-time signal they share.
#include "overflow/timer.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>

#include "base/fork_lock.hpp"
#include "base/immortal.hpp"

namespace substrata {
namespace {

// The signal's handler is installed as long as a timer needs it.
struct SharedSignal {
  ForkLock lock;
  int holders = 0;
  int number = 0;
  std::atomic<OverflowLook> look{nullptr};
  struct sigaction previous = {};
};
SharedSignal& shared_signal() {
  static Immortal<SharedSignal> one;
  return *one;
}

void on_signal(int, siginfo_t* info, void* context) noexcept {
  const int saved = errno;
  if (info->si_code == SI_TIMER)
    shared_signal().look.load(std::memory_order_relaxed)(info->si_value.sival_int, context);
  errno = saved;
}

Result<int> hold_signal(OverflowLook look) {
  SharedSignal& all = shared_signal();
  const std::lock_guard guard(all.lock);
  if (all.holders == 0) {
    // A real-time signal without a handler, from the end that programs and substrates take last.
    int found = 0;
    for (int number = SIGRTMAX; number > SIGRTMIN && found == 0; --number) {
      struct sigaction now = {};
      if (::sigaction(number, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
          now.sa_handler == SIG_DFL)
        found = number;
    }
    if (found == 0)
      return refuse(Code::kConflict,
                    "every real-time signal has a handler already; overflow by a timer needs one");
    all.look.store(look, std::memory_order_relaxed);
    struct sigaction action = {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigemptyset(&action.sa_mask);
    if (::sigaction(found, &action, &all.previous) != 0)
      return refuse_system(errno, "the handler of signal %d was refused", found);
    all.number = found;
  }
  ++all.holders;
  return all.number;
}

void release_signal() noexcept {
  SharedSignal& all = shared_signal();
  const std::lock_guard guard(all.lock);
  if (all.holders == 0 || --all.holders != 0) return;
  // Ignoring discards what is still queued; the restored default would end the process with it.
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(all.number, &ignore, nullptr);
  ::sigaction(all.number, &all.previous, nullptr);
  all.number = 0;
}

}  // namespace

Status OverflowTimer::start(int handle, clockid_t clock, int64_t period_ns, OverflowLook look,
                            uint64_t forks) noexcept {
  const Result<int> signal = hold_signal(look);
  if (!signal) return signal.error();
  struct sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = *signal;
  event.sigev_value.sival_int = handle;
#ifdef sigev_notify_thread_id
  event.sigev_notify_thread_id = static_cast<pid_t>(::syscall(SYS_gettid));
#else
  event._sigev_un._tid = static_cast<pid_t>(::syscall(SYS_gettid));
#endif
  if (::timer_create(clock, &event, &timer_) != 0) {
    const int os_error = errno;
    release_signal();
    return refuse_system(os_error, "the timer that looks for overflows was refused");
  }
  struct itimerspec when = {};
  when.it_interval.tv_sec = static_cast<time_t>(period_ns / 1000000000);
  when.it_interval.tv_nsec = static_cast<long>(period_ns % 1000000000);
  when.it_value = when.it_interval;
  if (::timer_settime(timer_, 0, &when, nullptr) != 0) {
    const int os_error = errno;
    ::timer_delete(timer_);
    release_signal();
    return refuse_system(os_error, "a timer of %lld ns was refused", static_cast<long long>(period_ns));
  }
  running_ = true;
  forks_ = forks;
  return kSuccess;
}

void OverflowTimer::stop(uint64_t forks) noexcept {
  if (!running_) return;
  running_ = false;
  // A forked child has no timers of its parent.
  if (forks_ == forks) ::timer_delete(timer_);
  release_signal();
}

int overflow_signal() noexcept {
  const std::lock_guard guard(shared_signal().lock);
  return shared_signal().number;
}

}  // namespace substrata
