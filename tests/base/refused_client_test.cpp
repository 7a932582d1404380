// What is refused when memory is exhausted, and after a thread's end has begun.
#include <gtest/gtest.h>

#include <string>

#include "support/program.hpp"

namespace {

using substrata::tests::Ran;
using substrata::tests::run;

const std::string kClient = REFUSED_CLIENT;

TEST(Refusal, AfterTheDestructorsOfAThreadWritesNoFreedMemory) {
  const Ran ended = run(kClient + " late");
  EXPECT_EQ(ended.status, 0) << ended.out;
}

TEST(Refusal, OfTheReportAtExitWritesNoFreedMemory) {
  const Ran ended = run("PAPI_OUTPUT_DIRECTORY=/proc/version/below_a_file " + kClient + " region");
  EXPECT_EQ(ended.status, 0) << ended.out;
}

TEST(Refusal, IsAThreadsFirstCallWithMemoryExhaustedAndDoesNotEndTheProcess) {
  const Ran ended = run("PAPI_OUTPUT_DIRECTORY=/proc/version/below_a_file " + kClient + " threads");
  EXPECT_EQ(ended.status, 0) << ended.out;
}

TEST(Refusal, OfAStartWithMemoryExhaustedDoesNotEndTheProcess) {
  const Ran ended = run(kClient + " start");
  EXPECT_EQ(ended.status, 0) << ended.out;
}

TEST(Refusal, OfAKernelsEventWithMemoryExhaustedLeavesNoDescriptorOpen) {
  const Ran ended = run(kClient + " kernel");
  if (ended.status == 77) GTEST_SKIP() << "the kernel counts no events of software here";
  EXPECT_EQ(ended.status, 0) << ended.out;
}

TEST(Refusal, OfARateWithMemoryExhaustedLeavesNoEventset) {
  const Ran ended = run(kClient + " rates");
  EXPECT_EQ(ended.status, 0) << ended.out;
}

TEST(Refusal, OfAListOfOwlsEventsWithMemoryExhaustedListsNoneTwiceAfterwards) {
  const Ran ended = run(kClient + " owl");
  EXPECT_EQ(ended.status, 0) << ended.out;
}

}  // namespace
