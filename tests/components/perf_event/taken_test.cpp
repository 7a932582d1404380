// Counters that the kernel takes away, refuses or cannot read while a program counts with PAPI's interface: an error
// and never a number, and right values afterwards.
#include <gtest/gtest.h>
#include <papi.h>
#include <substrata/extensions.h>

#include <cerrno>
#include <cstdint>
#include <string>

#include "fake_kernel_fixture.hpp"

namespace {

using substrata::test::CountersOfAFakeKernel;
using substrata::test::FakeKernel;
using substrata::test::kCycles;
using substrata::test::kInstructions;

constexpr long long kMark = -987654321;

using TakenCounters = CountersOfAFakeKernel;

TEST_F(TakenCounters, WhoseReadFailsAreAnErrorThatLeavesTheValueAndTheSetCounting) {
  const int set = set_of(kInstructions);
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  for (const int error : {EIO, ENODEV, ENXIO, EBADF, ENOSPC}) {
    kernel().advance(10);
    kernel().read_error = error;
    long long value = kMark;
    EXPECT_EQ(PAPI_read(set, &value), PAPI_ESYS) << error;
    EXPECT_EQ(PAPI_accum(set, &value), PAPI_ESYS) << error;
    EXPECT_EQ(PAPI_reset(set), PAPI_ESYS) << error;
    EXPECT_EQ(value, kMark) << error;
    EXPECT_EQ(state_of(set), PAPI_RUNNING) << error;
    kernel().read_error = 0;
  }
  EXPECT_EQ(stopped(set), 50);
}

TEST_F(TakenCounters, WhoseReadFailsInAGroupKeepEveryMembersValue) {
  const int set = set_of(kInstructions);
  ASSERT_EQ(PAPI_add_named_event(set, kCycles), PAPI_OK);
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  kernel().advance(7);
  kernel().read_error = EIO;
  long long values[2] = {kMark, kMark};
  EXPECT_EQ(PAPI_read(set, values), PAPI_ESYS);
  EXPECT_EQ(values[0], kMark);
  EXPECT_EQ(values[1], kMark);
  kernel().read_error = 0;
  EXPECT_EQ(PAPI_stop(set, values), PAPI_OK);
  EXPECT_EQ(values[0], 7);
  EXPECT_EQ(values[1], 7);
}

TEST_F(TakenCounters, WhoseReadFailsAtTheStopCountAnewAtTheNextStart) {
  const int set = set_of(kInstructions);
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  kernel().advance(10);
  kernel().read_error = EIO;
  long long value = kMark;
  EXPECT_EQ(PAPI_stop(set, &value), PAPI_ESYS);
  EXPECT_EQ(value, kMark);
  EXPECT_EQ(state_of(set), PAPI_STOPPED);
  kernel().read_error = 0;
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  kernel().advance(3);
  EXPECT_EQ(stopped(set), 3);
}

TEST_F(TakenCounters, ThatTheKernelDoesNotEnableLeaveTheSetStopped) {
  const int set = set_of(kInstructions);
  for (const int error : {EBUSY, EINVAL, ENODEV}) {
    kernel().control_error = error;
    EXPECT_LT(PAPI_start(set), 0) << error;
    EXPECT_EQ(state_of(set), PAPI_STOPPED) << error;
    kernel().control_error = 0;
    ASSERT_EQ(PAPI_start(set), PAPI_OK) << error;
    kernel().advance(6);
    EXPECT_EQ(stopped(set), 6) << error;
  }
}

TEST_F(TakenCounters, ThatTheKernelDoesNotEnableBecauseAnotherHoldsThemAreAConflict) {
  const int set = set_of(kInstructions);
  kernel().control_error = EBUSY;
  EXPECT_EQ(PAPI_start(set), PAPI_ECNFLCT);
}

// Counters that all processes share, as those of a memory controller, are not pinned: nothing but the times shows
// that another user had them.
class SharedCounters : public CountersOfAFakeKernel {
 protected:
  void SetUp() override {
    CountersOfAFakeKernel::SetUp();
    perf_->kind = substrata::perf::PmuKind::kUncore;
  }
  // A started set whose counters another user holds.
  int kept_from_counting() {
    const int set = set_of(kInstructions);
    EXPECT_EQ(PAPI_start(set), PAPI_OK);
    kernel().advance(0, 1'000'000, 0);
    return set;
  }
};

TEST_F(SharedCounters, ThatNeverRanAreLostAndNotZero) {
  const int set = kept_from_counting();
  long long value = kMark;
  EXPECT_EQ(PAPI_read(set, &value), PAPI_ECLOST);
  EXPECT_EQ(value, kMark);
}

TEST_F(SharedCounters, ThatNeverRanCountOnceTheyAreFree) {
  const int set = kept_from_counting();
  long long value = kMark;
  ASSERT_EQ(PAPI_stop(set, &value), PAPI_ECLOST);
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  kernel().advance(8);
  EXPECT_EQ(stopped(set), 8);
}

TEST_F(SharedCounters, ThatDidNotRunYetReadZeroWhereNoTimeHasPassed) {
  const int set = set_of(kInstructions);
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  EXPECT_EQ(stopped(set), 0);
}

int bind_to_processor(int set, unsigned number) {
  PAPI_option_t option{};
  option.cpu.eventset = set;
  option.cpu.cpu_num = number;
  return PAPI_set_opt(PAPI_CPU_ATTACH, &option);
}

class OfflineProcessors : public CountersOfAFakeKernel, public testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    CountersOfAFakeKernel::SetUp();
    kernel().refuse = [](const perf_event_attr&, pid_t, int cpu, int) { return cpu == 1 ? GetParam() : 0; };
  }
};

TEST_P(OfflineProcessors, RefuseToBeCountedAndTheReasonNamesTheProcessor) {
  int set = PAPI_NULL;
  ASSERT_EQ(PAPI_create_eventset(&set), PAPI_OK);
  ASSERT_EQ(PAPI_assign_eventset_component(set, PAPI_get_component_index("fake_perf")), PAPI_OK);
  EXPECT_EQ(bind_to_processor(set, 1), PAPI_ESYS);
  EXPECT_NE(std::string(substrata_last_error()).find("offline"), std::string::npos) << substrata_last_error();
}

TEST_P(OfflineProcessors, CountOnceTheyAreBack) {
  int set = PAPI_NULL;
  ASSERT_EQ(PAPI_create_eventset(&set), PAPI_OK);
  ASSERT_EQ(PAPI_assign_eventset_component(set, PAPI_get_component_index("fake_perf")), PAPI_OK);
  ASSERT_LT(bind_to_processor(set, 1), 0);
  kernel().refuse = nullptr;
  ASSERT_EQ(bind_to_processor(set, 1), PAPI_OK);
  ASSERT_EQ(PAPI_add_named_event(set, kInstructions), PAPI_OK);
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  kernel().advance(5);
  EXPECT_EQ(stopped(set), 5);
}

TEST_P(OfflineProcessors, ThatGoBetweenTwoRunsLeaveTheSetAsItWas) {
  kernel().refuse = nullptr;
  int set = PAPI_NULL;
  ASSERT_EQ(PAPI_create_eventset(&set), PAPI_OK);
  ASSERT_EQ(PAPI_assign_eventset_component(set, PAPI_get_component_index("fake_perf")), PAPI_OK);
  ASSERT_EQ(bind_to_processor(set, 1), PAPI_OK);
  ASSERT_EQ(PAPI_add_named_event(set, kInstructions), PAPI_OK);
  kernel().refuse = [](const perf_event_attr&, pid_t, int cpu, int) { return cpu == 1 ? GetParam() : 0; };
  EXPECT_LT(PAPI_add_named_event(set, kCycles), 0);
  EXPECT_EQ(PAPI_num_events(set), 1);
}

INSTANTIATE_TEST_SUITE_P(Errors, OfflineProcessors, testing::Values(ENODEV, ENXIO),
                         [](const auto& each) { return each.param == ENODEV ? "NoDevice" : "NoAddress"; });

using CountersAtTheirWrap = CountersOfAFakeKernel;

TEST_F(CountersAtTheirWrap, OfTheKernelsSixtyFourBitsCountOn) {
  const int set = set_of(kInstructions);
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  for (auto& [descriptor, event] : kernel().events) event.value = UINT64_MAX - 4;
  ASSERT_EQ(PAPI_reset(set), PAPI_OK);
  kernel().advance(10);
  EXPECT_EQ(stopped(set), 10);
}

TEST_F(CountersAtTheirWrap, OfTheRegistersWidthCountOn) {
  for (const uint32_t width : {32u, 40u, 48u, 64u}) {
    PAPI_shutdown();
    kernel().user_reads = true;
    kernel().width = width;
    const uint64_t most = width == 64 ? UINT64_MAX : (uint64_t{1} << width) - 1;
    kernel().registers = most - 4;
    ASSERT_EQ(PAPI_library_init(PAPI_VER_CURRENT), PAPI_VER_CURRENT);
    const int set = set_of(kInstructions);
    ASSERT_EQ(PAPI_start(set), PAPI_OK);
    // The kernel's offset: what it adds to the register, as a number of its width with a sign.
    for (auto& [descriptor, event] : kernel().events) event.page->offset = 5;
    long long value = kMark;
    ASSERT_EQ(PAPI_read(set, &value), PAPI_OK);
    EXPECT_EQ(value, 0) << width;
    kernel().registers = 3;  // eight events on, across the wrap
    ASSERT_EQ(PAPI_read(set, &value), PAPI_OK);
    EXPECT_EQ(value, 8) << width;
    ASSERT_EQ(PAPI_stop(set, nullptr), PAPI_OK);
    PAPI_cleanup_eventset(set);
    kernel().user_reads = false;
    kernel().width = 48;
  }
}

}  // namespace
