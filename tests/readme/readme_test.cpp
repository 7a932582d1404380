// Keeps the README's first program true: it is the compiled example, letter by letter, and it counts.
#include <gtest/gtest.h>
#include <stdio.h>

#include <cstddef>
#include <fstream>
#include <sstream>
#include <string>

#include "support/program.hpp"

namespace {

TEST(Readme, FirstProgramIsTheCompiledExample) {
  const std::string readme = substrata::tests::contents(README);
  const std::string fence = "```c\n";
  const std::size_t begin = readme.find(fence);
  ASSERT_NE(begin, std::string::npos);
  const std::size_t end = readme.find("```", begin + fence.size());
  ASSERT_NE(end, std::string::npos);
  EXPECT_EQ(readme.substr(begin + fence.size(), end - begin - fence.size()),
            substrata::tests::contents(FIRST_PROGRAM_SOURCE));
}

// PA-2: eventsets of two substrates run at once, also where performance events are forbidden.
TEST(Readme, FirstProgramCountsOnBothSubstrates) {
  const auto [status, output, errors] = substrata::tests::run("'" FIRST_PROGRAM "'");
  EXPECT_EQ(status, 0) << output;
  long long time_ns = 0, faults = 0, packets = -1;
  const std::size_t colon = output.find(':');
  ASSERT_NE(colon, std::string::npos) << output;
  ASSERT_EQ(sscanf(output.c_str() + colon, ": %lld ns of processor time, %lld page faults, %lld packets",
                   &time_ns, &faults, &packets),
            3)
      << output;
  EXPECT_EQ(output.substr(0, colon), "sum 549755289600");  // 2^20 (2^20 - 1) / 2
  EXPECT_GT(time_ns, 0);
  EXPECT_GT(faults, 0);
  EXPECT_GE(packets, 0);
}

}  // namespace
