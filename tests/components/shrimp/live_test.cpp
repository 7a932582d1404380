// The example that counts an unmodified MPI program's messages as SHRIMP packets, on a program whose messages
// are known.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "support/program.hpp"

namespace {

using namespace substrata::tests;

TEST(LiveMessages, BecomePacketsBySenderAndSizeThroughPapiCalls) {  // SH-21, SH-30
  for (const char* needed : {"mpicc.openmpi", "mpirun.openmpi", "awk"}) {
    if (run(std::string("command -v ") + needed).status != 0) GTEST_SKIP() << needed << " is not installed";
  }
  const TemporaryFolder folder;
  const std::string program = folder.path() + "/messages";
  const Ran built = run("mpicc.openmpi -O1 -o " + program + " " MESSAGES);
  ASSERT_EQ(built.status, 0) << built.out;
  const Ran ran = run("timeout 200 " SENDER_BY_SIZE
                      " mpirun.openmpi --allow-run-as-root --oversubscribe --mca btl self,vader,tcp -n 4 " +
                      program);
  ASSERT_EQ(ran.status, 0) << ran.out;
  // 1000 bytes are 4 x 224 and 104, three times; 65536 are 292 x 224 and 128, to three others.
  const std::vector<unsigned long long> expected = {96, 3, 128, 3, 224, 3 * 4 + 3 * 292};
  std::istringstream lines(ran.out);
  std::vector<unsigned long long> found;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    unsigned long long size = 0;
    unsigned long long ranks[4] = {};
    if (!(words >> size >> ranks[0] >> ranks[1] >> ranks[2] >> ranks[3]) || size < 96) continue;
    for (const unsigned long long count : ranks) EXPECT_EQ(count, ranks[0]) << line;
    found.push_back(size);
    found.push_back(ranks[0]);
  }
  EXPECT_EQ(found, expected) << ran.out;
}

}  // namespace
