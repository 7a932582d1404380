// The substrate on the running kernel: software events, which need no PMU, against bare perf descriptors.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

#include "driver.hpp"

namespace substrata::test {
namespace {

constexpr size_t kPages = 1024;

// Touches fresh pages, one fault each where the kernel gives pages of the smallest size.
void touch_pages(size_t pages) {
  const size_t size = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  void* const area =
      ::mmap(nullptr, pages * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(area, MAP_FAILED);
  ::madvise(area, pages * size, MADV_NOHUGEPAGE);
  volatile char* const bytes = static_cast<volatile char*>(area);
  for (size_t i = 0; i < pages; ++i) bytes[i * size] = 1;
  ::munmap(area, pages * size);
}

// A bare descriptor that counts page faults beside the substrate.
class BareFaults {
 public:
  BareFaults() {
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_PAGE_FAULTS;
    attr.exclude_kernel = attr.exclude_hv = 1;
    descriptor_ = static_cast<int>(::syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
  }
  ~BareFaults() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  bool usable() const { return descriptor_ >= 0; }
  int64_t value() const {
    int64_t count = -1;
    return ::read(descriptor_, &count, sizeof count) == sizeof count ? count : -1;
  }

 private:
  int descriptor_ = -1;
};

class RealKernel : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!BareFaults().usable())
      GTEST_SKIP() << "perf_event_open refuses page faults here: " << std::strerror(errno);
  }
  TestHost host;
};

TEST_F(RealKernel, TouchedPagesAreCountedBetweenTwoBareReadings) {  // PA-24
  Driver driver(host);
  DrivenSet set(driver);
  ASSERT_TRUE(set.program({"perf::PAGE-FAULTS"}).ok());
  BareFaults bare;
  const int64_t outer_before = bare.value();
  ASSERT_TRUE(set.start().ok());
  const int64_t inner_before = bare.value();
  touch_pages(kPages);
  const int64_t inner = bare.value() - inner_before;
  ASSERT_TRUE(set.stop().ok());
  const int64_t outer = bare.value() - outer_before;
  const int64_t counted = set.read().at(0);
  EXPECT_GE(counted, static_cast<int64_t>(kPages));
  EXPECT_GE(counted, inner);
  EXPECT_LE(counted, outer);
}

TEST_F(RealKernel, GroupOfClockFaultsAndTicksIsReadTogether) {  // PA-22, PA-24
  Driver driver(host);
  DrivenSet set(driver);
  const bool ticks = driver.find("tsc") != UINT32_MAX;
  std::vector<const char*> names{"perf::TASK-CLOCK", "perf::PAGE-FAULTS"};
  if (ticks) names.push_back("tsc");
  ASSERT_TRUE(set.program(names).ok());
  ASSERT_TRUE(set.start().ok());
  touch_pages(kPages);
  const std::vector<int64_t> first = set.read();
  const std::vector<int64_t> second = set.read();
  ASSERT_TRUE(set.stop().ok());
  const std::vector<int64_t> last = set.read();
  ASSERT_EQ(first.size(), names.size());
  ASSERT_EQ(last.size(), names.size());
  EXPECT_GE(first[1], static_cast<int64_t>(kPages));
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_GT(first[i], 0) << names[i];
    EXPECT_LE(first[i], second[i]) << names[i];
    EXPECT_LE(second[i], last[i]) << names[i];
  }
  EXPECT_EQ(set.read(), last);  // stopped values do not change
}

TEST_F(RealKernel, EachStartBeginsAtZeroAndResetTakesAwayWhatWasCounted) {
  Driver driver(host);
  DrivenSet set(driver);
  ASSERT_TRUE(set.program({"perf::PAGE-FAULTS"}).ok());
  BareFaults bare;
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(set.start().ok());
    touch_pages(64);
    ASSERT_TRUE(set.reset().ok());
    const int64_t before = bare.value();
    touch_pages(16);
    const int64_t inner = bare.value() - before;
    const int64_t now = set.read().at(0);
    ASSERT_TRUE(set.stop().ok());
    EXPECT_GE(now, inner);
    EXPECT_LT(now, inner + 64) << "the pages before the reset still count";
  }
  ASSERT_TRUE(set.reset().ok());
  EXPECT_EQ(set.read().at(0), 0);
}

TEST_F(RealKernel, RunningSetRefusesChangeAndKeepsCounting) {
  Driver driver(host);
  DrivenSet set(driver);
  ASSERT_TRUE(set.program({"perf::PAGE-FAULTS"}).ok());
  EXPECT_EQ(set.stop().code, Code::kNotRunning);
  ASSERT_TRUE(set.start().ok());
  EXPECT_EQ(set.start().code, Code::kRunning);
  EXPECT_EQ(set.program({"perf::TASK-CLOCK"}).code, Code::kRunning);
  touch_pages(16);
  EXPECT_GE(set.read().at(0), 16);
  const int64_t values[1] = {7};
  EXPECT_EQ(driver.table.write(set.set, values).code, Code::kNoSupport);
  EXPECT_TRUE(set.stop().ok());
}

TEST_F(RealKernel, SoftwareEventsAttachMultiplexInheritAndBindToACpu) {  // PA-36
  Driver driver(host);
  {
    DrivenSet set(driver);
    ASSERT_TRUE(set.program({"perf::PAGE-FAULTS", "perf::TASK-CLOCK"}).ok());
    Configuration wanted;
    wanted.multiplex = 1;
    ASSERT_TRUE(set.configure(wanted).ok());
    ASSERT_TRUE(set.start().ok());
    touch_pages(kPages);
    ASSERT_TRUE(set.stop().ok());
    EXPECT_GE(set.read().at(0), static_cast<int64_t>(kPages));
    for (const ValueDetail& detail : set.details()) {
      EXPECT_GT(detail.enabled_ns, 0);
      EXPECT_EQ(detail.enabled_ns, detail.running_ns);
      EXPECT_EQ(detail.flags & kValueScaled, 0u);
    }
  }
  {
    DrivenSet set(driver);
    ASSERT_TRUE(set.program({"perf::PAGE-FAULTS", "perf::TASK-CLOCK"}).ok());
    Configuration wanted;
    wanted.inherit = 1;
    ASSERT_TRUE(set.configure(wanted).ok());
    ASSERT_TRUE(set.start().ok());
    std::thread([] { touch_pages(kPages); }).join();
    ASSERT_TRUE(set.stop().ok());
    EXPECT_GE(set.read().at(0), static_cast<int64_t>(kPages));
  }
  {
    DrivenSet set(driver);
    Configuration wanted;
    wanted.target = Target::kThreadOrProcess;
    wanted.target_id = ::getpid();
    ASSERT_TRUE(set.configure(wanted).ok());
    ASSERT_TRUE(set.program({"perf::PAGE-FAULTS"}).ok());
    ASSERT_TRUE(set.start().ok());
    touch_pages(16);
    ASSERT_TRUE(set.stop().ok());
    EXPECT_GE(set.read().at(0), 16);
  }
  {
    DrivenSet set(driver);
    ASSERT_TRUE(set.program({"perf::CPU-CLOCK"}).ok());
    Configuration wanted;
    wanted.target = Target::kCpu;
    wanted.target_id = 0;
    const Status status = set.configure(wanted);
    if (status.code == Code::kPermission)
      GTEST_SKIP() << "CPU-wide counting is not permitted: " << status.note;
    ASSERT_TRUE(status.ok()) << status.note;
    ASSERT_TRUE(set.start().ok());
    touch_pages(kPages);
    ASSERT_TRUE(set.stop().ok());
    EXPECT_GT(set.read().at(0), 0);
  }
}

TEST_F(RealKernel, AttachingToAProcessThatIsGoneIsRefusedAndTheSetUnchanged) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  Driver driver(host);
  for (const bool programmed : {false, true}) {
    DrivenSet set(driver);
    if (programmed) {
      ASSERT_TRUE(set.program({"perf::PAGE-FAULTS"}).ok());
    }
    Configuration wanted;
    wanted.target = Target::kThreadOrProcess;
    wanted.target_id = child;
    const Status status = set.configure(wanted);
    EXPECT_EQ(status.code, Code::kSystem);
    EXPECT_EQ(status.os_error, ESRCH);
    ASSERT_TRUE(set.program({"perf::PAGE-FAULTS"}).ok());
    ASSERT_TRUE(set.start().ok());
    touch_pages(16);
    ASSERT_TRUE(set.stop().ok());
    EXPECT_GE(set.read().at(0), 16);
  }
}

TEST_F(RealKernel, ForkedChildCountsItselfAndLeavesTheParentRunning) {
  Driver driver(host);
  DrivenSet set(driver);
  ASSERT_TRUE(set.program({"perf::PAGE-FAULTS"}).ok());
  ASSERT_TRUE(set.start().ok());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int failed = 0;
    if (!set.stop().ok()) failed |= 1;
    if (!set.start().ok()) failed |= 2;
    touch_pages(32);
    if (!set.stop().ok()) failed |= 4;
    const std::vector<int64_t> values = set.read();
    if (values.size() != 1 || values[0] < 32) failed |= 8;
    ::_exit(failed);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  const int64_t before = set.read().at(0);
  touch_pages(32);
  EXPECT_GE(set.read().at(0), before + 32) << "the child stopped its parent's counter";
  EXPECT_TRUE(set.stop().ok());
}

std::atomic<uint64_t> samples{0}, masks{0}, addresses{0};

TEST_F(RealKernel, EveryOverflowReachesTheSinkAndTheOldSignalActionsComeBack) {  // PA-22
  if (kThreadSanitizer) GTEST_SKIP() << "the thread sanitizer delays signals and merges them";
  std::vector<struct sigaction> before(static_cast<size_t>(SIGRTMAX) + 1);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) ::sigaction(signal, nullptr, &before[signal]);
  Driver driver(host);
  {
    DrivenSet set(driver);
    ASSERT_TRUE(set.program({"perf::TASK-CLOCK", "perf::PAGE-FAULTS"}).ok());
    samples = masks = addresses = 0;
    const SampleSink sink{[](void* owner, const Sample* sample) noexcept {
                            ++*static_cast<std::atomic<uint64_t>*>(owner);
                            masks |= sample->event_mask;
                            if (sample->address != 0) ++addresses;
                          },
                          &samples};
    EXPECT_EQ(driver.table.arm(set.set, 2, 10, 0, &sink).code, Code::kInvalid);
    EXPECT_EQ(driver.table.arm(set.set, 1, 0, 0, &sink).code, Code::kInvalid);
    EXPECT_EQ(driver.table.disarm(set.set, 1).code, Code::kInvalid);
    ASSERT_TRUE(driver.table.arm(set.set, 1, 100, 0, &sink).ok());
    ASSERT_TRUE(set.start().ok());
    touch_pages(kPages);
    ASSERT_TRUE(set.stop().ok());
    EXPECT_GE(samples.load(), kPages / 100);
    EXPECT_LE(samples.load(), static_cast<uint64_t>(set.read().at(1)) / 100);
    EXPECT_EQ(masks.load(), 2u);
    EXPECT_EQ(addresses.load(), samples.load());

    ASSERT_TRUE(driver.table.disarm(set.set, 1).ok());
    const uint64_t after = samples.load();
    ASSERT_TRUE(set.start().ok());
    touch_pages(kPages);
    ASSERT_TRUE(set.stop().ok());
    EXPECT_EQ(samples.load(), after);
  }
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) {
    struct sigaction now;
    ::sigaction(signal, nullptr, &now);
    EXPECT_EQ(now.sa_handler, before[signal].sa_handler) << "signal " << signal;
  }
}

TEST_F(RealKernel, DestroyedArmedSetPutsTheSignalActionBack) {
  Driver driver(host);
  std::vector<struct sigaction> before(static_cast<size_t>(SIGRTMAX) + 1);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) ::sigaction(signal, nullptr, &before[signal]);
  {
    DrivenSet set(driver);
    ASSERT_TRUE(set.program({"perf::PAGE-FAULTS"}).ok());
    const SampleSink sink{[](void*, const Sample*) noexcept {}, nullptr};
    ASSERT_TRUE(driver.table.arm(set.set, 0, 1, 0, &sink).ok());
    ASSERT_TRUE(set.start().ok());
    touch_pages(4);
  }
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) {
    struct sigaction now;
    ::sigaction(signal, nullptr, &now);
    EXPECT_EQ(now.sa_handler, before[signal].sa_handler) << "signal " << signal;
  }
}

TEST_F(RealKernel, ListedEventsThatClaimToBeAvailableStart) {  // PA-23, PA-37
  Driver driver(host);
  const uint32_t count = driver.table.event_count(driver.device);
  ASSERT_GT(count, 80u);
  uint32_t available = 0;
  for (uint32_t index = 0; index < count; ++index) {
    Event event;
    ASSERT_TRUE(driver.table.event_at(driver.device, index, &event).ok());
    ASSERT_NE(event.name, nullptr);
    ASSERT_NE(event.text, nullptr);
    ASSERT_NE(event.unit, nullptr);
    if (event.flags & kEventUnavailable) {
      ASSERT_NE(event.why, nullptr) << event.name;
      EXPECT_NE(*event.why, '\0') << event.name;
      const size_t prefix = std::string(event.name).find("::");
      if (std::string(event.name).find(':', prefix == std::string::npos ? 0 : prefix + 2) !=
          std::string::npos)
        continue;  // a qualified form follows its event
      DrivenSet set(driver);
      EXPECT_FALSE(set.program({event.name}).ok()) << event.name;
      continue;
    }
    ++available;
    DrivenSet set(driver);
    const Status programmed = set.program({event.name});
    if (programmed.code == Code::kAttribute) continue;  // available with one of its unit masks
    ASSERT_TRUE(programmed.ok()) << event.name << ": " << (programmed.note == nullptr ? "" : programmed.note);
    EXPECT_TRUE(set.start().ok()) << event.name;
    EXPECT_TRUE(set.stop().ok()) << event.name;
  }
  EXPECT_GT(available, 5u);
}

TEST_F(RealKernel, PresetsAreOnlyThoseThatCountHere) {  // PA-21, PA-23
  Driver driver(host);
  const bool counts = driver.available("perf::CYCLES");
  Recipe recipe;
  const Status status = driver.table.recipe(driver.device, "PAPI_TOT_CYC", &recipe);
  EXPECT_EQ(status.ok(), counts) << (status.note == nullptr ? "" : status.note);
  if (!counts) {
    EXPECT_EQ(status.code, Code::kNoEvent);
    ASSERT_NE(status.note, nullptr);
    EXPECT_NE(std::string(status.note).find("PMU"), std::string::npos) << status.note;
  }
}

TEST_F(RealKernel, NamesAreFoundAsPapiFindsThem) {  // PA-16
  Driver driver(host);
  const uint32_t clock = driver.find("perf::TASK-CLOCK");
  ASSERT_NE(clock, UINT32_MAX);
  EXPECT_STREQ(driver.at(clock).name, "perf::TASK-CLOCK");
  EXPECT_EQ(driver.find("perf::task-clock"), clock);
  EXPECT_EQ(driver.find("TASK-CLOCK"), clock);
  EXPECT_STREQ(driver.named("perf::TASK-CLOCK:u=1").name, "perf::TASK-CLOCK:u=1");
  EXPECT_EQ(driver.find("perf::TASK-CLOCK:u=1"), driver.find("TASK-CLOCK:u=1"));
  EXPECT_TRUE(driver.available("perf::TASK-CLOCK:cpu=0"));
  EXPECT_EQ(driver.find("no such name"), UINT32_MAX);
  EXPECT_EQ(driver.last.code, Code::kNoEvent);
  EXPECT_EQ(driver.find("perf::NOPE"), UINT32_MAX);
  EXPECT_EQ(driver.find("perf::TASK-CLOCK:u=7"), UINT32_MAX);
  EXPECT_EQ(driver.last.code, Code::kAttribute);
  EXPECT_EQ(driver.find("perf::TASK-CLOCK:zz"), UINT32_MAX);
  EXPECT_EQ(driver.find(""), UINT32_MAX);
}

}  // namespace
}  // namespace substrata::test
