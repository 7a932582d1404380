// container COMMAND [ARGUMENT...]: runs a command as a container with its defaults would: perf_event_open is
// refused, and where this process may (root), /dev/shm holds 64 MB.
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>

#include "support/refused_call.hpp"

namespace {

bool small_shared_memory() {
  return unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("shm", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "size=64m,mode=1777") == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: container COMMAND [ARGUMENT...]\n");
    return 2;
  }
  if (!small_shared_memory()) std::fprintf(stderr, "container: /dev/shm stays as it is (not root)\n");
  if (!substrata::tests::refuse_system_call(SYS_perf_event_open)) {
    std::perror("container: seccomp");
    return 77;
  }
  execvp(argv[1], argv + 1);
  std::perror(argv[1]);
  return 127;
}
