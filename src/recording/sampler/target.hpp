// What `top` and `serve` look at: the machine, a process or a command, from its beginning to its end.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "recording/sampler/child.hpp"
#include "recording/sampler/event_spec.hpp"
#include "recording/sampler/live_events.hpp"

namespace substrata::sampler {

// A command that is run, or a process that runs already, or, with neither, the whole machine; and its events.
// Thread-bound; one at a time.
class Target {
 public:
  struct What {
    std::vector<std::string> command;
    std::string process;  // a number
    std::vector<std::string> event_specs;
    bool silent = false;  // the command's output is thrown away, its input is empty
  };
  // Throws std::runtime_error with the reason.
  explicit Target(const What& what);
  ~Target();
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  LiveEvents& events() noexcept { return *events_; }
  // "whole machine", "process 12 (bash)", "make -j4".
  const std::string& name() const noexcept { return name_; }
  bool is_command() const noexcept { return child_ != nullptr; }

  // Reads the first values and lets a command begin. Throws std::runtime_error when it cannot be executed.
  void go();
  // Readable when ended() should be asked; -1 where there is no end. Signals to a command are passed on
  // there.
  int descriptor() const noexcept;
  bool ended();
  // Whether a signal was passed on to a command, which means this process as well.
  bool passed_on() const noexcept;
  // Sends a command the signal.
  void send(int signal);
  // After the end: the exit status of a command as a shell gives it, else 0.
  int status();

 private:
  ModelSetting model_;
  std::unique_ptr<Child> child_;
  int process_ = -1;
  std::unique_ptr<LiveEvents> events_;
  std::string name_;
};

// Signals that would end the program, and others, as a descriptor; a signal that is waited for does nothing
// else. To be made after the Target, whose command must not inherit that. Thread-bound.
class Signals {
 public:
  explicit Signals(std::initializer_list<int> numbers);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  int descriptor() const noexcept { return descriptor_; }
  // The next one, 0 when there is none.
  int take();

 private:
  sigset_t before_;
  int descriptor_ = -1;
};

}  // namespace substrata::sampler
