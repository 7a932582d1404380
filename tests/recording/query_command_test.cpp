// `substrata owl` and `substrata record --owl` as their users meet them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "recording/reader.hpp"
#include "tool.hpp"

namespace {

using namespace substrata::recording;
using namespace substrata::tests;
using nlohmann::json;
using testing::HasSubstr;

// Three writes of a thousand bytes, and what dd reports.
const std::string kThreeWrites = "dd if=/dev/zero bs=1000 count=3 of=/dev/null status=none";
const std::string kWrites = " -- " + kThreeWrites;

TEST(OwlCommand, ItsJsonHasTheQueryAndAllThatWasCounted) {
  const std::string query = "io: filter(write) -> count, sum(size), avg(size) by kind, size";
  const Ran ran = tool("owl --json -e '" + query + "'" + kWrites);
  ASSERT_EQ(ran.status, 0) << ran.errors;
  const json row = {{"keys", {"write", 1000}}, {"values", {3, 3000, 1000.0}}};
  const json table = {{"keys", {"kind", "size"}},
                      {"values", {"count", "sum(size)", "avg(size)"}},
                      {"rows", json::array({row})},
                      {"all", 3.0},
                      {"left_out", 0}};
  json found = json::parse(ran.out);
  EXPECT_GE(found.at("transactions"), 6) << "three reads and three writes";
  found.erase("transactions");
  EXPECT_EQ(found, (json{{"query", query},
                         {"tables", json::array({table})},
                         {"processes", 1},
                         {"dropped", 0},
                         {"messages", json::array()}}));
}

TEST(OwlCommand, ShowsItsGreatestRowWhileTheProgramRuns) {
  const TemporaryFolder folder;
  const std::string shown = folder.file("shown");
  // The program ends once its first row is shown.
  const Ran ran =
      shell("timeout 60 " SUBSTRATA_TOOL
            " owl --progress -e 'io: filter(write && size == 1000) -> sum(size) by kind' -- sh -c '" +
            kThreeWrites + "; until grep -q \"sum(size) 3,000 write\" " + shown +
            "; do sleep 0.1; done' 2> " + shown);
  EXPECT_EQ(ran.status, 0);
}

TEST(OwlCommand, AnErrorHasItsPlaceAndEndsWithStatusTwo) {
  const Ran ran = tool("owl -e 'io: filtre(write) -> count' -- true");
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.errors,
              testing::StartsWith("-e:1:5: there is no sub-module 'filtre'; did you mean 'filter'?"));
}

TEST(OwlCommand, SaysWhyNothingPassed) {
  const Ran ran = tool("owl -e 'mem.accesses: count' -- true");
  EXPECT_EQ(ran.status, 0);
  EXPECT_THAT(ran.errors, HasSubstr("compile it with substrata-cc"));
}

class QueryInRecording : public testing::Test {
 protected:
  void record(const std::string& options) {
    ran_ = tool("record -q -e example:::constant -o " + path_ + options);
    ASSERT_EQ(ran_.status, 0) << ran_.errors;
    recording_ = read_file(path_);
    ASSERT_EQ(recording_.writers.size(), 1u);
  }
  const TemporaryFolder folder_;
  const std::string path_ = folder_.file("r.sub");
  Ran ran_;
  Recording recording_;
};

TEST_F(QueryInRecording, IsShownByTheReport) {
  record(" --owl 'io: filter(write) -> sum(size) by kind'" + kWrites);
  const Ran report = tool("report " + path_);
  EXPECT_THAT(report.out, HasSubstr("query: io: filter(write) -> sum(size) by kind\n"));
  EXPECT_THAT(report.out, HasSubstr("  sum(size)    share  kind\n       3000  100.0 %  write\n"));
}

TEST_F(QueryInRecording, ItsMarksStandAmongThoseOfTheRun) {
  record(" --owl 'io: filter(write && size == 1000) -> mark(\"a thousand\")'" + kWrites);
  const auto& marks = recording_.writers[0].marks;
  EXPECT_EQ(
      std::count_if(marks.begin(), marks.end(), [](const Mark& each) { return each.name == "a thousand"; }),
      3);
}

TEST_F(QueryInRecording, RunsThatMeasureTheOverheadAreNotCounted) {
  record(" --overhead 1 --owl 'io: filter(write) -> sum(size)'" + kWrites);
  const auto& all = recording_.writers[0].attachments;
  const auto found =
      std::find_if(all.begin(), all.end(), [](const Attachment& each) { return each.name == "owl"; });
  ASSERT_NE(found, all.end());
  EXPECT_EQ(json::parse(found->content).at("tables")[0].at("rows")[0].at("values"), json::parse("[3000]"));
}

TEST_F(QueryInRecording, AMistakeInItEndsTheCommandBeforeItBegins) {
  const Ran ran = tool("record -q -o " + path_ + " --owl 'io: count by' -- touch " + folder_.file("began"));
  EXPECT_NE(ran.status, 0);
  EXPECT_THAT(ran.errors, HasSubstr("--owl:1:"));
  EXPECT_EQ(shell("test -e " + folder_.file("began")).status, 1);
}

}  // namespace
