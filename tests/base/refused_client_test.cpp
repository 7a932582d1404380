// What is refused when memory is exhausted, and after a thread's end has begun.
#include <gtest/gtest.h>

#include <string>

#include "support/program.hpp"

namespace {

using substrata::tests::Ran;
using substrata::tests::run;

const std::string kClient = REFUSED_CLIENT;

void expect_success(const std::string& command) {
  const Ran ended = run(command);
  EXPECT_EQ(ended.status, 0) << ended.out;
}

TEST(Refusal, AfterTheDestructorsOfAThreadWritesNoFreedMemory) { expect_success(kClient + " late"); }

TEST(Refusal, OfTheReportAtExitWritesNoFreedMemory) {
  expect_success("PAPI_OUTPUT_DIRECTORY=/proc/version/below_a_file " + kClient + " region");
}

TEST(Refusal, IsAThreadsFirstCallWithMemoryExhaustedAndDoesNotEndTheProcess) {
  expect_success("PAPI_OUTPUT_DIRECTORY=/proc/version/below_a_file " + kClient + " threads");
}

TEST(Refusal, OfAStartWithMemoryExhaustedDoesNotEndTheProcess) { expect_success(kClient + " start"); }

TEST(Refusal, OfAKernelsEventWithMemoryExhaustedLeavesNoDescriptorOpen) {
  const Ran ended = run(kClient + " kernel");
  if (ended.status == 77) GTEST_SKIP() << "the kernel counts no events of software here";
  EXPECT_EQ(ended.status, 0) << ended.out;
}

TEST(Refusal, OfARateWithMemoryExhaustedLeavesNoEventset) { expect_success(kClient + " rates"); }

TEST(Refusal, OfAListOfOwlsEventsWithMemoryExhaustedListsNoneTwiceAfterwards) {
  expect_success(kClient + " owl");
}

}  // namespace
