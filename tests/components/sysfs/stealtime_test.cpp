// stealtime over recorded /proc/stat.
#include <unistd.h>

#include <string>

#include "support/recorded_trees/recorded_tree.hpp"

namespace {

using namespace substrata;
using namespace substrata::testing;

// Processor 1 is offline.
std::string stat(int total, int first, int third) {
  return "cpu  100 0 50 9000 10 0 5 " + std::to_string(total) + " 0 0\ncpu0 60 0 25 4500 5 0 3 " +
         std::to_string(first) + " 0 0\ncpu2 40 0 25 4500 5 0 2 " + std::to_string(third) +
         " 0 0\nintr 12345 0 9\nctxt 777\n";
}

class StealTime : public SubstrateOnTree<substrata_entry_stealtime> {
 protected:
  const int64_t tick_us_ = 1'000'000 / ::sysconf(_SC_CLK_TCK);
};

TEST_F(StealTime, CountsMicrosecondsSinceTheStartOfEachProcessorUnderItsOwnNumber) {
  tree.write("/proc/stat", stat(30, 10, 20));
  open();
  EXPECT_THAT(substrate.names(), ElementsAre("TOTAL", "CPU1", "CPU3"));
  EXPECT_STREQ(substrate.event("CPU3").unit, "us");
  RunningSet set(substrate, {"CPU3", "TOTAL", "CPU1"});
  EXPECT_THAT(set.read(), ElementsAre(0, 0, 0));
  tree.write("/proc/stat", stat(37, 12, 25));
  EXPECT_THAT(set.read(), ElementsAre(5 * tick_us_, 7 * tick_us_, 2 * tick_us_));
  ASSERT_TRUE(set.reset().ok());
  tree.write("/proc/stat", stat(38, 13, 25));
  EXPECT_THAT(set.read(), ElementsAre(0, tick_us_, tick_us_));
}

TEST_F(StealTime, ProcessorThatGoesOfflineFailsTheRead) {
  tree.write("/proc/stat", stat(30, 10, 20));
  open();
  RunningSet set(substrate, {"CPU1", "CPU3"});
  tree.write("/proc/stat", "cpu  1 1 1 1 1 1 1 30 0 0\ncpu0 1 1 1 1 1 1 1 10 0 0\nctxt 777\n");
  const Status status = set.refused_read();
  EXPECT_THAT(note_of(status), HasSubstr("CPU3"));
}

TEST_F(StealTime, MachineWithoutProcIsUnavailableWithTheCure) {
  EXPECT_EQ(substrate.detect().code, Code::kNoSupport);
  EXPECT_THAT(note_of(substrate.detect()), HasSubstr("mount /proc"));
}

TEST(StealTimeOfThisMachine, EveryProcessorOfTheKernelOpens) {
  FakeHost host("");
  Substrate substrate(substrata_entry_stealtime, host);
  if (!substrate.detect().ok()) GTEST_SKIP() << note_of(substrate.detect());
  ASSERT_TRUE(substrate.open().ok());
  RunningSet set(substrate, substrate.names());
  for (const int64_t value : set.read()) EXPECT_GE(value, 0);
}

}  // namespace
