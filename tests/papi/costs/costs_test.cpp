// The system calls, instructions and allocations of calls that programs make often.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <papi.h>
#include <sys/syscall.h>

#include <cstring>
#include <memory>
#include <string>

#include "cxx/allocations.hpp"
#include "support/instructions.hpp"
#include "support/kernel_events.hpp"
#include "support/program.hpp"
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

// libpfm4's tables took half of the time of loading ours, hwloc and Zstandard a fifth.
TEST(Loading, BringsNoLibraryThatMostProgramsNeverNeed) {
  Dl_info place{};
  ASSERT_NE(dladdr(reinterpret_cast<void*>(PAPI_library_init), &place), 0);
  const std::string loaded = substrata::tests::output_of("ldd " + std::string(place.dli_fname));
  ASSERT_NE(loaded.find("libsubstrata.so"), std::string::npos) << loaded;
  for (const char* library : {"libpfm", "libhwloc", "libzstd", "libudev"})
    EXPECT_EQ(loaded.find(library), std::string::npos) << loaded;
}

TEST_F(Costs, BringingTheLibraryUpOpensNoFile) {
  const SystemCalls seen = substrata::tests::system_calls_of([] {
    mark();
    const bool good = PAPI_library_init(PAPI_VER_CURRENT) == PAPI_VER_CURRENT;
    mark();
    return good;
  });
  SKIP_UNTRACED(seen);
  EXPECT_TRUE(seen.good);
  EXPECT_EQ(seen.count(SYS_openat), 0) << seen.numbers();
  EXPECT_LE(seen.calls.size(), 6u) << seen.numbers();
}

TEST_F(Costs, AddingAndRemovingAnEventOpensItOnceAndClosesItOnce) {
  const SystemCalls seen = of_ten(false, [](int set) {
    return PAPI_remove_named_event(set, "perf::TASK-CLOCK") == PAPI_OK &&
           PAPI_remove_named_event(set, "perf::PAGE-FAULTS") == PAPI_OK &&
           PAPI_add_named_event(set, "perf::PAGE-FAULTS") == PAPI_OK &&
           PAPI_add_named_event(set, "perf::TASK-CLOCK") == PAPI_OK;
  });
  SKIP_UNTRACED(seen);
  EXPECT_TRUE(seen.good);
  // A change opens the whole set anew: 1 without the clock, none, 1 again, 2.
  EXPECT_EQ(seen.count(SYS_perf_event_open), 40) << seen.numbers();
  EXPECT_EQ(seen.calls.size(), 80u) << seen.numbers();
}

// What the calls use: a set of one and of two of the kernel's events, one without events, a code.
struct Hot {
  int one = PAPI_NULL, two = PAPI_NULL, empty = PAPI_NULL, memory = PAPI_NULL, code = 0;
  long long values[2] = {};
  char name[PAPI_MAX_STR_LEN] = {};
  PAPI_event_info_t info;

  bool make() {
    return PAPI_library_init(PAPI_VER_CURRENT) == PAPI_VER_CURRENT && PAPI_create_eventset(&one) == PAPI_OK &&
           PAPI_create_eventset(&two) == PAPI_OK && PAPI_create_eventset(&empty) == PAPI_OK &&
           PAPI_create_eventset(&memory) == PAPI_OK &&
           PAPI_add_named_event(one, "perf::PAGE-FAULTS") == PAPI_OK &&
           PAPI_add_named_event(two, "perf::PAGE-FAULTS") == PAPI_OK &&
           PAPI_add_named_event(two, "perf::TASK-CLOCK") == PAPI_OK &&
           PAPI_add_named_event(memory, "example:::constant") == PAPI_OK &&
           PAPI_event_name_to_code("perf::TASK-CLOCK", &code) == PAPI_OK;
  }
};

// A call that programs make often. The limits are of an optimised library, a quarter above what GCC 12 needs, so that
// another compiler meets them too.
struct Call {
  const char* name;
  int Hot::*counting;  // the set that counts meanwhile, or null
  bool (*turn)(Hot&);
  long instructions;
  long allocations;
};

const Call kCalls[] = {
    {"ReadOfOneEvent", &Hot::one, [](Hot& h) { return PAPI_read(h.one, h.values) == PAPI_OK; }, 101, 0},
    {"ReadOfTwoEvents", &Hot::two, [](Hot& h) { return PAPI_read(h.two, h.values) == PAPI_OK; }, 145, 0},
    {"ReadInMemory", &Hot::memory, [](Hot& h) { return PAPI_read(h.memory, h.values) == PAPI_OK; }, 112, 0},
    {"Accum", &Hot::two, [](Hot& h) { return PAPI_accum(h.two, h.values) == PAPI_OK; }, 305, 0},
    {"Reset", &Hot::two, [](Hot& h) { return PAPI_reset(h.two) == PAPI_OK; }, 253, 0},
    {"StartAndStop", nullptr,
     [](Hot& h) { return PAPI_start(h.two) == PAPI_OK && PAPI_stop(h.two, h.values) == PAPI_OK; }, 770, 0},
    {"NameToCode", nullptr,
     [](Hot& h) { return PAPI_event_name_to_code("perf::TASK-CLOCK", &h.code) == PAPI_OK; }, 235, 0},
    {"CodeToName", nullptr, [](Hot& h) { return PAPI_event_code_to_name(h.code, h.name) == PAPI_OK; }, 290,
     0},
    {"EventInfo", nullptr, [](Hot& h) { return PAPI_get_event_info(h.code, &h.info) == PAPI_OK; }, 1370, 0},
    {"AddAndRemove", nullptr,
     [](Hot& h) {
       return PAPI_add_event(h.empty, h.code) == PAPI_OK && PAPI_remove_event(h.empty, h.code) == PAPI_OK;
     },
     5500, 2},
};

class CostOf : public testing::TestWithParam<Call> {
 protected:
  void SetUp() override { SUBSTRATA_NEEDS_KERNEL_EVENTS(); }
  // The set counts and the call has been made twice: what is looked up once is known.
  static bool warm(Hot& hot) {
    const Call& call = GetParam();
    return hot.make() && (call.counting == nullptr || PAPI_start(hot.*call.counting) == PAPI_OK) &&
           call.turn(hot) && call.turn(hot);
  }
};

INSTANTIATE_TEST_SUITE_P(Hot, CostOf, testing::ValuesIn(kCalls),
                         [](const auto& one) { return one.param.name; });

TEST_P(CostOf, OneMoreCallInInstructions) {
#if defined(__OPTIMIZE__) || defined(NDEBUG)
  if (allocations() < 0) GTEST_SKIP() << "the sanitizer's own instructions would be counted";
#else
  GTEST_SKIP() << "the library is not optimised";
#endif
  const auto turns = [](int number, bool (*turn)(Hot&)) {
    return substrata::tests::instructions_of([number, turn] {
      const auto hot = std::make_unique<Hot>();
      bool good = warm(*hot);
      substrata::tests::mark_instructions();
      for (int i = 0; i < number; ++i) good = turn(*hot) && good;
      substrata::tests::mark_instructions();
      return good;
    });
  };
  // Without the loop, which is the test's own.
  const auto nothing = [](Hot& hot) { return hot.code != PAPI_NULL; };
  const long few = turns(2, GetParam().turn), more = turns(6, GetParam().turn);
  const long loop = turns(6, nothing) - turns(2, nothing);
  if (few < 0 || more < 0) GTEST_SKIP() << "a child cannot be stepped here (ptrace)";
  const long each = (more - few - loop) / 4;
  RecordProperty("instructions", std::to_string(each));
  EXPECT_LE(each, GetParam().instructions);
}

TEST_P(CostOf, OneMoreCallInAllocations) {
  if (allocations() < 0) GTEST_SKIP() << "the sanitizer counts no allocations";
  const auto hot = std::make_unique<Hot>();
  ASSERT_TRUE(warm(*hot));
  const long before = allocations();
  ASSERT_TRUE(GetParam().turn(*hot));
  EXPECT_LE(allocations() - before, GetParam().allocations);
  PAPI_shutdown();
}

TEST_F(Costs, ADescriptionSetsEveryFieldOfWhatItIsGiven) {
  ASSERT_EQ(PAPI_library_init(PAPI_VER_CURRENT), PAPI_VER_CURRENT);
  int code = 0;
  ASSERT_EQ(PAPI_event_name_to_code("perf::PAGE-FAULTS", &code), PAPI_OK);
  const auto info = std::make_unique<PAPI_event_info_t>();
  std::memset(info.get(), 0x5a, sizeof *info);
  ASSERT_EQ(PAPI_get_event_info(code, info.get()), PAPI_OK);
  EXPECT_EQ(info->update_freq, 0);
  EXPECT_STREQ(info->postfix, "");
  EXPECT_STREQ(info->note, "");
  for (int i = 0; i < PAPI_MAX_INFO_TERMS; ++i) {
    EXPECT_EQ(info->code[i], 0u) << i;
    EXPECT_STREQ(info->name[i], "") << i;
  }
  for (int i = info->num_quals; i < PAPI_MAX_COMP_QUALS; ++i) EXPECT_STREQ(info->quals[i], "") << i;
  PAPI_shutdown();
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
