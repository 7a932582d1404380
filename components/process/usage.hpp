// What a process and its descendants used, as the kernel accounts it to everyone who may see the process.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace substrata::process {

enum Quantity : uint32_t {
  kCpuTime,
  kUserTime,
  kSystemTime,
  kMinorFaults,
  kMajorFaults,
  kVoluntarySwitches,
  kInvoluntarySwitches,
  kResident,
  kPeak,
  kBytesIn,
  kBytesOut,
  kStorageRead,
  kStorageWritten,
  kProcesses,
  kThreads,
  kQuantities
};

// In nanoseconds, bytes and numbers; the peak is that of the process that had most.
struct Usage {
  int64_t of[kQuantities] = {};
};

// Of the calling process, and with `descendants` of those that it waited for. 0, or errno. Signal-safe.
int own_usage(bool descendants, Usage* out) noexcept;

// Of another process. While it runs, its own use and that of its living descendants is read from /proc, that of
// the ones that were waited for with it; when it has ended and is a child of the caller that was not waited for
// yet, the kernel's account of all of them. Descendants that nobody waits for are lost at their end.
// Thread-compatible.
class Tree {
 public:
  Tree() = default;
  // `root`: where "/" is, see Host. Allocates.
  Tree(std::string root, pid_t pid, bool descendants);
  // 0, or errno: ESRCH where there is no such process. No allocation. Signal-safe.
  int read(Usage* out) noexcept;

 private:
  bool add_process(pid_t pid, Usage* sum) noexcept;
  void add_threads(pid_t pid, Usage* sum) noexcept;
  void add_transfers(pid_t pid, Usage* sum) noexcept;
  int64_t take(const char* path) noexcept;

  static constexpr size_t kMostProcesses = 4096;
  std::string root_;
  pid_t pid_ = 0;
  bool descendants_ = false;
  std::vector<pid_t> processes_;
  std::vector<char> text_;
};

}  // namespace substrata::process
