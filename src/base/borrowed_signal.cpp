// Installs a handler for the first holder of a signal and takes it away for the last.
#include "base/borrowed_signal.hpp"

#include <cerrno>
#include <mutex>

namespace substrata {
namespace {

bool has_default_action(int signal) noexcept {
  struct sigaction now = {};
  return ::sigaction(signal, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
         now.sa_handler == SIG_DFL;
}

}  // namespace

int BorrowedSignal::install(int signal) noexcept {
  struct sigaction action = {};
  action.sa_sigaction = handler_;
  action.sa_flags = flags_;
  sigemptyset(&action.sa_mask);
  if (::sigaction(signal, &action, &previous_) != 0) return -errno;
  // Left behind by a program that brought it back after us.
  if ((previous_.sa_flags & SA_SIGINFO) != 0 && previous_.sa_sigaction == handler_) previous_ = {};
  number_ = signal;
  holders_ = 1;
  return number_;
}

int BorrowedSignal::hold(int signal) noexcept {
  const std::lock_guard guard(lock_);
  if (holders_ == 0) return install(signal);
  ++holders_;
  return number_;
}

int BorrowedSignal::hold_if_default(int signal) noexcept { return hold_free(signal, signal); }

int BorrowedSignal::hold_free(int first, int last) noexcept {
  const std::lock_guard guard(lock_);
  if (holders_ != 0) {
    ++holders_;
    return number_;
  }
  const int step = first <= last ? 1 : -1;
  for (int signal = first; signal != last + step; signal += step) {
    if (has_default_action(signal)) return install(signal);
  }
  return -EBUSY;
}

bool BorrowedSignal::ours() const noexcept {
  struct sigaction now = {};
  return ::sigaction(number_, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
         now.sa_sigaction == handler_;
}

void BorrowedSignal::release() noexcept {
  const std::lock_guard guard(lock_);
  if (holders_ == 0 || --holders_ != 0) return;
  if (ours()) {
    if ((previous_.sa_flags & SA_SIGINFO) == 0 && previous_.sa_handler == SIG_DFL) {
      struct sigaction ignore = {};
      ignore.sa_handler = SIG_IGN;
      ::sigaction(number_, &ignore, nullptr);
    }
    ::sigaction(number_, &previous_, nullptr);
  }
  number_ = 0;
}

int BorrowedSignal::number() noexcept {
  const std::lock_guard guard(lock_);
  return number_;
}

void BorrowedSignal::pass_on(int signal, siginfo_t* info, void* context) const noexcept {
  if ((previous_.sa_flags & SA_SIGINFO) != 0) {
    previous_.sa_sigaction(signal, info, context);
  } else if (previous_.sa_handler != SIG_DFL && previous_.sa_handler != SIG_IGN) {
    previous_.sa_handler(signal);
  } else if (previous_.sa_handler == SIG_DFL || info->si_code > 0) {
    // The default is what would have come: a faulting access is made again, a sent signal is sent again.
    struct sigaction fallback = {};
    fallback.sa_handler = SIG_DFL;
    ::sigaction(signal, &fallback, nullptr);
    if (info->si_code <= 0) ::raise(signal);
  }
}

}  // namespace substrata
