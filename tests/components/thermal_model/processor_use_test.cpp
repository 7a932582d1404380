// The parser of /proc/stat's first lines, whole and broken.
#include "thermal_model/processor_use.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using substrata::thermal_model::next_processor;
using substrata::thermal_model::ProcessorTime;

// PA-31
TEST(ProcessorUse, AddsUpBusyTicksWithoutWaitingStolenOrGuestTime) {
  std::string_view text =
      "cpu  1 1 1 1 1 1 1 1 1 1\n"
      "cpu0 1 2 4 8 16 32 64 128 256 512\n"
      "cpu7 1 0 0 9 0 0 0\n"
      "intr 5\n";
  ProcessorTime time;
  ASSERT_TRUE(next_processor(&text, &time));
  EXPECT_EQ(time.processor, 0u);
  EXPECT_EQ(time.busy, 1 + 2 + 4 + 32 + 64);
  EXPECT_EQ(time.total, 255);
  ASSERT_TRUE(next_processor(&text, &time));
  EXPECT_EQ(time.processor, 7u);
  EXPECT_EQ(time.busy, 1);
  EXPECT_EQ(time.total, 10);
  EXPECT_FALSE(next_processor(&text, &time));
}

// PA-31
TEST(ProcessorUse, StopsAtLinesThatAreCutOrNotAsTheyShouldBe) {
  for (const char* table : {"", "cpu0 1 2 3 4 5 6 7 8", "cpu0 1 2 3\n", "cpuX 1 2 3 4 5 6 7 8\n",
                            "cpu99999999999 1 2 3 4 5 6 7\n", "cpu0 1 2 3 4 5 6 99999999999999999999\n",
                            "intr 1\ncpu0 1 2 3 4 5 6 7 8\n"}) {
    std::string_view text = table;
    ProcessorTime time;
    EXPECT_FALSE(next_processor(&text, &time)) << table;
  }
}

}  // namespace
