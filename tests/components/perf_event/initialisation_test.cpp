// What initialising the library opens: nothing whose cost grows with what is mounted.
#include <gtest/gtest.h>
#include <papi.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

namespace {

constexpr int kTraced = 91;  // exit status of a child that could not be observed

// A string of a traced process, as far as it can be read.
std::string text_at(pid_t process, uint64_t address) {
  char text[512] = {};
  iovec to{text, sizeof text - 1};
  // By halves: the string may end shortly before a page that is not there.
  for (; to.iov_len > 16; to.iov_len /= 2) {
    iovec from{reinterpret_cast<void*>(address), to.iov_len};
    if (process_vm_readv(process, &to, 1, &from, 1, 0) > 0) break;
  }
  return text;
}

// The paths that a child's PAPI_library_init asks the kernel for; false: this process may not trace it.
bool paths_of_initialisation(std::vector<std::string>* paths, int* status) {
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(kTraced);
    raise(SIGSTOP);
    if (access("/first", F_OK) == 0) _exit(1);
    _exit(PAPI_library_init(PAPI_VER_CURRENT) == PAPI_VER_CURRENT ? 0 : 1);
  }
  if (child < 0 || waitpid(child, status, 0) != child || !WIFSTOPPED(*status)) return false;
  ptrace(PTRACE_SETOPTIONS, child, nullptr,
         reinterpret_cast<void*>(static_cast<uintptr_t>(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)));
  long deliver = 0;
  while (ptrace(PTRACE_SYSCALL, child, nullptr, reinterpret_cast<void*>(deliver)) == 0) {
    if (waitpid(child, status, 0) != child || !WIFSTOPPED(*status)) break;
    deliver = WSTOPSIG(*status) == (SIGTRAP | 0x80) ? 0 : WSTOPSIG(*status);
    if (deliver != 0) continue;
    __ptrace_syscall_info call{};
    if (ptrace(PTRACE_GET_SYSCALL_INFO, child, reinterpret_cast<void*>(sizeof call), &call) <= 0 ||
        call.op != PTRACE_SYSCALL_INFO_ENTRY)
      continue;
    switch (call.entry.nr) {
      case SYS_openat:
      case SYS_newfstatat:
      case SYS_faccessat:
        paths->push_back(text_at(child, call.entry.args[1]));
        break;
      case SYS_statfs:
#ifdef SYS_open
      case SYS_open:
      case SYS_stat:
      case SYS_access:
#endif
        paths->push_back(text_at(child, call.entry.args[0]));
        break;
      default:
        break;
    }
  }
  return WIFEXITED(*status) && WEXITSTATUS(*status) != kTraced;
}

// PA-39: PAPI lists the whole folder of tracepoints, when debugfs is mounted, before its first answer.
TEST(Initialisation, OpensNothingOfDebugfsOrTracefs) {
  std::vector<std::string> paths;
  int status = 0;
  if (!paths_of_initialisation(&paths, &status)) GTEST_SKIP() << "a child cannot be traced here (ptrace)";
  EXPECT_EQ(WEXITSTATUS(status), 0);
  ASSERT_FALSE(paths.empty());
  EXPECT_EQ(paths.front(), "/first");  // the child's own look at a file is seen
  for (const std::string& path : paths) {
    EXPECT_EQ(path.find("/sys/kernel/debug"), std::string::npos) << path;
    EXPECT_EQ(path.find("/sys/kernel/tracing"), std::string::npos) << path;
  }
}

}  // namespace
