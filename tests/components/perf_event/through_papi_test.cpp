// What the kernel does to counters, as a program sees it through PAPI's interface: counters that are lost,
// refused or taken, and the way back.
#include <gtest/gtest.h>
#include <papi.h>

#include <cerrno>
#include <string>

#include "fake_kernel_fixture.hpp"
#include "support/temporary_folder.hpp"

namespace {

using substrata::test::CountersOfAFakeKernel;
using substrata::test::kCycles;
using substrata::test::kInstructions;

using LostCounters = CountersOfAFakeKernel;

TEST_F(LostCounters, LeaveTheSetStopped) {
  const int set = set_that_lost();
  EXPECT_EQ(state_of(set), PAPI_STOPPED);
  EXPECT_EQ(PAPI_stop(set, nullptr), PAPI_ENOTRUN);
}

TEST_F(LostCounters, AreReportedByEveryReadUntilTheSetCountsAgain) {
  const int set = set_that_lost();
  long long value = 77;
  EXPECT_EQ(PAPI_read(set, &value), PAPI_ECLOST);
  EXPECT_EQ(PAPI_accum(set, &value), PAPI_ECLOST);
  EXPECT_EQ(value, 77);
}

TEST_F(LostCounters, AreForgottenByAReset) {
  const int set = set_that_lost();
  ASSERT_EQ(PAPI_reset(set), PAPI_OK);
  long long value = 77;
  EXPECT_EQ(PAPI_read(set, &value), PAPI_OK);
  EXPECT_EQ(value, 0);
}

TEST_F(LostCounters, LetAnotherSetOfTheThreadStart) {
  const int lost = set_that_lost(), other = set_of(kCycles);
  EXPECT_EQ(PAPI_start(other), PAPI_OK);
  kernel().advance(3);
  long long value = 0;
  EXPECT_EQ(PAPI_stop(other, &value), PAPI_OK);
  EXPECT_EQ(value, 3);
  EXPECT_EQ(PAPI_cleanup_eventset(lost), PAPI_OK);
}

TEST_F(LostCounters, LetTheSetBeCleanedUpAndDestroyed) {
  int set = set_that_lost();
  EXPECT_EQ(PAPI_cleanup_eventset(set), PAPI_OK);
  EXPECT_EQ(PAPI_destroy_eventset(&set), PAPI_OK);
}

TEST_F(LostCounters, CountFromZeroWhenTheSetStartsAgain) {
  const int set = set_that_lost();
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  kernel().advance(5);
  long long value = 0;
  EXPECT_EQ(PAPI_stop(set, &value), PAPI_OK);
  EXPECT_EQ(value, 5);
}

TEST_F(LostCounters, RefuseTheStartWhileAnotherUserStillHoldsThem) {
  const int set = set_that_lost();
  kernel().lost = true;
  EXPECT_EQ(PAPI_start(set), PAPI_ECNFLCT);
  EXPECT_EQ(state_of(set), PAPI_STOPPED);
  kernel().lost = false;
  EXPECT_EQ(PAPI_start(set), PAPI_OK);
  EXPECT_EQ(PAPI_stop(set, nullptr), PAPI_OK);
}

TEST_F(LostCounters, AreReportedByAReadOfTheRunningSetAndItCountsOn) {
  const int set = set_of(kInstructions);
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  kernel().lost = true;
  long long value = 77;
  EXPECT_EQ(PAPI_read(set, &value), PAPI_ECLOST);
  EXPECT_EQ(value, 77);
  EXPECT_EQ(state_of(set), PAPI_RUNNING);
  kernel().lost = false;
  EXPECT_EQ(PAPI_stop(set, &value), PAPI_OK);
}

using RefusedCounters = CountersOfAFakeKernel;

TEST_F(RefusedCounters, OfAPmuThatAnotherUserHoldsCountOnceItIsFree) {
  kernel().refuse = [](const perf_event_attr& attr, pid_t, int, int) {
    return attr.type == PERF_TYPE_RAW ? EBUSY : 0;
  };
  int set = PAPI_NULL;
  ASSERT_EQ(PAPI_create_eventset(&set), PAPI_OK);
  EXPECT_EQ(PAPI_add_named_event(set, kInstructions), PAPI_ENOEVNT);
  kernel().refuse = nullptr;
  EXPECT_EQ(PAPI_add_named_event(set, kInstructions), PAPI_OK);
  EXPECT_EQ(PAPI_start(set), PAPI_OK);
  EXPECT_EQ(PAPI_stop(set, nullptr), PAPI_OK);
}

TEST_F(RefusedCounters, OfAPmuThatIsTakenAfterTheEventWasSeenAreAConflict) {
  int code = 0;
  ASSERT_EQ(PAPI_event_name_to_code(kInstructions, &code), PAPI_OK);
  ASSERT_EQ(PAPI_query_event(code), PAPI_OK);
  kernel().refuse = [](const perf_event_attr&, pid_t, int, int) { return EBUSY; };
  int set = PAPI_NULL;
  ASSERT_EQ(PAPI_create_eventset(&set), PAPI_OK);
  EXPECT_EQ(PAPI_add_event(set, code), PAPI_ECNFLCT);
}

// What the kernel decides for a user without rights: mainline refuses kernel mode from 2 on; Debian's and
// Android's refuse everything from 3 on.
TEST_F(RefusedCounters, OfPerfEventParanoidCountOnceItIsLoweredAndTheLibraryBroughtUpAnew) {
  for (const int paranoid : {0, 1, 2, 3, 4}) {
    PAPI_shutdown();
    tree_.write("proc/sys/kernel/perf_event_paranoid", std::to_string(paranoid) + "\n");
    kernel().refuse = [paranoid](const perf_event_attr& attr, pid_t, int, int) {
      return paranoid >= 3 || (paranoid == 2 && attr.exclude_kernel == 0) ? EACCES : 0;
    };
    ASSERT_EQ(PAPI_library_init(PAPI_VER_CURRENT), PAPI_VER_CURRENT);
    EXPECT_EQ(PAPI_query_named_event(kInstructions), paranoid >= 3 ? PAPI_ENOEVNT : PAPI_OK) << paranoid;
    PAPI_shutdown();
    kernel().refuse = nullptr;
    ASSERT_EQ(PAPI_library_init(PAPI_VER_CURRENT), PAPI_VER_CURRENT);
    const int set = set_of(kInstructions);
    EXPECT_EQ(PAPI_start(set), PAPI_OK) << paranoid;
    EXPECT_EQ(PAPI_stop(set, nullptr), PAPI_OK) << paranoid;
  }
}

TEST_F(RefusedCounters, OfAContainerWithoutTheSystemCallDoNotKeepTheTickCounterFromCounting) {
  for (const int error : {ENOSYS, EPERM}) {
    kernel().refuse = [error](const perf_event_attr&, pid_t, int, int) { return error; };
    int set = PAPI_NULL;
    ASSERT_EQ(PAPI_create_eventset(&set), PAPI_OK);
    EXPECT_EQ(PAPI_add_named_event(set, kInstructions), PAPI_ENOEVNT) << error;
    EXPECT_EQ(PAPI_add_named_event(set, "fake_perf:::tsc"), PAPI_OK) << error;
    EXPECT_EQ(PAPI_start(set), PAPI_OK) << error;
    EXPECT_EQ(PAPI_stop(set, nullptr), PAPI_OK) << error;
  }
}

TEST_F(RefusedCounters, AreNoneWhereThereIsNeitherSysNorProc) {
  const substrata::tests::TemporaryFolder bare;
  perf_->root = bare.path();
  const int set = set_of(kInstructions);
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  kernel().advance(5);
  long long value = 0;
  EXPECT_EQ(PAPI_stop(set, &value), PAPI_OK);
  EXPECT_EQ(value, 5);
}

}  // namespace
