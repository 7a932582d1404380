// The start of processes as the kernel keeps it: in clock ticks since the machine's start, in /proc/PID/stat. The file
// times of /proc do not help: they are those of the first look at an entry.
#include "papi/high_level/job_start.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>

#include "papi/high_level/report.hpp"

namespace substrata::high_level {
namespace {

int64_t now_ns(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// When this library was loaded; a forked child has its parent's.
const int64_t kLoaded = now_ns(CLOCK_BOOTTIME);

int64_t tick_ns() noexcept { return 1'000'000'000 / sysconf(_SC_CLK_TCK); }

struct Process {
  int parent = 0;
  int64_t start_ns = 0;  // of CLOCK_BOOTTIME, rounded down to a tick; 0 when unknown
};

Process process(int pid) noexcept {
  Process found;
  char text[1024];
  std::snprintf(text, sizeof(text), "/proc/%d/stat", pid);
  const int file = open(text, O_RDONLY | O_CLOEXEC);
  if (file < 0) return found;
  const ssize_t length = read(file, text, sizeof(text) - 1);
  close(file);
  text[std::max<ssize_t>(length, 0)] = '\0';
  // The name, in parentheses, may hold anything.
  const char* const name_end = std::strrchr(text, ')');
  unsigned long long ticks = 0;
  // State, parent, 17 other numbers, start.
  if (name_end == nullptr ||
      std::sscanf(name_end + 1,
                  " %*c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
                  &found.parent, &ticks) != 2)
    return {};
  found.start_ns = static_cast<int64_t>(ticks) * tick_ns();
  return found;
}

// Whether the environment with which a process began names a rank; not so where it may not be read.
bool began_as_rank(int pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/environ";
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  std::string text(1, '\0');
  char piece[4096];
  for (ssize_t got = 0; (got = read(file, piece, sizeof(piece))) > 0;)
    text.append(piece, static_cast<size_t>(got));
  close(file);
  return std::any_of(std::begin(kRankVariables), std::end(kRankVariables), [&](const char* variable) {
    return text.find('\0' + std::string(variable) + '=') != std::string::npos;
  });
}

}  // namespace

int64_t job_start_ns() {
  const Process self = process(getpid());
  // Rounded up, so that a report is old that another program finished within the same clock tick.
  int64_t start = self.start_ns > 0 ? std::min(self.start_ns + tick_ns(), kLoaded) : kLoaded;
  // Past a script around the program to the launcher itself. A launcher in another container has no number here.
  if (rank_of_process() >= 0) {
    constexpr int kMostGenerations = 16;
    int pid = self.parent;
    for (int i = 0; i < kMostGenerations && pid > 1; ++i) {
      const Process ancestor = process(pid);
      if (ancestor.start_ns <= 0) break;
      start = std::min(start, ancestor.start_ns);
      if (!began_as_rank(pid)) break;
      pid = ancestor.parent;
    }
  }
  // In this order: where the thread is held up between the two, the start is too early, and a report stays.
  const int64_t now = now_ns(CLOCK_REALTIME);
  return now - (now_ns(CLOCK_BOOTTIME) - start);
}

}  // namespace substrata::high_level
