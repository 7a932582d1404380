// Reads getrusage, the processes' clocks, and stat, status, io and children below /proc.
#include "process/usage.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string_view>
#include <utility>

#include "base/parse.hpp"

namespace substrata::process {
namespace {

constexpr size_t kTextSize = 16384;
constexpr size_t kPathSize = 512;

int64_t in_ns(const timeval& time) noexcept {
  return int64_t{time.tv_sec} * 1'000'000'000 + int64_t{time.tv_usec} * 1000;
}

// Resident sets are in KiB there.
void add(const rusage& used, Usage* sum) noexcept {
  sum->of[kUserTime] += in_ns(used.ru_utime);
  sum->of[kSystemTime] += in_ns(used.ru_stime);
  sum->of[kCpuTime] += in_ns(used.ru_utime) + in_ns(used.ru_stime);
  sum->of[kMinorFaults] += used.ru_minflt;
  sum->of[kMajorFaults] += used.ru_majflt;
  sum->of[kVoluntarySwitches] += used.ru_nvcsw;
  sum->of[kInvoluntarySwitches] += used.ru_nivcsw;
  sum->of[kPeak] = std::max(sum->of[kPeak], int64_t{used.ru_maxrss} * 1024);
}

void add_transfer_lines(std::string_view text, Usage* sum) noexcept {
  sum->of[kBytesIn] += number_of_key(text, "rchar", 0);
  sum->of[kBytesOut] += number_of_key(text, "wchar", 0);
  sum->of[kStorageRead] += number_of_key(text, "read_bytes", 0);
  sum->of[kStorageWritten] += number_of_key(text, "write_bytes", 0);
}

// Up to `capacity` bytes from the beginning of a file; the count, or -errno.
int64_t read_file(const char* path, char* text, size_t capacity) noexcept {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -errno;
  size_t size = 0;
  ssize_t got = 0;
  while (size < capacity && (got = ::read(file, text + size, capacity - size)) > 0)
    size += static_cast<size_t>(got);
  const int error = errno;
  close(file);
  return got < 0 ? -error : static_cast<int64_t>(size);
}

}  // namespace

int own_usage(bool descendants, Usage* out) noexcept {
  *out = Usage{};
  rusage used{};
  if (getrusage(RUSAGE_SELF, &used) != 0) return errno;
  add(used, out);
  timespec clock{};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &clock) == 0)
    out->of[kCpuTime] = int64_t{clock.tv_sec} * 1'000'000'000 + clock.tv_nsec;
  if (descendants && getrusage(RUSAGE_CHILDREN, &used) == 0) add(used, out);
  char text[4096];
  // Where the first thread has ended before the process, the calling thread's file has the memory.
  for (const char* const file : {"/proc/self/status", "/proc/thread-self/status"}) {
    const int64_t size = read_file(file, text, sizeof text);
    if (size <= 0) continue;
    const std::string_view lines(text, static_cast<size_t>(size));
    out->of[kResident] = number_of_key(lines, "VmRSS", 0) * 1024;
    out->of[kThreads] = number_of_key(lines, "Threads", 0);
    if (out->of[kResident] != 0) break;
  }
  if (const int64_t size = read_file("/proc/self/io", text, sizeof text); size > 0)
    add_transfer_lines({text, static_cast<size_t>(size)}, out);
  out->of[kProcesses] = 1;
  return 0;
}

Tree::Tree(std::string root, pid_t pid, bool descendants)
    : root_(std::move(root)), pid_(pid), descendants_(descendants), text_(kTextSize) {
  processes_.reserve(kMostProcesses);
}

int64_t Tree::take(const char* path) noexcept { return read_file(path, text_.data(), text_.size()); }

// False: there is no such process.
bool Tree::add_process(pid_t pid, Usage* sum) noexcept {
  char path[kPathSize];
  std::snprintf(path, sizeof path, "%s/proc/%d/stat", root_.c_str(), pid);
  const int64_t size = take(path);
  if (size <= 0) return false;
  // What follows the name, which may contain anything: state ppid pgrp ...
  std::string_view text(text_.data(), static_cast<size_t>(size));
  text.remove_prefix(std::min(text.rfind(')'), text.size() - 1) + 1);
  constexpr size_t kFields = 22;
  int64_t fields[kFields] = {};
  for (size_t i = 0; i < kFields; ++i) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    const std::string_view word = text.substr(0, text.find(' '));
    leading_number(word, &fields[i]);
    text.remove_prefix(word.size());
  }
  // Of proc(5): minflt is field 10, the third word here is field 5.
  const auto field = [&](size_t number) { return fields[number - 3]; };
  const int64_t tick_ns = 1'000'000'000 / std::max(1L, sysconf(_SC_CLK_TCK));
  const int64_t own = (field(14) + field(15)) * tick_ns, waited = (field(16) + field(17)) * tick_ns;
  const int64_t with = descendants_ ? 1 : 0;
  int64_t exact = own;
  timespec clock{};
  // The kernel gives a process' own time in nanoseconds, but only as a sum.
  if (clockid_t id = 0; root_.empty() && clock_getcpuclockid(pid, &id) == 0 && clock_gettime(id, &clock) == 0)
    exact = int64_t{clock.tv_sec} * 1'000'000'000 + clock.tv_nsec;
  sum->of[kCpuTime] += exact + with * waited;
  sum->of[kUserTime] += (field(14) + with * field(16)) * tick_ns;
  sum->of[kSystemTime] += (field(15) + with * field(17)) * tick_ns;
  sum->of[kMinorFaults] += field(10) + with * field(11);
  sum->of[kMajorFaults] += field(12) + with * field(13);
  sum->of[kResident] += field(24) * sysconf(_SC_PAGESIZE);
  sum->of[kProcesses] += 1;
  sum->of[kThreads] += field(20);
  return true;
}

// Switches are accounted by thread; children are known by the thread that made them.
void Tree::add_threads(pid_t pid, Usage* sum) noexcept {
  char path[kPathSize];
  std::snprintf(path, sizeof path, "%s/proc/%d/task", root_.c_str(), pid);
  const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  struct Entry {
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    uint8_t type;
  };
  constexpr size_t kName = offsetof(Entry, type) + 1;
  alignas(Entry) char entries[4096];
  for (long got = 0; (got = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0;) {
    for (long at = 0; at < got;) {
      Entry entry;
      std::memcpy(&entry, entries + at, kName);
      const char* const name = entries + at + kName;
      at += entry.length;
      if (name[0] < '0' || name[0] > '9') continue;
      std::snprintf(path, sizeof path, "%s/proc/%d/task/%s/status", root_.c_str(), pid, name);
      if (const int64_t size = take(path); size > 0) {
        const std::string_view lines(text_.data(), static_cast<size_t>(size));
        sum->of[kVoluntarySwitches] += number_of_key(lines, "voluntary_ctxt_switches", 0);
        sum->of[kInvoluntarySwitches] += number_of_key(lines, "nonvoluntary_ctxt_switches", 0);
        sum->of[kPeak] = std::max(sum->of[kPeak], number_of_key(lines, "VmHWM", 0) * 1024);
      }
      if (!descendants_) continue;
      std::snprintf(path, sizeof path, "%s/proc/%d/task/%s/children", root_.c_str(), pid, name);
      const int64_t size = take(path);
      std::string_view children(text_.data(), static_cast<size_t>(std::max<int64_t>(size, 0)));
      pid_t child = 0;
      while (processes_.size() < kMostProcesses) {
        const size_t length = leading_number(children, &child);
        if (length == 0) break;
        processes_.push_back(child);
        children.remove_prefix(std::min(length + 1, children.size()));
      }
    }
  }
  close(folder);
}

void Tree::add_transfers(pid_t pid, Usage* sum) noexcept {
  char path[kPathSize];
  std::snprintf(path, sizeof path, "%s/proc/%d/io", root_.c_str(), pid);
  if (const int64_t size = take(path); size > 0)
    add_transfer_lines({text_.data(), static_cast<size_t>(size)}, sum);
}

int Tree::read(Usage* out) noexcept {
  *out = Usage{};
  siginfo_t ended{};
  rusage used{};
  // The system call gives the use of the child and of all that it waited for; the library's function does not.
  if (root_.empty() && descendants_ &&
      syscall(SYS_waitid, P_PID, pid_, &ended, WEXITED | WNOHANG | WNOWAIT, &used) == 0 &&
      ended.si_pid == pid_) {
    add(used, out);
    add_transfers(pid_, out);
    return 0;
  }
  processes_.assign(1, pid_);
  for (size_t i = 0; i < processes_.size(); ++i) {
    const pid_t pid = processes_[i];
    if (!add_process(pid, out)) {
      if (i == 0) return ESRCH;
      continue;
    }
    add_threads(pid, out);
    add_transfers(pid, out);
  }
  return 0;
}

}  // namespace substrata::process
