// Values read from the mapped page of an event, without a system call, on a kernel that does what the test says.
#include <gtest/gtest.h>

#include <cerrno>
#include <thread>

#include "driver.hpp"
#include "fake_machine.hpp"

namespace substrata::test {
namespace {

// Of a machine whose kernel lets a counter be read in user space.
class UserSpaceReads : public FakeMachine {
 protected:
  void SetUp() override {
    give_a_pmu();
    fake.user_reads = true;
  }
};

TEST_F(UserSpaceReads, AreRightAtTheWrapAndAfterReset) {  // PA-22
  fake.width = 32;
  Driver driver(host, fake.kernel(), fake_encoder());
  DrivenSet set(driver);
  ASSERT_TRUE(set.program({"INSTRUCTIONS_DONE"}).ok());
  FakeKernel::Event& event = fake.of_type(PERF_TYPE_RAW);
  // The kernel arms a 32-bit counter at -2^31 and keeps offset = count - previous register value.
  event.page->offset = 0x80000000ll;
  fake.registers = 0x80000000ull;
  ASSERT_TRUE(set.start().ok());
  const int reads = fake.reads;
  EXPECT_EQ(set.read().at(0), 0);
  fake.registers = 0x80000000ull + 1000;
  EXPECT_EQ(set.read().at(0), 1000);
  fake.registers = 0xffffffffull;
  EXPECT_EQ(set.read().at(0), 0x7fffffff);
  fake.registers = 5;  // wrapped, and the interrupt has not come yet
  EXPECT_EQ(set.read().at(0), 0x80000005ll);
  event.page->offset = 0x100000000ll;  // it came: the counter was armed anew
  fake.registers = 0x80000000ull + 10;
  EXPECT_EQ(set.read().at(0), 0x8000000all);
  EXPECT_EQ(fake.reads, reads) << "a system call was made";

  event.value = 0x8000000a;  // what read(2) gives at this moment
  ASSERT_TRUE(set.reset().ok());
  EXPECT_EQ(set.read().at(0), 0);
  fake.registers += 7;
  EXPECT_EQ(set.read().at(0), 7);
}

TEST_F(UserSpaceReads, LeaveTwoSystemCallsToStartAndStopAndNoneToReset) {
  Driver driver(host, fake.kernel(), fake_encoder());
  DrivenSet set(driver);
  ASSERT_TRUE(set.program({"INSTRUCTIONS_DONE"}).ok());
  const int reads = fake.reads, controls = fake.controls;
  ASSERT_TRUE(set.start().ok());
  fake.registers = 50;
  ASSERT_TRUE(set.stop().ok());
  EXPECT_EQ(set.read(), std::vector<int64_t>{50});
  fake.registers = 70;  // what stopping and starting cost
  ASSERT_TRUE(set.start().ok());
  fake.registers = 100;
  EXPECT_EQ(set.read(), std::vector<int64_t>{30});
  ASSERT_TRUE(set.reset().ok());
  fake.registers = 107;
  EXPECT_EQ(set.read(), std::vector<int64_t>{7});
  int64_t taken = 0;
  ASSERT_TRUE(driver.table.take(set.set, &taken).ok());
  EXPECT_EQ(taken, 7);
  fake.registers = 110;
  ASSERT_TRUE(set.stop().ok());
  EXPECT_EQ(set.read(), std::vector<int64_t>{3});
  EXPECT_EQ(fake.reads, reads);
  EXPECT_EQ(fake.controls, controls + 4);
}

TEST_F(FakeMachine, ASetThatWasStoppedByItsPagesStartsRightInAnotherThread) {
  give_a_pmu();
  fake.user_reads = true;
  Driver driver(host, fake.kernel(), fake_encoder());
  DrivenSet set(driver);
  ASSERT_TRUE(set.program({"INSTRUCTIONS_DONE"}).ok());
  ASSERT_TRUE(set.start().ok());
  fake.registers = 50;
  ASSERT_TRUE(set.stop().ok());
  FakeKernel::Event& event = fake.of_type(PERF_TYPE_RAW);
  event.value = 70;
  std::thread([&] {
    EXPECT_TRUE(set.start().ok());
    event.value = 75;
    EXPECT_EQ(set.read(), std::vector<int64_t>{5});
    EXPECT_TRUE(set.stop().ok());
  }).join();
  EXPECT_EQ(set.read(), std::vector<int64_t>{5});
}

TEST_F(UserSpaceReads, GiveWayWhereTheyWouldBeWrong) {  // PA-22
  Driver driver(host, fake.kernel(), fake_encoder());
  DrivenSet set(driver);
  ASSERT_TRUE(set.program({"INSTRUCTIONS_DONE", "CYCLES_DONE"}).ok());
  ASSERT_TRUE(set.start().ok());
  set.read();
  EXPECT_EQ(fake.counter_reads, 2);
  std::thread([&] { set.read(); }).join();  // another thread's processor holds other counts
  EXPECT_EQ(fake.counter_reads, 2);
  for (auto& [descriptor, event] : fake.events) event.page->index = 0;  // not on the processor now
  set.read();
  EXPECT_EQ(fake.counter_reads, 2);
  ASSERT_TRUE(set.stop().ok());

  for (const int which : {0, 1, 2, 3}) {
    Configuration wanted;
    if (which == 0) wanted.inherit = 1;
    if (which == 1) wanted.multiplex = 1;
    if (which == 2) wanted.target = Target::kCpu;
    if (which == 3) wanted.granularity = kGranularitySystemCpu;
    ASSERT_TRUE(set.configure(wanted).ok());
    ASSERT_TRUE(set.start().ok());
    set.read();
    EXPECT_EQ(fake.counter_reads, 2) << which;
    ASSERT_TRUE(set.stop().ok());
  }
}

// Intel's top-down events: the register holds packed fractions.
TEST_F(UserSpaceReads, GiveWayForMetricsWhoseRegisterIsNoCounter) {
  Driver driver(host, fake.kernel(), fake_encoder());
  DrivenSet set(driver);
  ASSERT_TRUE(set.program({"INSTRUCTIONS_DONE"}).ok());
  fake.of_type(PERF_TYPE_RAW).page->index = (1u << 29) + 1;
  ASSERT_TRUE(set.start().ok());
  fake.advance(5);
  EXPECT_EQ(set.read(), (std::vector<int64_t>{5}));
  EXPECT_EQ(fake.counter_reads, 0);
  EXPECT_TRUE(set.stop().ok());
}

TEST_F(UserSpaceReads, AreOffOnRequestAndBesideSoftwareEvents) {
  {
    Driver driver(host, fake.kernel(), fake_encoder());
    DrivenSet set(driver);
    ASSERT_TRUE(set.program({"INSTRUCTIONS_DONE", "perf::TASK-CLOCK"}).ok());
    ASSERT_TRUE(set.start().ok());
    set.read();
    EXPECT_EQ(fake.counter_reads, 0);
  }
  host.settings["SUBSTRATA_USER_READS"] = "0";
  Driver driver(host, fake.kernel(), fake_encoder());
  DrivenSet set(driver);
  ASSERT_TRUE(set.program({"INSTRUCTIONS_DONE"}).ok());
  ASSERT_TRUE(set.start().ok());
  set.read();
  EXPECT_EQ(fake.counter_reads, 0);
}

TEST_F(FakeMachine, Arm64IsAskedForUserReadsAndWithoutThemWhereItRefuses) {  // PA-22
  tree.write("proc/sys/kernel/perf_user_access", "1\n");
  tree.write("sys/bus/event_source/devices/armv8_pmuv3/type", "8\n");
  tree.write("sys/bus/event_source/devices/armv8_pmuv3/cpus", "0-3\n");
  tree.write("sys/bus/event_source/devices/armv8_pmuv3/format/event", "config:0-15\n");
  tree.write("sys/bus/event_source/devices/armv8_pmuv3/format/rdpmc", "config1:1\n");
  tree.write("sys/bus/event_source/devices/armv8_pmuv3/events/inst_retired", "event=0x08\n");
  Driver driver(host, fake.kernel(), fake_encoder(false));
  DrivenSet set(driver);
  ASSERT_TRUE(set.program({"inst_retired"}).ok()) << text_of(driver.last);
  EXPECT_EQ(fake.opened.back().type, 8u);
  EXPECT_EQ(fake.opened.back().config, 8u);
  EXPECT_EQ(fake.opened.back().config1, 2u);
  fake.refuse = [](const perf_event_attr& attr, pid_t, int, int) {
    return attr.config1 != 0 ? EOPNOTSUPP : 0;
  };
  ASSERT_TRUE(set.program({"perf::INSTRUCTIONS"}).ok());
  EXPECT_EQ(fake.opened.back().config1, 0u);
  fake.refuse = nullptr;
  Configuration wanted;
  wanted.target = Target::kCpu;
  ASSERT_TRUE(set.configure(wanted).ok());
  EXPECT_EQ(fake.opened.back().config1, 0u) << "the kernel refuses the bit system-wide";
}

}  // namespace
}  // namespace substrata::test
