// The substrate on a kernel that does what the test says: refusals, groups, rotation, hybrids.
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>

#include "driver.hpp"
#include "fake_machine.hpp"

namespace substrata::test {
namespace {

TEST_F(FakeMachine, WithoutAPmuTheReasonSaysSoAndTheEventIsRefused) {  // PA-23
  fake.refuse = [](const perf_event_attr& attr, pid_t, int, int) {
    return attr.type == PERF_TYPE_SOFTWARE ? 0 : ENOENT;
  };
  Driver driver(host, fake.kernel(), fake_encoder());
  EXPECT_TRUE(driver.available("perf::PAGE-FAULTS"));
  const Event cycles = driver.named("perf::CYCLES");
  EXPECT_NE(cycles.flags & kEventUnavailable, 0u);
  EXPECT_NE(std::string(cycles.why).find("no hardware PMU"), std::string::npos) << cycles.why;
  DrivenSet set(driver);
  const Status status = set.program({"perf::CYCLES"});
  EXPECT_EQ(status.code, Code::kNoEvent);
  EXPECT_NE(text_of(status).find("perf::CYCLES"), std::string::npos) << text_of(status);
  EXPECT_TRUE(fake.events.empty()) << "a refused set keeps a descriptor";
}

TEST_F(FakeMachine, RefusalsNameTheirReasonAndCure) {  // PA-23
  give_a_pmu();
  tree.write("proc/sys/kernel/perf_event_paranoid", "3\n");
  struct Case {
    int os_error;
    const char* said;
    Code code;
  };
  for (const Case& one : {Case{EACCES, "perf_event_paranoid=3", Code::kPermission},
                          Case{EBUSY, "another user holds", Code::kConflict},
                          Case{ENOENT, "this processor's PMU does not count it", Code::kNoEvent},
                          Case{ENOSYS, "CONFIG_PERF_EVENTS", Code::kNoSupport},
                          Case{EOPNOTSUPP, "combination", Code::kNoEvent}}) {
    fake.refuse = [&one](const perf_event_attr&, pid_t, int, int) { return one.os_error; };
    Driver driver(host, fake.kernel(), fake_encoder());
    const Event event = driver.named("perf::CYCLES");
    ASSERT_NE(event.why, nullptr) << one.os_error;
    EXPECT_NE(std::string(event.why).find(one.said), std::string::npos) << event.why;
    DrivenSet set(driver);
    const Status status = set.program({"perf::CYCLES"});
    EXPECT_EQ(status.code, one.code) << one.os_error;
    EXPECT_EQ(status.os_error, one.os_error);
  }
}

TEST_F(FakeMachine, SeccompIsDistinguishedFromPermission) {  // PA-23
  tree.write("proc/self/status", "Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n");
  tree.write("proc/sys/kernel/perf_event_paranoid", "2\n");
  fake.refuse = [](const perf_event_attr&, pid_t, int, int) { return EPERM; };
  Driver driver(host, fake.kernel(), fake_encoder());
  EXPECT_NE(std::string(driver.named("perf::TASK-CLOCK").why).find("seccomp"), std::string::npos);
}

TEST_F(FakeMachine, AvailabilityIsAskedOfTheKernelOnce) {
  give_a_pmu();
  Driver driver(host, fake.kernel(), fake_encoder());
  const uint32_t index = driver.find("INSTRUCTIONS_DONE");
  EXPECT_EQ(fake.opens, 0) << "finding a name opens nothing";
  EXPECT_EQ(driver.at(index).flags & kEventUnavailable, 0u);
  EXPECT_EQ(fake.opens, 1);
  driver.at(index);
  EXPECT_EQ(fake.opens, 1);
  EXPECT_TRUE(fake.events.empty());
}

TEST_F(FakeMachine, RunningOutOfDescriptorsIsNotRemembered) {
  fake.refuse = [](const perf_event_attr&, pid_t, int, int) { return EMFILE; };
  Driver driver(host, fake.kernel(), fake_encoder());
  EXPECT_FALSE(driver.available("perf::TASK-CLOCK"));
  fake.refuse = nullptr;
  EXPECT_TRUE(driver.available("perf::TASK-CLOCK"));
}

TEST_F(FakeMachine, OneEventIsReadWithoutTheGroupFormatAndSeveralByOneCall) {  // PA-22
  give_a_pmu();
  Driver driver(host, fake.kernel(), fake_encoder());
  DrivenSet one(driver);
  ASSERT_TRUE(one.program({"INSTRUCTIONS_DONE"}).ok());
  EXPECT_EQ(fake.opened.back().read_format & PERF_FORMAT_GROUP, 0u);
  DrivenSet three(driver);
  ASSERT_TRUE(three.program({"perf::PAGE-FAULTS", "INSTRUCTIONS_DONE", "CYCLES_DONE"}).ok());
  for (DrivenSet* set : {&one, &three}) {
    fake.reads = fake.controls = 0;
    ASSERT_TRUE(set->start().ok());
    EXPECT_EQ(fake.controls, 1);
    EXPECT_EQ(fake.reads, 0);
    fake.advance(5);
    EXPECT_EQ(set->read(), std::vector<int64_t>(set->count, 5));
    EXPECT_EQ(fake.reads, 1);
    ASSERT_TRUE(set->stop().ok());
    EXPECT_EQ(fake.controls, 2);
    EXPECT_EQ(fake.reads, 2);
  }
}

TEST_F(FakeMachine, ValuesStandInTheOrderOfTheEventsWhateverTheOrderOfTheGroup) {
  give_a_pmu();
  Driver driver(host, fake.kernel(), fake_encoder());
  DrivenSet set(driver);
  ASSERT_TRUE(set.program({"perf::PAGE-FAULTS", "INSTRUCTIONS_DONE", "tsc", "perf::TASK-CLOCK"}).ok());
  fake.tick = 1000;
  ASSERT_TRUE(set.start().ok());
  for (auto& [descriptor, event] : fake.events)
    event.value = event.attr.type == PERF_TYPE_RAW                 ? 11
                  : event.attr.config == PERF_COUNT_SW_PAGE_FAULTS ? 22
                                                                   : 33;
  fake.tick = 1044;
  EXPECT_EQ(set.read(), (std::vector<int64_t>{22, 11, 44, 33}));
  fake.tick = 1055;
  ASSERT_TRUE(set.stop().ok());
  fake.tick = 2000;
  EXPECT_EQ(set.read(), (std::vector<int64_t>{22, 11, 55, 33}));
}

TEST_F(FakeMachine, TooBigAGroupIsAConflictAndLeavesTheSetAsItWas) {  // PA-22
  give_a_pmu();
  fake.hardware_counters = 2;
  Driver driver(host, fake.kernel(), fake_encoder());
  DrivenSet set(driver);
  ASSERT_TRUE(set.program({"INSTRUCTIONS_DONE", "CYCLES_DONE"}).ok());
  const Status status = set.program({"INSTRUCTIONS_DONE", "CYCLES_DONE", "MASKED:ONE"});
  EXPECT_EQ(status.code, Code::kConflict);
  EXPECT_NE(text_of(status).find("multiplex"), std::string::npos) << text_of(status);
  EXPECT_EQ(fake.events.size(), 2u);
  ASSERT_TRUE(set.start().ok());
  fake.advance(3);
  EXPECT_EQ(set.read(), (std::vector<int64_t>{3, 3}));

  Configuration wanted;
  wanted.multiplex = 1;
  ASSERT_TRUE(set.stop().ok());
  ASSERT_TRUE(set.configure(wanted).ok());
  EXPECT_TRUE(set.program({"INSTRUCTIONS_DONE", "CYCLES_DONE", "MASKED:ONE"}).ok());
}

// The kernel of arm64 opens such a group: it looks at the members without the leader.
TEST_F(FakeMachine, AGroupThatOpensButFindsNoCountersIsAConflictAndLeavesTheSetAsItWas) {  // PA-22
  give_a_pmu();
  Driver driver(host, fake.kernel(), fake_encoder());
  DrivenSet set(driver);
  ASSERT_TRUE(set.program({"INSTRUCTIONS_DONE"}).ok());
  fake.lost = true;
  EXPECT_EQ(set.program({"INSTRUCTIONS_DONE", "CYCLES_DONE"}).code, Code::kConflict);
  fake.lost = false;
  EXPECT_EQ(fake.events.size(), 1u);
  ASSERT_TRUE(set.start().ok());
  fake.advance(3);
  EXPECT_EQ(set.read(), (std::vector<int64_t>{3}));
}

// Of a machine with a counter unit.
class MultiplexedSet : public FakeMachine {
 protected:
  void SetUp() override {
    give_a_pmu();
    driver_.emplace(host, fake.kernel(), fake_encoder());
    set_.emplace(*driver_);
    Configuration wanted;
    wanted.multiplex = 1;
    ASSERT_TRUE(set_->configure(wanted).ok());
  }
  DrivenSet& set() { return *set_; }

 private:
  std::optional<Driver> driver_;
  std::optional<DrivenSet> set_;
};

TEST_F(MultiplexedSet, ExtrapolatesItsValuesAndSaysSo) {  // PA-22, PA-32
  ASSERT_TRUE(set().program({"INSTRUCTIONS_DONE", "CYCLES_DONE"}).ok());
  for (int round = 0; round < 2; ++round) {  // the second start must not see the first one's times
    ASSERT_TRUE(set().start().ok());
    fake.advance(1000, 400, 100);
    EXPECT_EQ(set().read(), (std::vector<int64_t>{4000, 4000}));
    const std::vector<ValueDetail> details = set().details();
    ASSERT_EQ(details.size(), 2u);
    EXPECT_EQ(details[1].value, 4000);
    EXPECT_EQ(details[1].enabled_ns, 400);
    EXPECT_EQ(details[1].running_ns, 100);
    EXPECT_NE(details[1].flags & kValueScaled, 0u);
    ASSERT_TRUE(set().reset().ok());
    fake.advance(7, 100, 100);
    EXPECT_EQ(set().read(), (std::vector<int64_t>{7, 7}));
    EXPECT_EQ(set().details().at(0).flags & kValueScaled, 0u);
    fake.advance(0, 100, 0);
    ASSERT_TRUE(set().stop().ok());
    EXPECT_EQ(set().read(), (std::vector<int64_t>{14, 14}));
  }
  EXPECT_EQ(perf::scaled(uint64_t{1} << 62, 2, 1), INT64_MIN) << "2^63 as PAPI's 64 bits";
  EXPECT_EQ(perf::scaled(uint64_t{1} << 50, uint64_t{3} << 40, uint64_t{1} << 40), int64_t{3} << 50);
  EXPECT_EQ(perf::scaled(5, 10, 0), 0);
}

TEST(ScaledValue, BeyondSixtyFourBitsStaysAtTheirMost) {
  const uint64_t ten_hours = uint64_t{36'000} * 1'000'000'000;
  EXPECT_EQ(static_cast<uint64_t>(perf::scaled(uint64_t{1} << 62, ten_hours, 1)), UINT64_MAX);
}

TEST_F(FakeMachine, LostCountersAreAnErrorAndNeverANumber) {
  give_a_pmu();
  Driver driver(host, fake.kernel(), fake_encoder());
  DrivenSet set(driver);
  ASSERT_TRUE(set.program({"INSTRUCTIONS_DONE"}).ok());
  EXPECT_EQ(fake.opened.back().pinned, 1u) << "without pinning the kernel would rotate in silence";
  ASSERT_TRUE(set.start().ok());
  fake.lost = true;
  int64_t value = 77;
  EXPECT_EQ(driver.table.read(set.set, &value).code, Code::kCountersLost);
  EXPECT_EQ(value, 77);
  EXPECT_EQ(driver.table.reset(set.set).code, Code::kCountersLost);
  EXPECT_EQ(set.stop().code, Code::kCountersLost);
}

TEST_F(FakeMachine, HybridProcessorCountsOnEveryCoreTypeAndOnEach) {  // PA-20
  const std::string devices = "sys/bus/event_source/devices/";
  for (const auto& [name, type, cpus] :
       {std::tuple{"cpu_core", "4\n", "0-1\n"}, std::tuple{"cpu_atom", "10\n", "2-3\n"}}) {
    tree.write(devices + name + "/type", type);
    tree.write(devices + name + "/cpus", cpus);
    tree.write(devices + name + "/format/event", "config:0-7\n");
    tree.write(devices + name + "/events/instructions", "event=0xc0\n");
  }
  Driver driver(host, fake.kernel(), fake_encoder(false));
  DrivenSet set(driver);
  ASSERT_TRUE(set.program({"perf::INSTRUCTIONS", "cpu_atom/instructions/", "perf::CACHE-MISSES"}).ok())
      << text_of(driver.last);
  ASSERT_EQ(fake.events.size(), 5u);
  EXPECT_EQ(fake.of_type(4).attr.config, 0xc0u);
  ASSERT_TRUE(set.start().ok());
  for (auto& [descriptor, event] : fake.events)
    event.value = event.attr.type == 4           ? 100
                  : event.attr.type == 10        ? 20
                  : event.attr.config >> 32 == 4 ? 3
                                                 : 4;
  EXPECT_EQ(set.read(), (std::vector<int64_t>{120, 20, 7}));
  ASSERT_TRUE(set.stop().ok());

  fake.refuse = [](const perf_event_attr& attr, pid_t, int, int) { return attr.type == 10 ? ENOENT : 0; };
  EXPECT_TRUE(set.program({"perf::INSTRUCTIONS"}).ok()) << "one core type suffices";
  fake.refuse = [](const perf_event_attr&, pid_t, int, int) { return ENOENT; };
  EXPECT_EQ(set.program({"perf::INSTRUCTIONS"}).code, Code::kNoEvent);
}

TEST_F(FakeMachine, DomainBecomesExclusionsUnlessTheNameSaysOtherwise) {  // PA-22
  Driver driver(host, fake.kernel(), fake_encoder());
  DrivenSet set(driver);
  ASSERT_TRUE(set.program({"perf::PAGE-FAULTS"}).ok());
  EXPECT_EQ(fake.opened.back().exclude_user, 0u);
  EXPECT_EQ(fake.opened.back().exclude_kernel, 1u);
  Configuration wanted;
  wanted.domain = kDomainKernel | kDomainSupervisor;
  ASSERT_TRUE(set.configure(wanted).ok());
  EXPECT_EQ(fake.opened.back().exclude_user, 1u);
  EXPECT_EQ(fake.opened.back().exclude_kernel, 0u);
  EXPECT_EQ(fake.opened.back().exclude_hv, 0u);
  ASSERT_TRUE(set.program({"perf::PAGE-FAULTS:u"}).ok());
  EXPECT_EQ(fake.opened.back().exclude_user, 0u);
  EXPECT_EQ(fake.opened.back().exclude_kernel, 1u);
  wanted.domain = 0;
  EXPECT_EQ(set.configure(wanted).code, Code::kInvalidDomain);
  wanted.domain = 0x40;
  EXPECT_EQ(set.configure(wanted).code, Code::kInvalidDomain);
}

TEST_F(FakeMachine, EventsOfTheKernelAreNotCountedInUserModeOnlyWhichWouldAlwaysBeZero) {
  tree.write("proc/sys/kernel/perf_event_paranoid", "2\n");
  Driver driver(host, fake.kernel(), fake_encoder());
  DrivenSet set(driver);
  ASSERT_TRUE(set.program({"perf::CONTEXT-SWITCHES"}).ok());
  EXPECT_EQ(fake.opened.back().exclude_kernel, 0u);
  fake.refuse = [](const perf_event_attr& attr, pid_t, int, int) { return attr.exclude_kernel ? 0 : EACCES; };
  Driver other(host, fake.kernel(), fake_encoder());
  EXPECT_FALSE(other.available("perf::CONTEXT-SWITCHES"));
  EXPECT_TRUE(other.available("perf::PAGE-FAULTS"));
  const Status status = set.program({"perf::CS"});
  EXPECT_EQ(status.code, Code::kPermission);
  EXPECT_NE(text_of(status).find("always give 0"), std::string::npos) << text_of(status);
}

TEST_F(FakeMachine, TargetsGranularityAndInheritReachTheKernel) {  // PA-22
  tree.write("sys/devices/system/cpu/online", "0-2\n");
  Driver driver(host, fake.kernel(), fake_encoder());
  DrivenSet set(driver);
  ASSERT_TRUE(set.program({"perf::TASK-CLOCK", "perf::PAGE-FAULTS"}).ok());
  Configuration wanted;
  wanted.target = Target::kThreadOrProcess;
  wanted.target_id = 4711;
  wanted.inherit = 1;
  ASSERT_TRUE(set.configure(wanted).ok());
  for (const auto& [descriptor, event] : fake.events) {
    EXPECT_EQ(event.pid, 4711);
    EXPECT_EQ(event.cpu, -1);
    EXPECT_EQ(event.attr.inherit, 1u);
    EXPECT_EQ(event.attr.read_format & PERF_FORMAT_GROUP, 0u) << "inherited counters have no group read";
  }
  ASSERT_TRUE(set.start().ok());
  fake.advance(2);
  EXPECT_EQ(set.read(), (std::vector<int64_t>{2, 2}));
  ASSERT_TRUE(set.stop().ok());

  wanted = Configuration{};
  wanted.target = Target::kCpu;
  wanted.target_id = 1;
  ASSERT_TRUE(set.configure(wanted).ok());
  for (const auto& [descriptor, event] : fake.events) {
    EXPECT_EQ(event.pid, -1);
    EXPECT_EQ(event.cpu, 1);
  }
  wanted = Configuration{};
  wanted.granularity = kGranularitySystem;
  ASSERT_TRUE(set.configure(wanted).ok());
  EXPECT_EQ(fake.events.size(), 6u) << "two events on each of three processors";
  ASSERT_TRUE(set.start().ok());
  fake.advance(10);
  EXPECT_EQ(set.read(), (std::vector<int64_t>{30, 30}));
  ASSERT_TRUE(set.stop().ok());
  wanted.granularity = kGranularityProcessGroup;
  EXPECT_EQ(set.configure(wanted).code, Code::kInvalid);
}

TEST_F(FakeMachine, BaseEventThatNeedsAMaskIsListedAndSaysWhichOne) {  // PA-16
  give_a_pmu();
  Driver driver(host, fake.kernel(), fake_encoder());
  EXPECT_TRUE(driver.available("MASKED"));
  DrivenSet set(driver);
  const Status status = set.program({"MASKED"});
  EXPECT_EQ(status.code, Code::kAttribute);
  EXPECT_NE(text_of(status).find("MASKED:ONE"), std::string::npos) << text_of(status);
  EXPECT_TRUE(set.program({"MASKED:TWO"}).ok());
  EXPECT_EQ(fake.opened.back().config, 0x2a2u);
  EXPECT_EQ(driver.find("fake::INSTRUCTIONS_DONE"), driver.find("INSTRUCTIONS_DONE"));
}

TEST_F(FakeMachine, RawCodesTracepointsAndSysfsTermsAreEncoded) {  // PA-20
  give_a_pmu();
  tree.write(std::string(kCore) + "events/branches", "event=0xc4\n");
  tree.write("sys/kernel/tracing/events/sched/sched_switch/id", "312\n");
  Driver driver(host, fake.kernel(), fake_encoder());
  struct Case {
    const char* name;
    const char* listed;
    uint32_t type;
    uint64_t config;
  };
  for (const Case& one :
       {Case{"r01c2", "perf_raw::r01c2", PERF_TYPE_RAW, 0x1c2},
        Case{"perf_raw::r01c2", "perf_raw::r01c2", PERF_TYPE_RAW, 0x1c2},
        Case{"cpu/event=0x3c,umask=0x1/", "cpu/event=0x3c,umask=0x1/", 4, 0x13c},
        Case{"cpu/branches/", "cpu/branches/", 4, 0xc4}, Case{"cpu::branches", "cpu/branches/", 4, 0xc4},
        Case{"sched:sched_switch", "perf::sched:sched_switch", PERF_TYPE_TRACEPOINT, 312},
        Case{"perf::sched:sched_switch", "perf::sched:sched_switch", PERF_TYPE_TRACEPOINT, 312},
        Case{"perf::PERF_COUNT_HW_CACHE_L1D:WRITE:MISS", "perf::PERF_COUNT_HW_CACHE_L1D:WRITE:MISS",
             PERF_TYPE_HW_CACHE, 0x10100}}) {
    DrivenSet set(driver);
    ASSERT_TRUE(set.program({one.name}).ok()) << one.name << ": " << text_of(driver.last);
    EXPECT_STREQ(driver.named(one.name).name, one.listed);
    EXPECT_EQ(fake.opened.back().type, one.type) << one.name;
    EXPECT_EQ(fake.opened.back().config, one.config) << one.name;
  }
  for (const char* bad :
       {"r", "rxyz", "r11112222333344445", "cpu/event=0x100/", "cpu/nothing/", "gpu/event=1/", "cpu//",
        "sched:nothing", "perf::sched:../../id", "sched:sched_switch:q"})
    EXPECT_EQ(driver.find(bad), UINT32_MAX) << bad;
}

TEST_F(FakeMachine, HardwareCountersAreCountedByOpeningThem) {  // PA-37
  {
    Driver driver(host, fake.kernel(), fake_encoder());
    EXPECT_EQ(driver.table.hardware_counters(driver.device), 0u);
  }
  give_a_pmu();
  fake.hardware_counters = 6;
  Driver driver(host, fake.kernel(), fake_encoder());
  EXPECT_EQ(driver.table.hardware_counters(driver.device), 6u);
  EXPECT_TRUE(fake.events.empty());
}

TEST_F(FakeMachine, TheKernelIsNoDomainWhereItMayNotBeCounted) {  // PA-37
  Driver driver(host, fake.kernel(), fake_encoder());
  EXPECT_EQ(driver.table.countable_domains(driver.device), driver.table.domains);
  fake.refuse = [](const perf_event_attr& attr, pid_t, int, int) {
    return attr.exclude_kernel != 0 ? 0 : EACCES;
  };
  EXPECT_EQ(driver.table.countable_domains(driver.device), driver.table.domains & ~kDomainKernel);
  fake.refuse = [](const perf_event_attr&, pid_t, int, int) { return EMFILE; };  // says nothing of permission
  EXPECT_EQ(driver.table.countable_domains(driver.device), driver.table.domains);
  EXPECT_TRUE(fake.events.empty());
}

TEST_F(FakeMachine, FastReadsAreTriedOnAMappedPage) {  // PA-37
  const auto ask = [&] {
    Driver driver(host, fake.kernel(), fake_encoder());
    return driver.table.fast_reads(driver.device);
  };
  fake.user_reads = true;
  EXPECT_FALSE(ask()) << "no PMU";
  give_a_pmu();
  EXPECT_TRUE(ask());
  fake.user_reads = false;
  EXPECT_FALSE(ask()) << "the kernel forbids it";
  EXPECT_TRUE(fake.events.empty());
}

TEST_F(MultiplexedSet, ReadsItsSoftwareEventsByOneCall) {  // PA-22, PA-38
  ASSERT_TRUE(set().program({"perf::TASK-CLOCK", "INSTRUCTIONS_DONE", "perf::PAGE-FAULTS"}).ok());
  fake.reads = fake.controls = 0;
  ASSERT_TRUE(set().start().ok());
  EXPECT_EQ(fake.controls, 2);
  fake.advance(5);
  EXPECT_EQ(set().read(), (std::vector<int64_t>{5, 5, 5}));
  EXPECT_EQ(fake.reads, 2) << "one for the hardware event, one for both software events";
}

TEST_F(FakeMachine, AListingOpensAnEventOnceWhateverItsMasks) {
  give_a_pmu();
  fake.refuse = [](const perf_event_attr& attr, pid_t, int, int) {
    return attr.type == PERF_TYPE_RAW ? 0 : ENOENT;
  };
  Driver driver(host, fake.kernel(), fake_encoder());
  const uint32_t count = driver.table.event_count(driver.device);
  for (uint32_t index = 0; index < count; ++index) driver.at(index);
  const auto opened_masks = std::count_if(fake.opened.begin(), fake.opened.end(), [](const auto& attr) {
    return attr.type == PERF_TYPE_RAW && (attr.config & 0xff) == 0xa2;
  });
  EXPECT_EQ(opened_masks, 1);
  EXPECT_TRUE(driver.available("MASKED:ONE"));
  EXPECT_TRUE(driver.available("MASKED:TWO"));
}

TEST_F(FakeMachine, OverflowIsArmedWithItsPeriodAndStaysWithItsEvent) {  // PA-22
  give_a_pmu();
  Driver driver(host, fake.kernel(), fake_encoder());
  DrivenSet set(driver);
  ASSERT_TRUE(set.program({"INSTRUCTIONS_DONE", "CYCLES_DONE"}).ok());
  const SampleSink sink{[](void*, const Sample*) noexcept {}, nullptr};
  ASSERT_TRUE(driver.table.arm(set.set, 1, 5000, 0, &sink).ok());
  ASSERT_TRUE(set.program({"CYCLES_DONE"}).ok());
  EXPECT_EQ(fake.opened.back().config, 0x3cu);
  EXPECT_EQ(fake.opened.back().sample_period, 5000u);
  EXPECT_NE(fake.of_type(PERF_TYPE_RAW).signal, 0);
  ASSERT_TRUE(driver.table.disarm(set.set, 0).ok());
  EXPECT_EQ(fake.opened.back().sample_period, 0u);
  EXPECT_EQ(fake.events.size(), 1u);
  ASSERT_TRUE(set.program({"tsc"}).ok());
  EXPECT_EQ(driver.table.arm(set.set, 0, 5000, 0, &sink).code, Code::kComponent);
}

}  // namespace
}  // namespace substrata::test
