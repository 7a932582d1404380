// One child, one pipe, and a parent that waits no longer than it said.
#include "base/trial.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

namespace substrata {
namespace {

constexpr char kPassedText[] = "passed";

// In the child. What is wrong goes to the pipe.
[[noreturn]] void run_trial(unsigned seconds, const std::function<std::string()>& work, int pipe_end) {
  // Neither the program's handlers nor what its calling thread blocks may keep the trial from ending.
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGALRM, SIGTRAP})
    std::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nowhere >= 0) {
    dup2(nowhere, STDIN_FILENO);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
  }
  alarm(seconds);
  std::string wrong = work();
  // Reported in words either way: what ends the process by itself could end it with any status.
  const bool passed = wrong.empty();
  if (passed) wrong = kPassedText;
  static_cast<void>(!write(pipe_end, wrong.data(), wrong.size()));
  _exit(passed ? 0 : 1);
}

// What the child reported, until it closes the pipe or the time is over.
std::string heard(int pipe_end, unsigned seconds, bool* in_time) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  std::string text;
  char piece[512];
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    pollfd ready{pipe_end, POLLIN, 0};
    const int polled = left <= 0 ? 0 : poll(&ready, 1, static_cast<int>(left));
    if (polled < 0 && errno == EINTR) continue;
    *in_time = polled != 0;
    if (polled <= 0) return text;
    const ssize_t got = read(pipe_end, piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    if (text.size() < 4096) text.append(piece, static_cast<size_t>(got));
  }
}

}  // namespace

Trial try_in_child(unsigned seconds, const std::function<std::string()>& work) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return {Trial::kNotTried, std::string("no pipe for the trial: ") + std::strerror(errno)};
  const pid_t child = fork();
  if (child < 0) {
    const int error = errno;
    close(ends[0]);
    close(ends[1]);
    return {Trial::kNotTried, std::string("no process for the trial: ") + std::strerror(error)};
  }
  if (child == 0) run_trial(seconds, work, ends[1]);
  close(ends[1]);
  // A second more than the child's own alarm, which the work may have taken away.
  bool in_time = true;
  const std::string said = heard(ends[0], seconds + 1, &in_time);
  close(ends[0]);
  if (!in_time) kill(child, SIGKILL);
  int status = 0;
  bool known = true;
  while (known && waitpid(child, &status, 0) < 0) known = errno == EINTR;
  // A program that ignores SIGCHLD, or waits for every child, learns no status; what was reported is enough.
  if (said == kPassedText && (!known || (WIFEXITED(status) && WEXITSTATUS(status) == 0)))
    return {Trial::kPassed, {}};
  if (!said.empty() && said != kPassedText) return {Trial::kRefused, said};
  if (!in_time || (known && WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM))
    return {Trial::kFatal, "takes longer than " + std::to_string(seconds) + " s"};
  if (!known) return {Trial::kFatal, "crashes or ends the process"};
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return {Trial::kFatal,
            "crashes a process with signal " + std::to_string(signal) + " (" + strsignal(signal) + ")"};
  }
  return {Trial::kFatal, "ends the process, with status " + std::to_string(WEXITSTATUS(status))};
}

}  // namespace substrata
