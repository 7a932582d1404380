// fork, a pipe that holds the command back, exec, and signals read from a descriptor.
#include "recording/sampler/child.hpp"
#include "base/search_path.hpp"

#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace substrata::sampler {
namespace {

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&set, signal);
  return set;
}

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

void close_once(int* descriptor) {
  if (*descriptor >= 0) close(*descriptor);
  *descriptor = -1;
}

}  // namespace

CommandError::CommandError(const std::string& command, int error)
    : std::runtime_error("the command '" + command + "' cannot be executed: " +
                         (error == ENOENT && command.find('/') == std::string::npos
                              ? "there is no program of that name in PATH"
                              : std::strerror(error))),
      status_(error == ENOENT ? 127 : 126) {}

std::string find_command(const std::string& name) {
  namespace fs = std::filesystem;
  int error = ENOENT;
  const auto runs = [&](const std::string& file) {
    std::error_code ignored;
    const bool can = access(file.c_str(), X_OK) == 0;
    if (!can && errno == EACCES) error = EACCES;
    if (can && fs::is_directory(file, ignored)) error = EACCES;
    return can && !fs::is_directory(file, ignored);
  };
  if (std::string file = search_path(name, runs); !file.empty()) return file;
  throw CommandError(name, error);
}

Child::Child(const std::vector<std::string>& command,
             const std::vector<std::pair<std::string, std::string>>& environment, bool silent)
    : name_(command.at(0)) {
  const std::string file = find_command(name_);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  int go[2], failure[2];
  if (pipe2(go, O_CLOEXEC) != 0) fail("no pipe to the command");
  if (pipe2(failure, O_CLOEXEC) != 0) {
    close(go[0]);
    close(go[1]);
    fail("no pipe to the command");
  }
  const sigset_t watched = watched_signals();
  sigset_t before;
  sigprocmask(SIG_BLOCK, &watched, &before);
  signals_ = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
  pid_ = signals_ < 0 ? -1 : fork();
  if (pid_ == 0) {
    close(go[1]);
    for (const auto& [name, value] : environment) {
      if (value.empty())
        unsetenv(name.c_str());
      else
        setenv(name.c_str(), value.c_str(), 1);
    }
    if (const int nowhere = silent ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1; nowhere >= 0) {
      dup2(nowhere, STDIN_FILENO);
      dup2(nowhere, STDOUT_FILENO);
      dup2(nowhere, STDERR_FILENO);
    }
    sigprocmask(SIG_SETMASK, &before, nullptr);
    // All is prepared: what follows counts as the command.
    char released = 0;
    ssize_t got = 0;
    do got = read(go[0], &released, 1);
    while (got < 0 && errno == EINTR);
    if (got != 1) _exit(127);  // the recorder is gone
    execvp(file.c_str(), words.data());
    const int error = errno;
    [[maybe_unused]] const ssize_t written = write(failure[1], &error, sizeof error);
    _exit(127);
  }
  const int error = errno;
  close(go[0]);
  close(failure[1]);
  go_ = go[1];
  failure_ = failure[0];
  if (pid_ < 0) {
    close_once(&go_);
    close_once(&failure_);
    close_once(&signals_);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    errno = error;
    fail("the command cannot be started");
  }
}

Child::~Child() {
  close_once(&go_);  // a command that still waits ends by itself
  if (!released_ && !reaped_) waitpid(pid_, nullptr, 0);
  close_once(&failure_);
  close_once(&signals_);
  const sigset_t watched = watched_signals();
  sigprocmask(SIG_UNBLOCK, &watched, nullptr);
}

void Child::go() {
  const char released = 1;
  if (write(go_, &released, 1) != 1) fail("the command cannot be let go");
  close_once(&go_);
  released_ = true;
  int error = 0;
  ssize_t got = 0;
  do got = read(failure_, &error, sizeof error);  // ends when the command is executed: the pipe closes then
  while (got < 0 && errno == EINTR);
  close_once(&failure_);
  if (got == static_cast<ssize_t>(sizeof error)) {
    reap(nullptr);
    throw CommandError(name_, error);
  }
}

bool Child::take_signals() {
  signalfd_siginfo signal{};
  while (read(signals_, &signal, sizeof signal) == static_cast<ssize_t>(sizeof signal)) {
    if (signal.ssi_signo != SIGCHLD) end_requested_ = true;
    // A terminal sends SIGINT and SIGQUIT to the command itself; a process that sends them means both.
    const bool by_process = signal.ssi_code == SI_USER || signal.ssi_code == SI_QUEUE;
    if (signal.ssi_signo == SIGTERM || signal.ssi_signo == SIGHUP ||
        ((signal.ssi_signo == SIGINT || signal.ssi_signo == SIGQUIT) && by_process)) {
      kill(pid_, static_cast<int>(signal.ssi_signo));
      passed_on_ = true;
    }
  }
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid_;
}

int Child::reap(rusage* used) {
  int status = 0;
  rusage ignored{};
  pid_t got = 0;
  do got = wait4(pid_, &status, 0, used != nullptr ? used : &ignored);
  while (got < 0 && errno == EINTR);
  reaped_ = true;
  if (got == pid_ && WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const char* text = strsignal(signal);
    ended_ = "killed by signal " + std::to_string(signal) + " (" + (text != nullptr ? text : "unknown") + ")";
    return 128 + signal;
  }
  const int code = got == pid_ && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  ended_ = "exit status " + std::to_string(code);
  return code;
}

}  // namespace substrata::sampler
