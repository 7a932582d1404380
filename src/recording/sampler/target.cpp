// The child or the descriptor of a process, and the events attached to it.
#include "recording/sampler/target.hpp"
#include "base/parse.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace substrata::sampler {
namespace {

pid_t process_number(const std::string& text) {
  pid_t number = 0;
  if (!parse_number(text, &number) || number <= 0)
    throw std::runtime_error("'" + text + "' is not the number of a process");
  return number;
}

}  // namespace

Target::Target(const What& what) : model_(what.event_specs) {
  LiveTarget target;
  if (!what.command.empty()) {
    std::vector<std::pair<std::string, std::string>> environment;
    model_.keep_from(&environment);
    child_ = std::make_unique<Child>(what.command, environment, what.silent);
    target = {LiveTarget::Kind::kCommand, child_->pid()};
    for (const std::string& word : what.command) name_ += (name_.empty() ? "" : " ") + word;
  } else if (!what.process.empty()) {
    target = {LiveTarget::Kind::kProcess, process_number(what.process)};
    process_ = static_cast<int>(syscall(SYS_pidfd_open, target.pid, 0));
    if (process_ < 0)
      throw std::runtime_error("process " + what.process + " cannot be watched: " + std::strerror(errno));
    std::string called;
    std::getline(std::ifstream("/proc/" + what.process + "/comm"), called);
    name_ = "process " + what.process + " (" + called + ")";
  } else {
    name_ = "whole machine";
  }
  try {
    events_ = std::make_unique<LiveEvents>(target, what.event_specs);
  } catch (...) {
    if (process_ >= 0) close(process_);
    throw;
  }
}

Target::~Target() {
  if (process_ >= 0) close(process_);
}

void Target::go() {
  events_->sample();
  if (child_ != nullptr) child_->go();
}

int Target::descriptor() const noexcept { return child_ != nullptr ? child_->signals() : process_; }

bool Target::ended() {
  if (child_ != nullptr) return child_->take_signals();
  pollfd end{process_, POLLIN, 0};
  return process_ >= 0 && poll(&end, 1, 0) == 1;
}

bool Target::passed_on() const noexcept { return child_ != nullptr && child_->passed_on(); }

void Target::send(int signal) {
  if (child_ != nullptr) kill(child_->pid(), signal);
}

int Target::status() { return child_ != nullptr ? child_->reap(nullptr) : 0; }

Signals::Signals(std::initializer_list<int> numbers) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : numbers) sigaddset(&set, number);
  sigprocmask(SIG_BLOCK, &set, &before_);
  descriptor_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (descriptor_ >= 0) return;
  const int error = errno;
  sigprocmask(SIG_SETMASK, &before_, nullptr);
  throw std::system_error(error, std::generic_category(), "no descriptor for signals");
}

Signals::~Signals() {
  while (take() != 0) {
  }
  close(descriptor_);
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

int Signals::take() {
  signalfd_siginfo signal{};
  if (read(descriptor_, &signal, sizeof signal) != static_cast<ssize_t>(sizeof signal)) return 0;
  return static_cast<int>(signal.ssi_signo);
}

}  // namespace substrata::sampler
