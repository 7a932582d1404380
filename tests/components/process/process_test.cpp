// process: the account of this process, of a child and its descendants against the kernel's own at their end,
// and of a recorded tree.
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <string>
#include <vector>

#include "process/usage.hpp"
#include "support/recorded_trees/recorded_tree.hpp"

namespace {

using namespace substrata;
using namespace substrata::testing;
using ::testing::HasSubstr;

void burn(double seconds) {
  const std::clock_t end = std::clock() + static_cast<std::clock_t>(seconds * CLOCKS_PER_SEC);
  while (std::clock() < end) {
  }
}

void touch_pages(size_t pages) {
  const size_t size = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (size_t at = 0; at < size; at += static_cast<size_t>(sysconf(_SC_PAGESIZE)))
    static_cast<volatile char*>(memory)[at] = 1;
  munmap(memory, size);
}

// A child that waits for a word before it works, has a child of its own work too, and waits for it.
class Worker {
 public:
  Worker() {
    EXPECT_EQ(pipe(go_), 0);
    pid_ = fork();
    if (pid_ != 0) return;
    char word = 0;
    while (::read(go_[0], &word, 1) < 0 && errno == EINTR) {
    }
    for (int i = 0; i < 2; ++i) {
      if (i == 0 && fork() != 0) continue;
      burn(0.03);
      touch_pages(500);
      if (i == 0) _exit(0);
    }
    while (wait(nullptr) > 0) {
    }
    _exit(0);
  }
  ~Worker() {
    close(go_[0]);
    close(go_[1]);
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  pid_t pid() const { return pid_; }
  // It works, and ends; it stays to be waited for.
  void work() {
    EXPECT_EQ(::write(go_[1], "g", 1), 1);
    siginfo_t info{};
    waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
  }
  rusage wait_for() {
    rusage used{};
    int status = 0;
    EXPECT_EQ(wait4(pid_, &status, 0, &used), pid_);
    pid_ = -1;
    return used;
  }

 private:
  int go_[2] = {-1, -1};
  pid_t pid_ = -1;
};

class Process : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(substrate.open().ok()); }
  void TearDown() override { substrate.device = nullptr; }  // the table has no close
  Configuration configuration() const {
    Configuration wanted;
    wanted.domain = kDomainAll;
    wanted.granularity = kGranularityProcess;
    return wanted;
  }
  Configuration of(pid_t pid) const {
    Configuration wanted = configuration();
    wanted.target = Target::kThreadOrProcess;
    wanted.target_id = pid;
    wanted.inherit = 1;
    return wanted;
  }
  // Every event, in the order of process::Quantity.
  void program(const EventSet& set) {
    std::vector<uint32_t> all;
    for (uint32_t i = 0; i < process::kQuantities; ++i) all.push_back(i);
    ASSERT_TRUE(substrate.table.program(set.handle(), all.data(), process::kQuantities).ok());
  }
  Status configure(const EventSet& set, const Configuration& wanted) {
    return substrate.table.configure(set.handle(), &wanted);
  }
  std::vector<int64_t> read(const EventSet& set) {
    std::vector<int64_t> values(process::kQuantities);
    const Status status = substrate.table.read(set.handle(), values.data());
    EXPECT_TRUE(status.ok()) << note_of(status);
    return values;
  }
  FakeHost host{""};
  Substrate substrate{substrata_entry_process, host};
};

int64_t ns_of(const timeval& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + int64_t{time.tv_usec} * 1000;
}

TEST_F(Process, CountsItsOwnProcessorTimeAndFaults) {
  EventSet set(substrate);
  program(set);
  ASSERT_TRUE(set.start().ok());
  burn(0.02);
  touch_pages(200);
  const std::vector<int64_t> values = read(set);
  EXPECT_GE(values[process::kCpuTime], 19'000'000);
  EXPECT_GE(values[process::kMinorFaults], 200);
  EXPECT_GT(values[process::kResident], 0);
  EXPECT_GE(values[process::kPeak], values[process::kResident] / 2);
}

TEST_F(Process, AChildWithItsDescendantsIsAccountedAsTheKernelDoesAtItsEnd) {
  Worker worker;
  EventSet set(substrate);
  program(set);
  ASSERT_TRUE(configure(set, of(worker.pid())).ok());
  ASSERT_TRUE(set.start().ok());
  worker.work();
  const std::vector<int64_t> values = read(set);
  const rusage used = worker.wait_for();
  const int64_t all = ns_of(used.ru_utime) + ns_of(used.ru_stime);
  // What the child used before the set was started is no part of it.
  EXPECT_GE(values[process::kCpuTime], 55'000'000);
  EXPECT_LE(values[process::kCpuTime], all);
  EXPECT_LE(values[process::kUserTime], ns_of(used.ru_utime));
  EXPECT_GE(values[process::kMinorFaults], 1000);
  EXPECT_LE(values[process::kMinorFaults], used.ru_minflt);
  EXPECT_LE(values[process::kVoluntarySwitches], used.ru_nvcsw);
  EXPECT_EQ(values[process::kPeak], used.ru_maxrss * 1024);
  EXPECT_EQ(read(set), values) << "of a process that is gone the last values stand";
}

TEST_F(Process, LivingDescendantsCount) {
  Worker worker;
  EventSet set(substrate);
  program(set);
  ASSERT_TRUE(configure(set, of(getpid())).ok());
  ASSERT_TRUE(set.start().ok());
  EXPECT_GE(read(set)[process::kProcesses], 2);
  worker.work();
}

TEST_F(Process, WhatItCannotApartIsRefused) {
  EventSet set(substrate);
  program(set);
  Configuration user = configuration();
  user.domain = kDomainUser;
  EXPECT_THAT(note_of(configure(set, user)), HasSubstr("cpu:user"));
  Configuration processor = configuration();
  processor.target = Target::kCpu;
  EXPECT_EQ(configure(set, processor).code, Code::kComponent);
}

TEST_F(Process, AProcessThatIsNotThereIsRefusedAtTheStart) {
  Worker worker;
  const pid_t gone = worker.pid();
  worker.work();
  worker.wait_for();
  EventSet set(substrate);
  program(set);
  ASSERT_TRUE(configure(set, of(gone)).ok());
  EXPECT_EQ(set.start().os_error, ESRCH);
}

// A process with two threads and a child, in a recorded tree: 100 ticks a second.
TEST(ProcessTree, AddsUpThreadsAndChildren) {
  if (sysconf(_SC_CLK_TCK) != 100) GTEST_SKIP() << "the recorded numbers are in ticks of 10 ms";
  RecordedTree tree;
  const auto stat = [&](int pid, const std::string& name, const std::string& numbers) {
    tree.write("/proc/" + std::to_string(pid) + "/stat",
               std::to_string(pid) + " (" + name + ") S 1 1 1 0 -1 0 " + numbers + "\n");
  };
  //                           minflt cminflt majflt cmajflt utime stime cutime cstime pri nice threads ...
  stat(70, "a) S (b", "11 100 2 1 30 20 5 5 20 0 2 0 9 4096 10 0");
  stat(71, "child", "7 0 0 0 3 4 0 0 20 0 1 0 9 4096 5 0");
  const auto task = [&](int pid, int thread, int waited, int taken, const std::string& children) {
    const std::string folder = "/proc/" + std::to_string(pid) + "/task/" + std::to_string(thread) + "/";
    tree.write(folder + "status", "Name:\tx\nVmHWM:\t" + std::to_string(thread) +
                                      " kB\nvoluntary_ctxt_switches:\t" + std::to_string(waited) +
                                      "\nnonvoluntary_ctxt_switches:\t" + std::to_string(taken) + "\n");
    tree.write(folder + "children", children);
  };
  task(70, 70, 1, 2, "");
  task(70, 72, 10, 20, "71 ");
  task(71, 71, 100, 200, "");
  tree.write("/proc/70/io", "rchar: 5\nwchar: 6\nsyscr: 1\nread_bytes: 7\nwrite_bytes: 8\n");
  process::Usage all, own;
  EXPECT_EQ(process::Tree(tree.root(), 70, true).read(&all), 0);
  EXPECT_EQ(process::Tree(tree.root(), 70, false).read(&own), 0);
  constexpr int64_t kTick = 10'000'000;
  EXPECT_EQ(all.of[process::kCpuTime], (30 + 20 + 5 + 5 + 3 + 4) * kTick);
  EXPECT_EQ(all.of[process::kUserTime], (30 + 5 + 3) * kTick);
  EXPECT_EQ(own.of[process::kCpuTime], (30 + 20) * kTick);
  EXPECT_EQ(all.of[process::kMinorFaults], 11 + 100 + 7);
  EXPECT_EQ(own.of[process::kMajorFaults], 2);
  EXPECT_EQ(all.of[process::kVoluntarySwitches], 111);
  EXPECT_EQ(all.of[process::kInvoluntarySwitches], 222);
  EXPECT_EQ(all.of[process::kResident], 15 * sysconf(_SC_PAGESIZE));
  EXPECT_EQ(all.of[process::kPeak], 72 * 1024);
  EXPECT_EQ(all.of[process::kBytesIn], 5);
  EXPECT_EQ(all.of[process::kStorageWritten], 8);
  EXPECT_EQ(all.of[process::kProcesses], 2);
  EXPECT_EQ(all.of[process::kThreads], 3);
  EXPECT_EQ(process::Tree(tree.root(), 99, true).read(&all), ESRCH);
}

}  // namespace
