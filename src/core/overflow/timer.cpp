// POSIX timers that signal one thread, and the real-time signal they share.
#include "core/overflow/timer.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "base/borrowed_signal.hpp"
#include "base/immortal.hpp"

namespace substrata {
namespace {

std::atomic<OverflowLook> look_now{nullptr};

void on_signal(int, siginfo_t* info, void* context) noexcept {
  const int saved = errno;
  if (info->si_code == SI_TIMER) look_now.load(std::memory_order_relaxed)(info->si_value.sival_int, context);
  errno = saved;
}

BorrowedSignal& timer_signal() noexcept {
  static Immortal<BorrowedSignal> one(on_signal);
  return *one;
}

Result<int> hold_signal(OverflowLook look) {
  look_now.store(look, std::memory_order_relaxed);
  // From the end that programs and substrates take last.
  const int number = timer_signal().hold_free(SIGRTMAX, SIGRTMIN + 1);
  if (number == -EBUSY)
    return refuse(Code::kConflict,
                  "every real-time signal has a handler already; overflow by a timer needs one");
  if (number < 0) return refuse_system(-number, "the handler of the timer's signal was refused");
  return number;
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
    timer_signal().release();
    return refuse_system(os_error, "the timer that looks for overflows was refused");
  }
  struct itimerspec when = {};
  when.it_interval.tv_sec = static_cast<time_t>(period_ns / 1000000000);
  when.it_interval.tv_nsec = static_cast<long>(period_ns % 1000000000);
  when.it_value = when.it_interval;
  if (::timer_settime(timer_, 0, &when, nullptr) != 0) {
    const int os_error = errno;
    ::timer_delete(timer_);
    timer_signal().release();
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
  if (forks_ == forks && ::timer_delete(timer_) != 0) {
    // The kernel keeps it: it must not go on to send a signal that nothing handles any more.
    const struct itimerspec off = {};
    ::timer_settime(timer_, 0, &off, nullptr);
  }
  timer_signal().release();
}

int overflow_signal() noexcept { return timer_signal().number(); }

}  // namespace substrata
