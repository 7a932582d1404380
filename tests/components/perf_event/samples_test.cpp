// Overflows of armed events: where their samples come from, how many arrive, what is missing.
#include <gtest/gtest.h>

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <vector>

#include "driver.hpp"
#include "fake_machine.hpp"

namespace substrata::test {
namespace {

// What the kernel sends at an overflow, `times` in a row.
void overflow(const FakeKernel& fake, int times = 1) {
  const auto& [descriptor, event] = *fake.events.begin();
  siginfo_t info = {};
  info.si_code = SI_QUEUE;  // the kernel lets no process say POLL_IN
  info.si_fd = descriptor;
  for (int i = 0; i < times; ++i)
    ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), ::gettid(), event.signal, &info);
}

class FakeOverflows : public FakeMachine {
 protected:
  void SetUp() override {
    if (kThreadSanitizer) GTEST_SKIP() << "the thread sanitizer delays signals and merges them";
  }
  // The flags of an armed event that overflowed `times` as fast as signals come, where the kernel takes
  // 8000 a second, which makes 4 within the window suspect.
  uint32_t flags_after(int times) {
    give_a_pmu();
    tree.write("proc/sys/kernel/perf_event_max_sample_rate", "8000\n");
    Driver driver(host, fake.kernel(), fake_encoder());
    DrivenSet set(driver);
    EXPECT_TRUE(set.program({"INSTRUCTIONS_DONE"}).ok());
    std::atomic<int> delivered{0};
    const SampleSink sink{
        [](void* owner, const Sample*) noexcept { ++*static_cast<std::atomic<int>*>(owner); }, &delivered};
    EXPECT_TRUE(driver.table.arm(set.set, 0, 5000, 0, &sink).ok());
    EXPECT_TRUE(set.start().ok());
    // Blocked, and delivered all at once: as fast as it gets.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    overflow(fake, times);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    EXPECT_EQ(delivered, times);
    return set.details().at(0).flags;
  }
};

TEST_F(FakeOverflows, ThatComeFasterThanTheKernelTakesThemMarkTheValue) {
  EXPECT_NE(flags_after(4000) & kValueIncomplete, 0u);
}

TEST_F(FakeOverflows, ThatComeSlowlyLeaveTheValueAlone) { EXPECT_EQ(flags_after(3), 0u); }

// What the kernel wrote into its ring for an armed event, and the sink's view of it. Reserved: the sink allocates not.
class FakeSamples : public FakeMachine {
 protected:
  void SetUp() override {
    if (kThreadSanitizer) GTEST_SKIP() << "the thread sanitizer delays signals and merges them";
    give_a_pmu();
    fake.sample_rings = true;
    addresses.reserve(10'000);
  }
  // Makes a set of one armed event and starts it.
  void arm(uint32_t flags = 0) {
    driver_.emplace(host, fake.kernel(), fake_encoder());
    set_.emplace(*driver_);
    ASSERT_TRUE(set().program({"INSTRUCTIONS_DONE"}).ok());
    const SampleSink sink{[](void* owner, const Sample* sample) noexcept {
                            static_cast<std::vector<uint64_t>*>(owner)->push_back(sample->address);
                          },
                          &addresses};
    ASSERT_TRUE(driver_->table.arm(set().set, 0, 5000, flags, &sink).ok());
    ASSERT_TRUE(set().start().ok());
    event = &fake.events.begin()->second;
  }
  FakeKernel::Event* event = nullptr;
  DrivenSet& set() { return *set_; }
  void end() { set_.reset(); }
  std::vector<uint64_t> addresses;

 private:
  std::optional<Driver> driver_;
  std::optional<DrivenSet> set_;
};

TEST_F(FakeSamples, HaveTheKernelsAddressAndNotTheInterruptedOne) {
  arm();
  fake.put_sample(event, 0x1234);
  overflow(fake);
  EXPECT_EQ(addresses, std::vector<uint64_t>{0x1234});
}

TEST_F(FakeSamples, AllArriveWhereOneSignalComesForSeveral) {
  arm();
  for (const uint64_t address : {1, 2, 3}) fake.put_sample(event, address);
  overflow(fake, 2);
  EXPECT_EQ(addresses, (std::vector<uint64_t>{1, 2, 3}));
}

TEST_F(FakeSamples, ArriveInOrderAcrossTheEndOfTheRing) {
  arm(kSampleDataAddress);
  std::vector<uint64_t> expected;
  for (uint64_t i = 1; i <= 1000; ++i) {  // of 24 bytes: the ring's size is no multiple
    ASSERT_TRUE(fake.put_record(event, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, {7, i}));
    overflow(fake);
    expected.push_back(i);
  }
  EXPECT_EQ(addresses, expected);
}

TEST_F(FakeSamples, OfAGuestHaveNoAddressOfOurs) {
  arm();
  fake.put_record(event, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_GUEST_USER, {0x1234});
  overflow(fake);
  EXPECT_EQ(addresses, std::vector<uint64_t>{0});
}

TEST_F(FakeSamples, ThatAreLostMarkTheValueUntilTheNextStart) {
  arm();
  EXPECT_EQ(set().details().at(0).flags, 0u);
  fake.put_record(event, PERF_RECORD_LOST, 0, {1, 9});
  fake.put_sample(event, 1);
  overflow(fake);
  EXPECT_EQ(addresses.size(), 1u);
  EXPECT_NE(set().details().at(0).flags & kValueIncomplete, 0u);
  ASSERT_TRUE(set().stop().ok());
  ASSERT_TRUE(set().start().ok());
  EXPECT_EQ(set().details().at(0).flags, 0u);
}

TEST_F(FakeSamples, OfACounterThatWasHeldBackMarkTheValue) {
  arm();
  fake.put_record(event, PERF_RECORD_THROTTLE, 0, {1, 2, 3});
  overflow(fake);
  EXPECT_NE(set().details().at(0).flags & kValueIncomplete, 0u);
}

TEST_F(FakeSamples, ThatComeFastAreNotTakenForHeldBackWhereTheKernelWouldSay) {
  tree.write("proc/sys/kernel/perf_event_max_sample_rate", "8000\n");
  arm();
  for (uint64_t i = 0; i < 100; ++i) {
    fake.put_sample(event, i);
    overflow(fake);
  }
  EXPECT_EQ(addresses.size(), 100u);
  EXPECT_EQ(set().details().at(0).flags, 0u);
}

// The handler of an overflow may take the overflow away: the samples behind the one at hand are gone with their ring.
TEST_F(FakeSamples, EndWhereTheSinkDisarmsTheEvent) {
  Driver driver(host, fake.kernel(), fake_encoder());
  DrivenSet set(driver);
  ASSERT_TRUE(set.program({"INSTRUCTIONS_DONE"}).ok());
  struct Disarming {
    DrivenSet* set;
    int calls = 0;
  } disarming{&set};
  const SampleSink sink{[](void* owner, const Sample*) noexcept {
                          Disarming& self = *static_cast<Disarming*>(owner);
                          ++self.calls;
                          self.set->stop();
                          self.set->driver.table.disarm(self.set->set, 0);
                        },
                        &disarming};
  ASSERT_TRUE(driver.table.arm(set.set, 0, 5000, 0, &sink).ok());
  ASSERT_TRUE(set.start().ok());
  for (const uint64_t address : {1, 2, 3}) fake.put_sample(&fake.events.begin()->second, address);
  overflow(fake);
  EXPECT_EQ(disarming.calls, 1);
  EXPECT_EQ(fake.rings, 0);
}

TEST_F(FakeSamples, LeaveNoRingBehind) {
  arm();
  EXPECT_EQ(fake.rings, 1);
  end();
  EXPECT_EQ(fake.rings, 0);
}

TEST_F(FakeSamples, AreAskedForAsPreciselyAsTheNameSays) {
  Driver driver(host, fake.kernel(), fake_encoder());
  DrivenSet set(driver);
  ASSERT_TRUE(set.program({"perf::INSTRUCTIONS:precise=2"}).ok());
  const SampleSink sink{[](void*, const Sample*) noexcept {}, nullptr};
  ASSERT_TRUE(driver.table.arm(set.set, 0, 5000, 0, &sink).ok());
  EXPECT_EQ(fake.opened.back().precise_ip, 2u);
  EXPECT_EQ(fake.opened.back().sample_type, PERF_SAMPLE_IP);
  EXPECT_EQ(fake.rings, 1);
}

TEST_F(FakeSamples, OfDataAreRefusedForAnEventThatHasNone) {
  Driver driver(host, fake.kernel(), fake_encoder());
  DrivenSet set(driver);
  ASSERT_TRUE(set.program({"perf::TASK-CLOCK"}).ok());
  const SampleSink sink{[](void*, const Sample*) noexcept {}, nullptr};
  EXPECT_EQ(driver.table.arm(set.set, 0, 5000, kSampleDataAddress, &sink).code, Code::kNoSupport);
}

}  // namespace
}  // namespace substrata::test
