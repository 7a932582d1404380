// The instructions that a piece of code runs, seen from outside (ptrace).
#pragma once

#include <signal.h>

#include "support/system_calls.hpp"

namespace substrata::tests {

// The code calls this twice: only the instructions in between are counted.
inline void mark_instructions() noexcept { raise(SIGUSR2); }

// Runs `code` in a child of its own, step by step between its marks. Negative where that is not possible, or the code
// did not answer true.
inline long instructions_of(const std::function<bool()>& code) {
  const pid_t child = traced_child(code);
  if (child < 0) return -1;
  long steps = 0, deliver = 0;
  int marks = 0, status = 0;
  while (ptrace(marks == 1 ? PTRACE_SINGLESTEP : PTRACE_CONT, child, nullptr,
                reinterpret_cast<void*>(deliver)) == 0) {
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) break;
    const int signal = WSTOPSIG(status);
    deliver = signal == SIGTRAP || signal == SIGUSR2 ? 0 : signal;
    steps += marks == 1 && signal == SIGTRAP ? 1 : 0;
    marks += signal == SIGUSR2 ? 1 : 0;
  }
  return marks == 2 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? steps : -1;
}

}  // namespace substrata::tests
