// What a pass through a region costs: system calls, memory, allocations.
#include <gtest/gtest.h>
#include <papi.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "cxx/allocations.hpp"
#include "support/kernel_events.hpp"
#include "support/system_calls.hpp"
#include "support/temporary_folder.hpp"

namespace {

using substrata::tests::mark;
using substrata::tests::SystemCalls;

bool pass(const char* region) {
  return PAPI_hl_region_begin(region) == PAPI_OK && PAPI_hl_region_end(region) == PAPI_OK;
}

class RegionCosts : public testing::Test {
 protected:
  RegionCosts() {
    setenv("PAPI_OUTPUT_DIRECTORY", folder_.path().c_str(), 1);
    setenv("PAPI_EVENTS", "example:::constant", 1);
  }
  ~RegionCosts() override {
    for (const char* name : {"PAPI_OUTPUT_DIRECTORY", "PAPI_EVENTS", "SUBSTRATA_HL_SUMMARY"}) unsetenv(name);
  }
  const substrata::tests::TemporaryFolder folder_;
};

#define SKIP_UNTRACED(seen) \
  if (!(seen).traced) GTEST_SKIP() << "a child cannot be traced here (ptrace)"

TEST_F(RegionCosts, ARegionOfAnEventInMemoryMakesNoSystemCall) {
  const SystemCalls seen = substrata::tests::system_calls_of([] {
    if (!pass("warm")) return false;
    mark();
    for (int i = 0; i < 10; ++i)
      if (!pass("r")) return false;
    mark();
    return true;
  });
  SKIP_UNTRACED(seen);
  EXPECT_TRUE(seen.good);
  EXPECT_TRUE(seen.calls.empty()) << seen.numbers();
}

TEST_F(RegionCosts, ARegionOfAKernelsEventReadsTwiceAndMakesNoOtherSystemCall) {
  SUBSTRATA_NEEDS_KERNEL_EVENTS();
  setenv("PAPI_EVENTS", "perf::PAGE-FAULTS", 1);
  const SystemCalls seen = substrata::tests::system_calls_of([] {
    if (!pass("warm")) return false;
    mark();
    for (int i = 0; i < 10; ++i)
      if (!pass("r")) return false;
    mark();
    return true;
  });
  SKIP_UNTRACED(seen);
  EXPECT_TRUE(seen.good);
  EXPECT_EQ(seen.count(SYS_read), 20) << seen.numbers();
  EXPECT_EQ(seen.calls.size(), 20u) << seen.numbers();
}

// PAPI answers PAPI_EISRUN, and so did ours, after opening and closing every event.
TEST_F(RegionCosts, ARegionBesideARunningEventsetIsRefusedWithoutASystemCall) {
  SUBSTRATA_NEEDS_KERNEL_EVENTS();
  setenv("PAPI_EVENTS", "perf::PAGE-FAULTS", 1);
  const SystemCalls seen = substrata::tests::system_calls_of([] {
    int set = PAPI_NULL;
    bool good = PAPI_library_init(PAPI_VER_CURRENT) == PAPI_VER_CURRENT &&
                PAPI_create_eventset(&set) == PAPI_OK &&
                PAPI_add_named_event(set, "perf::TASK-CLOCK") == PAPI_OK && PAPI_start(set) == PAPI_OK &&
                PAPI_hl_region_begin("r") == PAPI_EISRUN;
    mark();
    for (int i = 0; i < 10; ++i) good = good && PAPI_hl_region_begin("r") == PAPI_EISRUN;
    mark();
    return good;
  });
  SKIP_UNTRACED(seen);
  EXPECT_TRUE(seen.good);
  EXPECT_TRUE(seen.calls.empty()) << seen.numbers();
}

TEST_F(RegionCosts, ARegionAfterTheEventsetsStopMeasuresAndTheEventsetStartsAfterHlStop) {
  SUBSTRATA_NEEDS_KERNEL_EVENTS();
  setenv("PAPI_EVENTS", "perf::PAGE-FAULTS", 1);
  int set = PAPI_NULL;
  long long value = 0;
  ASSERT_EQ(PAPI_library_init(PAPI_VER_CURRENT), PAPI_VER_CURRENT);
  ASSERT_EQ(PAPI_create_eventset(&set), PAPI_OK);
  ASSERT_EQ(PAPI_add_named_event(set, "perf::TASK-CLOCK"), PAPI_OK);
  ASSERT_EQ(PAPI_start(set), PAPI_OK);
  EXPECT_EQ(PAPI_hl_region_begin("r"), PAPI_EISRUN);
  ASSERT_EQ(PAPI_stop(set, &value), PAPI_OK);
  EXPECT_GT(value, 0);
  EXPECT_TRUE(pass("r"));
  EXPECT_EQ(PAPI_start(set), PAPI_EISRUN);
  EXPECT_EQ(PAPI_hl_stop(), PAPI_OK);
  EXPECT_EQ(PAPI_start(set), PAPI_OK);
  PAPI_shutdown();
}

TEST_F(RegionCosts, APassTakes48BytesAndNoAllocationOfItsOwn) {
  if (allocations() < 0) GTEST_SKIP() << "the sanitizer counts no allocations";
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(pass("r"));
  constexpr long kPasses = 20'000;
  const long before = allocations(), bytes = allocated_bytes();
  for (long i = 0; i < kPasses; ++i) ASSERT_TRUE(pass("r"));
  EXPECT_LT(allocations() - before, kPasses / 100);
  EXPECT_LE(allocated_bytes() - bytes, 48 * kPasses);
  PAPI_shutdown();
}

TEST_F(RegionCosts, WithSumsOnlyMemoryIsConstantAndTheSummaryComplete) {
  if (allocations() < 0) GTEST_SKIP() << "the sanitizer counts no allocations";
  setenv("SUBSTRATA_HL_SUMMARY", "only", 1);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(pass("r"));
  const long bytes = allocated_bytes();
  for (int i = 0; i < 20'000; ++i) ASSERT_TRUE(pass("r"));
  EXPECT_EQ(allocated_bytes(), bytes);
  PAPI_shutdown();
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/papi_hl_output"));
  std::string text;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path() + "/papi_hl_summary")) {
    std::ifstream file(entry.path());
    text.append(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>{});
  }
  EXPECT_NE(text.find("\"passages\":\"20010\""), std::string::npos) << text;
}

}  // namespace
