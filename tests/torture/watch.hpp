// Processes whose system calls go on, or are answered with an error or a part of what they asked for.
#pragma once

#include <linux/seccomp.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace substrata::torture {

struct Plausible {
  long number;
  const char* name;
  std::vector<int> errors;
};

// What the calls that the library and what it uses may make can answer. close is answered without being done, so that
// its descriptor stays open.
const std::vector<Plausible>& plausible();
const Plausible* find_call(long number);

// What is done to a call: 0 lets it go on, negative is an error, positive is a result that is in place already.
using Answer = std::function<std::int64_t(const seccomp_notif& call, int process)>;

constexpr int kHung = -1, kNotWatched = -2;
constexpr const char* kNoNotifications = "no seccomp notifications";

// Runs the body in a process behind a filter and answers its calls: how it ended as waitpid() says it, kHung or
// kNotWatched. What the process has started ends with it.
int status_of(const std::function<void()>& body, const Answer& answer, int seconds);
// The same with a text, as in_a_process(); kNoNotifications where that is not possible.
std::string watched(const std::function<std::string()>& body, const Answer& answer, int seconds = 60);
// In that process: from now on calls are shown to `answer`, or no more.
void arm_faults(bool armed);

// Whether its first argument is a regular file, also one in memory.
bool of_a_file(const seccomp_notif& call, int process);
// Whether the call can be interrupted: on files the kernel waits for nothing that a signal could end.
bool interruptible(const seccomp_notif& call, int process);
// Gives the caller a part of what it asked for; 0 where that is not possible.
std::int64_t part_of(const seccomp_notif& call, int process);
// Whether it reads or writes as read() and write() do.
bool transfers(long number);

}  // namespace substrata::torture
