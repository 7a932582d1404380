// The system calls that a piece of code makes, seen from outside (ptrace).
#pragma once

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace substrata::tests {

struct SystemCall {
  uint64_t number;
  std::string path;  // of a call that names a file
};

struct SystemCalls {
  bool traced = false;  // false: this process may not trace its child
  bool good = false;    // what the code answered
  std::vector<SystemCall> calls;

  long count(uint64_t number) const {
    return std::count_if(calls.begin(), calls.end(),
                         [&](const SystemCall& call) { return call.number == number; });
  }
  // "257 0 0", for a message.
  std::string numbers() const {
    std::string text;
    for (const SystemCall& call : calls) text += std::to_string(call.number) + " ";
    return text;
  }
};

inline constexpr int kMarkedFile = -4711;  // none
// The code calls this twice: only the calls in between are listed.
inline void mark() noexcept { syscall(SYS_close, kMarkedFile); }

// A string of a traced process, as far as it can be read.
inline std::string text_at(pid_t process, uint64_t address) {
  char text[512] = {};
  iovec to{text, sizeof text - 1};
  // By halves: the string may end shortly before a page that is not there.
  for (; to.iov_len > 16; to.iov_len /= 2) {
    iovec from{reinterpret_cast<void*>(address), to.iov_len};
    if (process_vm_readv(process, &to, 1, &from, 1, 0) > 0) break;
  }
  return text;
}

inline std::string path_of(pid_t process, const __ptrace_syscall_info& call) {
  switch (call.entry.nr) {
    case SYS_openat:
    case SYS_newfstatat:
    case SYS_faccessat:
      return text_at(process, call.entry.args[1]);
    case SYS_statfs:
#ifdef SYS_open
    case SYS_open:
    case SYS_stat:
    case SYS_access:
#endif
      return text_at(process, call.entry.args[0]);
    default:
      return "";
  }
}

inline constexpr int kUntraced = 91;  // a child's exit status
// A child that is stopped before it runs `code`; -1 where none can be traced.
inline pid_t traced_child(const std::function<bool()>& code) {
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(kUntraced);
    raise(SIGSTOP);
    _exit(code() ? 0 : 1);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return -1;
  ptrace(PTRACE_SETOPTIONS, child, nullptr,
         reinterpret_cast<void*>(static_cast<uintptr_t>(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)));
  return child;
}

// Runs `code` in a child of its own.
inline SystemCalls system_calls_of(const std::function<bool()>& code) {
  SystemCalls seen;
  const pid_t child = traced_child(code);
  if (child < 0) return seen;
  int status = 0;
  long deliver = 0;
  int marks = 0;
  while (ptrace(PTRACE_SYSCALL, child, nullptr, reinterpret_cast<void*>(deliver)) == 0) {
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) break;
    deliver = WSTOPSIG(status) == (SIGTRAP | 0x80) ? 0 : WSTOPSIG(status);
    if (deliver != 0) continue;
    __ptrace_syscall_info call{};
    if (ptrace(PTRACE_GET_SYSCALL_INFO, child, reinterpret_cast<void*>(sizeof call), &call) <= 0 ||
        call.op != PTRACE_SYSCALL_INFO_ENTRY)
      continue;
    seen.traced = true;
    if (call.entry.nr == SYS_close && static_cast<int>(call.entry.args[0]) == kMarkedFile)
      ++marks;
    else if (marks == 1)
      seen.calls.push_back({call.entry.nr, path_of(child, call)});
  }
  seen.traced = seen.traced && WIFEXITED(status) && WEXITSTATUS(status) != kUntraced;
  seen.good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return seen;
}

}  // namespace substrata::tests
