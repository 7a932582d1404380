// The system calls and allocations of calls that programs make often.
#include <gtest/gtest.h>
#include <papi.h>
#include <sys/syscall.h>

#include <memory>
#include <string>

#include "cxx/allocations.hpp"
#include "support/instructions.hpp"
#include "support/kernel_events.hpp"
#include "support/system_calls.hpp"

namespace {

using substrata::tests::mark;
using substrata::tests::SystemCalls;

class Costs : public testing::Test {
 protected:
  void SetUp() override { SUBSTRATA_NEEDS_KERNEL_EVENTS(); }
  // The system calls of ten turns of `turn` on a running, or else stopped, set of two of the kernel's events.
  template <class Turn>
  static SystemCalls of_ten(bool running, Turn turn) {
    return substrata::tests::system_calls_of([&] {
      int set = PAPI_NULL;
      if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT || PAPI_create_eventset(&set) != PAPI_OK ||
          PAPI_add_named_event(set, "perf::PAGE-FAULTS") != PAPI_OK ||
          PAPI_add_named_event(set, "perf::TASK-CLOCK") != PAPI_OK)
        return false;
      bool good = PAPI_start(set) == PAPI_OK && (running || PAPI_stop(set, nullptr) == PAPI_OK);
      good = good && turn(set);
      mark();
      for (int i = 0; i < 10; ++i) good = good && turn(set);
      mark();
      return good;
    });
  }
};

#define SKIP_UNTRACED(seen) \
  if (!(seen).traced) GTEST_SKIP() << "a child cannot be traced here (ptrace)"

TEST_F(Costs, AccumReadsOnce) {
  const SystemCalls seen = of_ten(true, [](int set) {
    long long values[2] = {};
    return PAPI_accum(set, values) == PAPI_OK;
  });
  SKIP_UNTRACED(seen);
  EXPECT_TRUE(seen.good);
  EXPECT_EQ(seen.count(SYS_read), 10) << seen.numbers();
  EXPECT_EQ(seen.calls.size(), 10u) << seen.numbers();
}

TEST_F(Costs, ResetOfARunningSetReadsOnceAndOfAStoppedOneMakesNoSystemCall) {
  const SystemCalls running = of_ten(true, [](int set) { return PAPI_reset(set) == PAPI_OK; });
  SKIP_UNTRACED(running);
  EXPECT_TRUE(running.good);
  EXPECT_EQ(running.calls.size(), 10u) << running.numbers();
  const SystemCalls stopped = of_ten(false, [](int set) { return PAPI_reset(set) == PAPI_OK; });
  EXPECT_TRUE(stopped.good);
  EXPECT_TRUE(stopped.calls.empty()) << stopped.numbers();
}

// What was counted in between is thrown away by the start's read.
TEST_F(Costs, StartAndStopOfTheKernelsOwnCountsMakeTwoSystemCalls) {
  const SystemCalls seen = of_ten(false, [](int set) {
    long long values[2] = {};
    return PAPI_start(set) == PAPI_OK && PAPI_stop(set, values) == PAPI_OK;
  });
  SKIP_UNTRACED(seen);
  EXPECT_TRUE(seen.good);
  EXPECT_EQ(seen.calls.size(), 20u) << seen.numbers();
}

// What ten more turns of a call cost, in instructions of the process. The limit is that of an optimised library, far from
// exact, so that another compiler meets it too: a lock and a lookup by hash, no search.
TEST_F(Costs, NamesThatWereAskedForBeforeAreAnsweredInFewInstructions) {
#if defined(__OPTIMIZE__) || defined(NDEBUG)
  if (allocations() < 0) GTEST_SKIP() << "the sanitizer's own instructions would be counted";
#else
  GTEST_SKIP() << "the library is not optimised";
#endif
  const auto turns = [](int number) {
    return substrata::tests::instructions_of([number] {
      int code = 0;
      bool good = PAPI_library_init(PAPI_VER_CURRENT) == PAPI_VER_CURRENT;
      for (int i = 0; i < 2; ++i)
        good = good && PAPI_event_name_to_code("perf::PAGE-FAULTS", &code) == PAPI_OK;
      substrata::tests::mark_instructions();
      for (int i = 0; i < number; ++i) PAPI_event_name_to_code("perf::PAGE-FAULTS", &code);
      substrata::tests::mark_instructions();
      return good;
    });
  };
  const long few = turns(10), more = turns(20);
  if (few < 0 || more < 0) GTEST_SKIP() << "a child cannot be stepped here (ptrace)";
  EXPECT_LT((more - few) / 10, 450);
}

TEST_F(Costs, NamesCodesAndDescriptionsThatWereAskedForBeforeAllocateNothing) {
  if (allocations() < 0) GTEST_SKIP() << "the sanitizer counts no allocations";
  ASSERT_EQ(PAPI_library_init(PAPI_VER_CURRENT), PAPI_VER_CURRENT);
  const std::string event = "perf::PAGE-FAULTS";
  const auto info = std::make_unique<PAPI_event_info_t>();
  int code = 0;
  char name[PAPI_MAX_STR_LEN] = {};
  const auto ask = [&] {
    return PAPI_event_name_to_code(event.c_str(), &code) == PAPI_OK &&
           PAPI_event_code_to_name(code, name) == PAPI_OK && PAPI_get_event_info(code, info.get()) == PAPI_OK;
  };
  ASSERT_TRUE(ask());
  const long before = allocations();
  ASSERT_TRUE(ask());
  EXPECT_EQ(allocations(), before);
  EXPECT_EQ(name, event);
  EXPECT_EQ(info->symbol, event);
  PAPI_shutdown();
}

}  // namespace
