// substrata signature: the table, its files, and that a trace gives what its run gave.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "support/tool.hpp"

namespace {

using namespace substrata::tests;
using testing::ContainsRegex;
using testing::HasSubstr;

// The numbers of a table's lines, without its comments.
std::vector<std::vector<double>> table(const std::string& path) {
  std::vector<std::vector<double>> rows;
  std::istringstream lines(contents(path));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream numbers(line);
    std::vector<double>& row = rows.emplace_back();
    for (double number = 0; numbers >> number;) row.push_back(number);
  }
  return rows;
}

// MY-9
TEST(ToolSignature, AWorkloadsPointsLieOnOrAboveTheIdleClusters) {
  const TemporaryFolder folder;
  const Ran ran =
      tool("signature --workload ping-pong:bytes=2000:rounds=25 --nodes 2 --out " + folder.path());
  ASSERT_EQ(ran.status, 0) << ran.errors;
  EXPECT_THAT(ran.out, HasSubstr("Source us"));
  EXPECT_THAT(ran.out, HasSubstr("1985-2016"));
  // MY-42: 25 rounds are 50 messages, each one packet long.
  EXPECT_THAT(ran.out, ContainsRegex("message +50 +50 "));
  EXPECT_THAT(contents(folder.file("operations.dat")), HasSubstr("\nmessage 50 50 100000 "));
  const auto points = table(folder.file("signature.dat"));
  const auto idle = table(folder.file("baseline.dat"));
  ASSERT_EQ(idle.size(), 128u) << "a point for each bin up to a packet";
  double packets = 0;
  bool found = false;
  for (const std::vector<double>& point : points) {
    ASSERT_EQ(point.size(), 8u);
    if (point[0] != 1985) continue;
    found = true;
    packets += point[2];
    // The idle packet of this bin is 2016 bytes long, some 0.3 us more than these.
    for (size_t latency = 4; latency < 8; ++latency)
      EXPECT_GE(point[latency], idle[62][latency] - 1) << latency;
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(packets, 50);
  for (size_t i = 1; i < idle.size(); ++i)
    EXPECT_GE(idle[i][4], idle[i - 1][4]) << "longer packets take longer";
  const std::string plot = contents(folder.file("signature.gp"));
  EXPECT_THAT(plot, HasSubstr("'baseline.dat'"));
  EXPECT_THAT(plot, HasSubstr("set logscale y"));
  if (shell("command -v gnuplot").status == 0) {
    const Ran drawn = shell("cd " + folder.path() + " && gnuplot signature.gp");
    EXPECT_EQ(drawn.status, 0) << drawn.errors;
    EXPECT_TRUE(std::filesystem::exists(folder.file("signature.png")));
  }
}

// Along other axes there was no idle cluster beside the points.
TEST(ToolSignature, AlongEachAxisTheIdleClusterIsBesideThePoints) {  // MY-9
  const TemporaryFolder folder;
  const std::string run = "signature --workload ping-pong:bytes=2000:rounds=5 --nodes 4 --out ";
  ASSERT_EQ(tool(run + folder.file("size")).status, 0);
  const std::vector<double> of_length = table(folder.file("size") + "/baseline.dat")[62];
  std::map<std::string, double> all_packets;  // what all of them would take, in us
  bool found = false;
  for (const char* axis : {"sender", "receiver", "type"}) {
    const Ran ran = tool(run + folder.file(axis) + " --by " + axis);
    ASSERT_EQ(ran.status, 0) << ran.errors;
    const auto idle = table(folder.file(axis) + "/baseline.dat");
    ASSERT_EQ(idle.size(), table(folder.file(axis) + "/signature.dat").size()) << axis;
    for (const std::vector<double>& point : idle) {
      all_packets[axis] += point[2] * point[4];
      if (std::string(axis) != "type" || point[0] != 1)
        continue;  // the program's messages, all of one length
      found = true;
      for (size_t latency = 4; latency < 8; ++latency) EXPECT_NEAR(point[latency], of_length[latency], 1e-3);
    }
  }
  EXPECT_TRUE(found);
  EXPECT_NEAR(all_packets["sender"], all_packets["type"], 0.1) << "the same packets along another axis";
}

// MY-9
TEST(ToolSignature, ATraceGivesTheSignatureOfItsRun) {
  const TemporaryFolder folder;
  const std::string workload = "ping-pong:bytes=100:rounds=5";
  const Ran recorded =
      tool("run --machine myrinet --workload " + workload + " --nodes 4 --record " + folder.file("trace"));
  ASSERT_EQ(recorded.status, 0) << recorded.errors;
  for (const char* axis : {"size", "sender", "receiver", "type"}) {
    const std::string by = std::string(" --by ") + axis;
    const Ran direct = tool("signature --workload " + workload + " --nodes 4" + by);
    const Ran replayed = tool("signature " + folder.file("trace") + by);
    ASSERT_EQ(replayed.status, 0) << replayed.errors;
    EXPECT_EQ(replayed.out, direct.out) << axis;
    EXPECT_GE(count_of(direct.out, "\n"), 2u) << axis;
  }
  const Ran whole = tool("signature " + folder.file("trace") + " --by sender");
  const Ran one = tool("signature " + folder.file("trace") + " --by sender --node 1");
  EXPECT_EQ(one.status, 0) << one.errors;
  EXPECT_NE(one.out, whole.out);
}

TEST(ToolSignature, WhatCannotBeShownIsRefused) {
  EXPECT_NE(tool("signature").status, 0);
  EXPECT_THAT(tool("signature").errors, HasSubstr("give a trace or --workload"));
  EXPECT_THAT(tool("signature --workload ping-pong --by colour").errors, HasSubstr("not 'colour'"));
  EXPECT_THAT(tool("signature --workload ping-pong --node 900").errors, HasSubstr("node 900"));
  EXPECT_NE(tool("signature /no/such/trace").status, 0);
}

}  // namespace
