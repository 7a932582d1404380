// System calls that fail under the script. A process of its own runs it behind a seccomp filter whose notifications
// come here: each call goes on, or is answered with an error or a part of what it asked for.
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
#include <cstring>
#include <ctime>
#include <map>
#include <sstream>

#include "script.hpp"
#include "torture.hpp"

namespace substrata::torture {
namespace {

struct Plausible {
  long number;
  const char* name;
  std::vector<int> errors;
};

// What the calls that the library and what it uses may make can answer. close is answered without being done, so that
// its descriptor stays open.
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
  };
  return kCalls;
}

const Plausible* find_call(long number) {
  for (const Plausible& one : plausible())
    if (one.number == number) return &one;
  return nullptr;
}

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

// What is done to a call: 0 lets it go on, negative is an error, positive is a result that is in place already.
using Answer = std::function<std::int64_t(const seccomp_notif& call, int process)>;

// Runs the body behind the filter and answers its calls. "" as in_a_process.
std::string watched(const std::function<std::string()>& body, const Answer& answer, int seconds = 60) {
  char* const text = shared_text();
  text[0] = '\0';
  shared()->listener = 0;
  shared()->armed = false;
  const pid_t child = fork();
  if (child < 0) return "cannot fork";
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int made = listen_to_system_calls();
    shared()->listener = made > 0 ? made : -1;
    const std::string said = made > 0 ? body() : std::string();
    std::snprintf(text, 16384, "%s", said.c_str());
    shared()->armed = false;
    std::exit(0);
  }
  while (shared()->listener == 0) usleep(100);
  if (shared()->listener < 0) {
    waitpid(child, nullptr, 0);
    return "no seccomp notifications";
  }
  const int process = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  const int listener = static_cast<int>(syscall(SYS_pidfd_getfd, process, shared()->listener.load(), 0));
  if (listener < 0) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(process);
    return "no seccomp notifications";
  }
  timespec begin{}, now{};
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (;;) {
    pollfd ready[2] = {{listener, POLLIN, 0}, {process, POLLIN, 0}};
    poll(ready, 2, 1000);
    clock_gettime(CLOCK_MONOTONIC, &now);
    if ((ready[0].revents & POLLIN) == 0) {
      if (ready[1].revents != 0 || now.tv_sec - begin.tv_sec > seconds) break;
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
  return end_of(child, text, 1);
}

// A pass whose calls are answered, and two more. The first line of the result is its answers.
std::string watched_passes(int* descriptors, std::vector<Call>* met, std::vector<Call>* after) {
  Script script;
  shared()->armed = true;
  *met = script.pass();
  shared()->armed = false;
  const std::string wrong = script.put_right();
  script.pass();
  *after = script.pass();
  *descriptors = open_descriptors();
  return wrong;
}

struct Expected {
  std::vector<Call> met, after;
  int descriptors = 0;
  std::vector<long> calls;  // the system calls of the first pass
};

std::string expect(Expected* expected) {
  const auto body = [] {
    std::vector<Call> met, after;
    int descriptors = 0;
    const std::string wrong = watched_passes(&descriptors, &met, &after);
    if (!wrong.empty()) return wrong;
    std::ostringstream out;
    out << "= " << descriptors;
    for (const std::vector<Call>* calls : {&met, &after})
      for (const Call& call : *calls) out << ' ' << call.code;
    return out.str();
  };
  const std::string text = watched(body, [&](const seccomp_notif& call, int) {
    expected->calls.push_back(call.data.nr);
    return 0;
  });
  std::istringstream in(text);
  std::string mark;
  in >> mark >> expected->descriptors;
  if (mark != "=" || !in) return text;
  std::vector<int> codes;
  for (int code = 0; in >> code;) codes.push_back(code);
  for (size_t i = 0; i < codes.size(); ++i)
    (i < codes.size() / 2 ? expected->met : expected->after).push_back({"", codes[i]});
  return {};
}

constexpr const char* kLeftOpen = "descriptors are left open:";

std::string judged(const Expected& expected, bool all_go_well) {
  std::vector<Call> met, after;
  int descriptors = 0;
  if (const std::string wrong = watched_passes(&descriptors, &met, &after); !wrong.empty())
    return "afterwards " + wrong;
  if (all_go_well) {
    if (const std::string wrong = difference(expected.met, met); !wrong.empty()) return wrong;
  } else if (const std::string wrong = not_an_answer(expected.met, met); !wrong.empty()) {
    return wrong;
  }
  if (const std::string wrong = difference(expected.after, after); !wrong.empty())
    return "afterwards " + wrong;
  if (descriptors > expected.descriptors)
    return std::to_string(descriptors - expected.descriptors) + " " + kLeftOpen +
           last_descriptors(descriptors - expected.descriptors);
  return {};
}

// Whether the call can be interrupted: on files the kernel waits for nothing that a signal could end.
bool interruptible(const seccomp_notif& call, int process) {
  const int file =
      static_cast<int>(syscall(SYS_pidfd_getfd, process, static_cast<int>(call.data.args[0]), 0));
  struct stat about {};
  const bool can = file >= 0 && fstat(file, &about) == 0 && !S_ISREG(about.st_mode);
  if (file >= 0) close(file);
  return can;
}

// Gives the caller a part of what it asked for; 0 where that is not possible.
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

}  // namespace

Outcome failing_system_calls(const Options& options) {
  Outcome outcome;
  Expected expected;
  if (const std::string wrong = expect(&expected); wrong == "no seccomp notifications") {
    outcome.skipped = wrong;
    return outcome;
  } else if (!wrong.empty()) {
    outcome.failures.push_back("without a fault: " + wrong);
    return outcome;
  }
  struct Fault {
    std::int64_t place;
    int error;
  };
  std::vector<Fault> faults;
  std::map<long, std::int64_t> kinds;
  for (size_t i = 0; i < expected.calls.size(); ++i) {
    ++kinds[expected.calls[i]];
    for (const int error : find_call(expected.calls[i])->errors)
      faults.push_back({static_cast<std::int64_t>(i), error});
  }
  const size_t possible = faults.size();
  choose(options, options.iterations > 0 ? static_cast<size_t>(options.iterations) : 40, &faults);
  if (options.only >= 0) {
    faults.clear();
    for (const int error : find_call(expected.calls.at(static_cast<std::size_t>(options.only)))->errors)
      faults.push_back({options.only, error});
  }
  for (const Fault& fault : faults) {
    std::int64_t seen = 0;
    long failed = -1;
    std::string wrong = watched(
        [&] { return judged(expected, false); },
        [&](const seccomp_notif& call, int) -> std::int64_t {
          if (seen++ != fault.place || left_to_hwloc()) return 0;
          failed = call.data.nr;
          const std::vector<int>& errors = find_call(failed)->errors;
          return std::find(errors.begin(), errors.end(), fault.error) != errors.end() ? -fault.error : 0;
        });
    ++outcome.tried;
    // What was not closed is open.
    if (failed == SYS_close && wrong.find(kLeftOpen) != std::string::npos) wrong.clear();
    if (!wrong.empty())
      outcome.failures.push_back("system call " + std::to_string(fault.place) + ", " +
                                 (failed >= 0 ? find_call(failed)->name : "none") + ", fails with " +
                                 strerrorname_np(fault.error) + ": " + wrong);
    if (options.verbose && outcome.tried % 100 == 0)
      std::fprintf(stderr, "%lld of %zu, %zu failures\n", static_cast<long long>(outcome.tried),
                   faults.size(), outcome.failures.size());
  }
  outcome.figures.emplace_back("system calls of the script", std::to_string(expected.calls.size()));
  outcome.figures.emplace_back("kinds of system calls", std::to_string(kinds.size()));
  outcome.figures.emplace_back("faults possible", std::to_string(possible));
  outcome.figures.emplace_back("faults left to hwloc", std::to_string(faults_left_to_hwloc()));
  return outcome;
}

Outcome short_transfers(const Options& options) {
  Outcome outcome;
  Expected expected;
  if (const std::string wrong = expect(&expected); wrong == "no seccomp notifications") {
    outcome.skipped = wrong;
    return outcome;
  } else if (!wrong.empty()) {
    outcome.failures.push_back("without a fault: " + wrong);
    return outcome;
  }
  std::int64_t touched = 0;
  const auto tried = [&](const std::string& what, const Answer& answer) {
    const std::string wrong = watched([&] { return judged(expected, true); }, answer);
    ++outcome.tried;
    if (!wrong.empty()) outcome.failures.push_back(what + ": " + wrong);
  };
  tried("every read and write of a file is short",
        [&](const seccomp_notif& call, int process) -> std::int64_t {
          const std::int64_t result = transfers(call.data.nr) ? part_of(call, process) : 0;
          touched += result > 0;
          return result;
        });
  bool interrupted = false;
  tried("every read and write is interrupted once",
        [&](const seccomp_notif& call, int process) -> std::int64_t {
          if (!transfers(call.data.nr) || !interruptible(call, process)) return 0;
          interrupted = !interrupted;
          touched += interrupted;
          return interrupted ? -EINTR : 0;
        });
  // Each by itself.
  std::vector<std::int64_t> places;
  for (size_t i = 0; i < expected.calls.size(); ++i)
    if (transfers(expected.calls[i])) places.push_back(static_cast<std::int64_t>(i));
  choose(options, options.iterations > 0 ? static_cast<size_t>(options.iterations) : 20, &places);
  for (const std::int64_t place : places)
    for (const bool cut : {true, false}) {
      std::int64_t seen = 0;
      tried((cut ? "a short transfer, system call " : "an interrupted transfer, system call ") +
                std::to_string(place),
            [&](const seccomp_notif& call, int process) -> std::int64_t {
              if (seen++ != place || !transfers(call.data.nr)) return 0;
              ++touched;
              if (cut) return part_of(call, process);
              return interruptible(call, process) ? -EINTR : 0;
            });
    }
  outcome.figures.emplace_back("reads and writes cut or interrupted", std::to_string(touched));
  return outcome;
}

}  // namespace substrata::torture
