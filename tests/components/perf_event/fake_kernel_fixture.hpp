// The fixture of tests that count with the plug-in fake_perf through PAPI's interface.
#pragma once

#include <gtest/gtest.h>
#include <papi.h>

#include "fake_perf.hpp"
#include "support/temporary_folder.hpp"

namespace substrata::test {

inline constexpr const char* kInstructions = "fake_perf:::INSTRUCTIONS_DONE";
inline constexpr const char* kCycles = "fake_perf:::CYCLES_DONE";

class CountersOfAFakeKernel : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override {
    PAPI_shutdown();
    ASSERT_NE(perf_, nullptr);
    EXPECT_TRUE(kernel().events.empty()) << "descriptors stay open";
  }
  FakeKernel& kernel() { return perf_->kernel; }
  int set_of(const char* name) {
    int set = PAPI_NULL;
    EXPECT_EQ(PAPI_create_eventset(&set), PAPI_OK);
    EXPECT_EQ(PAPI_add_named_event(set, name), PAPI_OK) << name;
    return set;
  }
  static int state_of(int set) {
    int state = 0;
    EXPECT_EQ(PAPI_state(set, &state), PAPI_OK);
    return state;
  }
  static long long stopped(int set) {
    long long value = -1;
    EXPECT_EQ(PAPI_stop(set, &value), PAPI_OK);
    return value;
  }
  // A set that was stopped while the kernel could not keep it on the processor's counters.
  int set_that_lost() {
    const int set = set_of(kInstructions);
    EXPECT_EQ(PAPI_start(set), PAPI_OK);
    kernel().advance(40);
    kernel().lost = true;
    long long value = 77;
    EXPECT_EQ(PAPI_stop(set, &value), PAPI_ECLOST);
    EXPECT_EQ(value, 77);
    kernel().lost = false;
    return set;
  }
  substrata::tests::TemporaryFolder tree_;
  FakePerf* perf_ = nullptr;
};

}  // namespace substrata::test
