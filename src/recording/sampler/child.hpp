// The recorded command: made, held until the counters are attached, let go, and waited for.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace substrata::sampler {

// A command that cannot be executed, with the exit status that a shell gives then: 127 where there is no such
// file, else 126.
class CommandError : public std::runtime_error {
 public:
  CommandError(const std::string& command, int error);
  int status() const noexcept { return status_; }

 private:
  int status_;
};
// The file that execvp would execute; throws CommandError.
std::string find_command(const std::string& name);

// A command that waits before its first instruction. While it lives, SIGINT and SIGQUIT of a terminal are
// left to it, and those of a process, SIGTERM and SIGHUP are passed on to it; the caller goes on recording
// until it ends. Thread-bound; one at a time.
class Child {
 public:
  // `environment`: set (or, with an empty value, removed) for the command alone. `silent`: its output is
  // thrown away and its input is empty. Throws CommandError and std::system_error.
  Child(const std::vector<std::string>& command,
        const std::vector<std::pair<std::string, std::string>>& environment, bool silent = false);
  // A command that was never let go is ended.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const noexcept { return pid_; }
  // Lets the command begin. Throws CommandError.
  void go();
  // Becomes readable when the command ended or a signal came; to be followed by take_signals().
  int signals() const noexcept { return signals_; }
  // Takes what came. True once the command has ended; its counters can still be read.
  bool take_signals();
  // Whether a signal to end came: of a terminal, or one that was passed on. It means this process as well.
  bool end_requested() const noexcept { return end_requested_; }
  // Whether a signal was passed on, which means this process as well.
  bool passed_on() const noexcept { return passed_on_; }
  // After the end: its exit status as a shell gives it (128 + signal), and what it used.
  int reap(rusage* used);
  // "exit status 0", "killed by signal 9 (Killed)"; after reap().
  const std::string& how_it_ended() const noexcept { return ended_; }

 private:
  pid_t pid_ = -1;
  int go_ = -1;
  int failure_ = -1;
  int signals_ = -1;
  bool released_ = false;
  bool reaped_ = false;
  bool end_requested_ = false;
  bool passed_on_ = false;
  std::string name_;
  std::string ended_;
};

}  // namespace substrata::sampler
