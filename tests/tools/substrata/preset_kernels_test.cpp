// The loops against which check-presets holds the presets: counted by single steps, where no counter is needed.
#include "tools/substrata/commands/preset_kernels.hpp"

#include <gtest/gtest.h>
#include <papi.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

namespace {

using substrata::tool::checks_of;
using substrata::tool::Kernel;
using substrata::tool::kernels;
using substrata::tool::PresetCheck;

// The instructions of a child that runs the kernel and ends; -1 where it cannot be stepped.
long steps_of(const Kernel& kernel, std::uint64_t rounds) {
  kernel.run(1);  // what it needs is there before it is counted
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
    raise(SIGSTOP);
    kernel.run(rounds);
    _exit(0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return -1;
  ptrace(PTRACE_SETOPTIONS, child, nullptr,
         reinterpret_cast<void*>(static_cast<uintptr_t>(PTRACE_O_EXITKILL)));
  long steps = 0;
  while (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) == 0) {
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) break;
    ++steps;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? steps : -1;
}

TEST(PresetKernels, HaveTheInstructionsThatTheirTableSays) {
  if (kernels().empty()) GTEST_SKIP() << "no kernels were written for this processor";
  for (const Kernel& kernel : kernels()) {
    if (!kernel.here()) continue;
    const long few = steps_of(kernel, 100), many = steps_of(kernel, 300);
    if (few < 0 || many < 0) GTEST_SKIP() << "a child cannot be stepped here (ptrace)";
    EXPECT_EQ(many - few, 200 * kernel.instructions) << kernel.name;
  }
}

TEST(PresetKernels, ProveHalfOfThePresetsAndMore) {
  if (kernels().empty()) GTEST_SKIP() << "no kernels were written for this processor";
  int proved = 0;
  for (int index = 0; index < PAPI_END_idx; ++index) {
    const auto checks = checks_of(static_cast<int>(PAPI_PRESET_MASK) | index);
    proved += checks.empty() ? 0 : 1;
    for (const PresetCheck& check : checks) EXPECT_LE(check.least, check.most) << index;
  }
  EXPECT_GT(proved * 2, static_cast<int>(PAPI_END_idx));
}

}  // namespace
