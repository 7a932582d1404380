// A process behind a seccomp filter whose notifications come here.
#include "watch.hpp"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "torture.hpp"

namespace substrata::torture {

const std::vector<Plausible>& plausible() {
  static const std::vector<Plausible> kCalls = {
      {SYS_openat, "openat", {EACCES, EMFILE, ENOENT, EINTR, ENOMEM}},
      {SYS_read, "read", {EIO}},
      {SYS_pread64, "pread64", {EIO}},
      {SYS_write, "write", {ENOSPC, EIO}},
      {SYS_close, "close", {EIO, EINTR}},
      {SYS_lseek, "lseek", {EINVAL}},
      {SYS_fstat, "fstat", {ENOMEM}},
      {SYS_newfstatat, "newfstatat", {ENOENT, EACCES, ENOMEM}},
      {SYS_statx, "statx", {ENOENT, EACCES, ENOSYS}},
      {SYS_access, "access", {EACCES, ENOENT}},
      {SYS_faccessat, "faccessat", {EACCES, ENOENT}},
      {SYS_faccessat2, "faccessat2", {EACCES, ENOSYS}},
      {SYS_getdents64, "getdents64", {EIO, ENOENT}},
      {SYS_readlink, "readlink", {ENOENT, EACCES}},
      {SYS_readlinkat, "readlinkat", {ENOENT, EACCES}},
      {SYS_getcwd, "getcwd", {ENOENT}},
      {SYS_mmap, "mmap", {ENOMEM, EAGAIN}},
      {SYS_mprotect, "mprotect", {ENOMEM}},
      {SYS_madvise, "madvise", {EINVAL, ENOMEM}},
      {SYS_memfd_create, "memfd_create", {EMFILE, ENOSYS}},
      {SYS_ftruncate, "ftruncate", {ENOSPC, EINTR}},
      {SYS_fallocate, "fallocate", {ENOSPC, EOPNOTSUPP, EINTR}},
      {SYS_perf_event_open, "perf_event_open", {EACCES, EMFILE, ENOENT, ENOSPC, EBUSY, EINVAL, EINTR}},
      {SYS_ioctl, "ioctl", {EINVAL, ENODEV, EINTR, EPERM}},
      {SYS_fcntl, "fcntl", {EMFILE, EINTR}},
      {SYS_timer_create, "timer_create", {EAGAIN, ENOMEM}},
      {SYS_timer_settime, "timer_settime", {EINVAL}},
      {SYS_timer_delete, "timer_delete", {EINVAL}},
      {SYS_rt_sigaction, "rt_sigaction", {EINVAL}},
      {SYS_membarrier, "membarrier", {EPERM, ENOSYS, EINVAL}},
      {SYS_socket, "socket", {EMFILE, EACCES, EAFNOSUPPORT}},
      {SYS_bind, "bind", {EACCES, EINVAL}},
      {SYS_sendto, "sendto", {ENOBUFS, EINTR}},
      {SYS_recvfrom, "recvfrom", {ENOBUFS, EINTR, EAGAIN}},
      {SYS_recvmsg, "recvmsg", {ENOBUFS, EINTR, EAGAIN}},
      {SYS_getrandom, "getrandom", {ENOSYS, EINTR, EAGAIN}},
      {SYS_sched_getaffinity, "sched_getaffinity", {EINVAL, EPERM}},
      {SYS_sched_setaffinity, "sched_setaffinity", {EINVAL, EPERM}},
      {SYS_prlimit64, "prlimit64", {EPERM}},
      {SYS_uname, "uname", {EPERM}},
      {SYS_sysinfo, "sysinfo", {EPERM}},
      {SYS_mkdir, "mkdir", {EACCES, ENOSPC}},
      {SYS_rename, "rename", {EACCES, ENOSPC}},
      {SYS_unlink, "unlink", {EACCES}},
      {SYS_flock, "flock", {EINTR, ENOLCK}},
      {SYS_pwrite64, "pwrite64", {ENOSPC, EIO}},
      {SYS_writev, "writev", {ENOSPC, EIO}},
      {SYS_fsync, "fsync", {EIO, ENOSPC}},
      {SYS_fdatasync, "fdatasync", {EIO, ENOSPC}},
      {SYS_pipe2, "pipe2", {EMFILE, ENFILE}},
      {SYS_socketpair, "socketpair", {EMFILE}},
      {SYS_dup2, "dup2", {EINTR, EBUSY}},
      {SYS_clone, "clone", {EAGAIN, ENOMEM}},
      {SYS_clone3, "clone3", {EAGAIN, ENOMEM}},
      {SYS_vfork, "vfork", {EAGAIN, ENOMEM}},
      {SYS_wait4, "wait4", {EINTR}},
      {SYS_waitid, "waitid", {EINTR}},
      {SYS_poll, "poll", {EINTR, ENOMEM}},
      {SYS_ppoll, "ppoll", {EINTR, ENOMEM}},
      {SYS_clock_nanosleep, "clock_nanosleep", {EINTR}},
      {SYS_timerfd_create, "timerfd_create", {EMFILE, ENOMEM}},
      {SYS_signalfd4, "signalfd4", {EMFILE, ENOMEM}},
      {SYS_eventfd2, "eventfd2", {EMFILE, ENOMEM}},
      {SYS_epoll_create1, "epoll_create1", {EMFILE, ENOMEM}},
      {SYS_unlinkat, "unlinkat", {EACCES}},
  };
  return kCalls;
}

const Plausible* find_call(long number) {
  for (const Plausible& one : plausible())
    if (one.number == number) return &one;
  return nullptr;
}

namespace {

// What both processes see.
struct Shared {
  std::atomic<int> listener;  // the descriptor's number in the other process, -1: refused
  std::atomic<bool> armed;
};

Shared* shared() {
  static Shared* const place = static_cast<Shared*>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  return place;
}

// In the process that is watched.
int listen_to_system_calls() {
  std::vector<sock_filter> filter = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const Plausible& one : plausible()) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(one.number), 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return static_cast<int>(
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
}

}  // namespace

// Runs the body in a process behind the filter and answers its calls: how it ended as waitpid() says it, kHung or
// kNotWatched.
int status_of(const std::function<void()>& body, const Answer& answer, int seconds) {
  shared()->listener = 0;
  shared()->armed = false;
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return kNotWatched;
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);
    const int made = listen_to_system_calls();
    shared()->listener = made > 0 ? made : -1;
    if (made > 0) body();
    shared()->armed = false;
    std::exit(0);
  }
  while (shared()->listener == 0) usleep(100);
  const int process = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  const int listener =
      shared()->listener < 0
          ? -1
          : static_cast<int>(syscall(SYS_pidfd_getfd, process, shared()->listener.load(), 0));
  if (listener < 0) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(process);
    return kNotWatched;
  }
  timespec begin{}, now{};
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (;;) {
    pollfd ready[2] = {{listener, POLLIN, 0}, {process, POLLIN, 0}};
    poll(ready, 2, 1000);
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec - begin.tv_sec > seconds) break;
    if ((ready[0].revents & POLLIN) == 0) {
      if (ready[1].revents != 0) break;
      continue;
    }
    seccomp_notif call{};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) continue;
    seccomp_notif_resp response{};
    response.id = call.id;
    const std::int64_t result = shared()->armed ? answer(call, process) : 0;
    if (result == 0)
      response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    else if (result < 0)
      response.error = static_cast<int>(result);
    else
      response.val = result;
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
  }
  close(listener);
  close(process);
  const bool ended = now.tv_sec - begin.tv_sec <= seconds;
  kill(-child, SIGKILL);  // itself if it hangs, and what it started
  int status = 0;
  waitpid(child, &status, 0);
  return ended ? status : kHung;
}

void arm_faults(bool armed) { shared()->armed = armed; }

std::string watched(const std::function<std::string()>& body, const Answer& answer, int seconds) {
  shared_text()[0] = '\0';
  const int status = status_of([&] { leave_text(body()); }, answer, seconds);
  return status == kNotWatched ? kNoNotifications : end_in_words(status, seconds);
}
bool interruptible(const seccomp_notif& call, int process) {
  const int file =
      static_cast<int>(syscall(SYS_pidfd_getfd, process, static_cast<int>(call.data.args[0]), 0));
  struct stat about {};
  const bool can = file >= 0 && fstat(file, &about) == 0 && !S_ISREG(about.st_mode);
  if (file >= 0) close(file);
  return can;
}

std::int64_t part_of(const seccomp_notif& call, int process) {
  const std::uint64_t wanted = call.data.args[2];
  if (wanted < 2) return 0;
  const int file =
      static_cast<int>(syscall(SYS_pidfd_getfd, process, static_cast<int>(call.data.args[0]), 0));
  if (file < 0) return 0;
  struct stat about {};
  std::int64_t result = 0;
  std::vector<char> bytes(std::min<std::uint64_t>((wanted + 1) / 2, 1 << 20));
  const iovec here{bytes.data(), bytes.size()};
  iovec there{reinterpret_cast<void*>(call.data.args[1]),
              bytes.size()};  // NOLINT: an address of the other process
  if (fstat(file, &about) == 0 && S_ISREG(about.st_mode)) {
    if (call.data.nr == SYS_write) {
      if (process_vm_readv(static_cast<pid_t>(call.pid), &here, 1, &there, 1, 0) ==
          static_cast<ssize_t>(bytes.size()))
        result = write(file, bytes.data(), bytes.size());
    } else {
      const ssize_t got = call.data.nr == SYS_read ? read(file, bytes.data(), bytes.size())
                                                   : pread(file, bytes.data(), bytes.size(),
                                                           static_cast<off_t>(call.data.args[3]));
      if (got > 0) {
        const iovec part{bytes.data(), static_cast<size_t>(got)};
        there.iov_len = static_cast<size_t>(got);
        if (process_vm_writev(static_cast<pid_t>(call.pid), &part, 1, &there, 1, 0) == got) result = got;
      }
    }
  }
  close(file);
  return result;
}

bool transfers(long number) { return number == SYS_read || number == SYS_pread64 || number == SYS_write; }

}  // namespace substrata::torture
