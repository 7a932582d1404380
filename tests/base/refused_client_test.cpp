// What is refused when memory is exhausted, and after a thread's end has begun.
#include <gtest/gtest.h>

#include <string>

#include "support/shell_command.hpp"

namespace {

using substrata::shell::Outcome;
using substrata::shell::run;

const std::string kClient = REFUSED_CLIENT;

TEST(Refusal, AfterTheDestructorsOfAThreadWritesNoFreedMemory) {
  const Outcome ended = run(kClient + " late");
  EXPECT_EQ(ended.status, 0) << ended.text;
}

TEST(Refusal, OfTheReportAtExitWritesNoFreedMemory) {
  const Outcome ended = run("PAPI_OUTPUT_DIRECTORY=/proc/version/below_a_file " + kClient + " region");
  EXPECT_EQ(ended.status, 0) << ended.text;
}

TEST(Refusal, IsAThreadsFirstCallWithMemoryExhaustedAndDoesNotEndTheProcess) {
  const Outcome ended = run("PAPI_OUTPUT_DIRECTORY=/proc/version/below_a_file " + kClient + " threads");
  EXPECT_EQ(ended.status, 0) << ended.text;
}

TEST(Refusal, OfAStartWithMemoryExhaustedDoesNotEndTheProcess) {
  const Outcome ended = run(kClient + " start");
  EXPECT_EQ(ended.status, 0) << ended.text;
}

}  // namespace
