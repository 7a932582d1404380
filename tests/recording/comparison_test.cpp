// Runs before and after a change: which differences are changes, and which findings came and went.
#include "recording/comparison.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "recording/memory_sink.hpp"
#include "recording/timeline.hpp"
#include "synthetic.hpp"

namespace {

using namespace substrata::recording;
using namespace substrata::tests;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// A run of ten seconds, sampled every second: `work` done evenly, `heat` that stays, and a region from `begin` to
// `end`.
struct RunOf {
  double work = 1000;
  double heat = 40;
  double begin = 2;
  double end = 6;
  std::string command = "solver";
  std::string user = "1";
  std::string system = "0";
};

// Recordings with their timelines, which must not move.
class Runs {
 public:
  explicit Runs(const std::vector<RunOf>& runs) {
    for (const RunOf& run : runs) {
      Properties properties = machine("node1", "boot");
      for (auto& [name, value] : properties)
        if (name == "command") value = run.command;
      MemorySink sink(properties);
      sample_functions(
          sink, 11, 1, [&](double t) { return run.work * t / 10; }, [&](double) { return 1000 * run.heat; });
      const auto at = [](double seconds) { return kSecond + static_cast<std::int64_t>(1e9 * seconds); };
      sink.mark({MarkKind::kBegin, at(run.begin), -1, "solve"});
      sink.mark({MarkKind::kEnd, at(run.end), -1, "solve"});
      sink.end(at(10), {{"command.user_s", run.user}, {"command.system_s", run.system}});
      recordings_.push_back(sink.recording());
      timelines_.push_back(lay_out(recordings_.back()));
      all.push_back({"run" + std::to_string(all.size()), &timelines_.back()});
    }
  }
  std::vector<ComparedRun> all;

 private:
  std::deque<Recording> recordings_;
  std::deque<Timeline> timelines_;
};

Comparison compared(const std::vector<RunOf>& before, const std::vector<RunOf>& after, double least = 0.05) {
  return compare(Runs(before).all, Runs(after).all, least);
}

ComparedNumber number(const Comparison& comparison, const std::string& name, const std::string& region = "") {
  for (const ComparedNumber& one : comparison.numbers)
    if (one.name == name && one.region == region) return one;
  ADD_FAILURE() << "there is no " << name << " of '" << region << "'";
  return {};
}

TEST(Comparison, OfTotalsAndLevelsHasBothSidesAndTheirRatio) {
  const Comparison found = compared({{.work = 1000, .heat = 40}}, {{.work = 1500, .heat = 60}});
  EXPECT_EQ(number(found, "work").before.value, 1000);
  EXPECT_EQ(number(found, "work").after.value, 1500);
  EXPECT_DOUBLE_EQ(number(found, "work").ratio, 1.5);
  EXPECT_EQ(number(found, "work").change, Change::kMore);
  EXPECT_EQ(number(found, "heat").unit, "degC");
  EXPECT_TRUE(number(found, "heat").gauge);
  EXPECT_DOUBLE_EQ(number(found, "heat").ratio, 1.5);
}

TEST(Comparison, ADifferenceBelowTheLeastIsNoChange) {
  EXPECT_EQ(number(compared({{.work = 1000}}, {{.work = 1040}}), "work").change, Change::kNone);
  EXPECT_EQ(number(compared({{.work = 1000}}, {{.work = 1040}}, 0.01), "work").change, Change::kMore);
}

TEST(Comparison, OfOneRunEachSaysThatTheNoiseIsNotKnown) {
  const Comparison found = compared({{}}, {{}});
  EXPECT_TRUE(std::isnan(number(found, "work").noise));
  ASSERT_FALSE(found.notes.empty());
  EXPECT_THAT(found.notes[0], HasSubstr("noise between runs is not known"));
}

TEST(Comparison, ADifferenceWithinTheSpreadOfTheRunsIsNoChange) {
  const Comparison found = compared({{.work = 1000}, {.work = 1400}, {.work = 1200}},
                                    {{.work = 1500}, {.work = 1300}, {.work = 1100}});
  // Standard error of the difference: 200 sqrt(2/3); Student's quantile at 99 % with 4 degrees of freedom.
  EXPECT_NEAR(number(found, "work").noise, 4.604 * 200 * std::sqrt(2.0 / 3) / 1200, 1e-9);
  EXPECT_EQ(number(found, "work").change, Change::kNone);
}

TEST(Comparison, ADifferenceBeyondTheSpreadOfTheRunsIsAChange) {
  const Comparison found = compared({{.work = 1000}, {.work = 1010}, {.work = 990}},
                                    {{.work = 800}, {.work = 810}, {.work = 790}});
  EXPECT_EQ(number(found, "work").change, Change::kLess);
  EXPECT_EQ(number(found, "work").before.runs, 3u);
}

TEST(Comparison, OfASideWithOneRunTheSpreadOfTheOtherIsTaken) {
  const Comparison found = compared({{.work = 1000}, {.work = 1400}, {.work = 1200}}, {{.work = 1500}});
  EXPECT_NEAR(number(found, "work").noise, 9.925 * 200 * std::sqrt(1.0 / 3 + 1) / 1200, 1e-9);
}

TEST(Comparison, OfARegionHasItsTimeAndWhatWasCountedThere) {
  const Comparison found = compared({{.begin = 2, .end = 6}}, {{.begin = 2, .end = 4}});
  EXPECT_DOUBLE_EQ(number(found, "time", "solve").ratio, 0.5);
  EXPECT_EQ(number(found, "time", "solve").change, Change::kLess);
  EXPECT_EQ(number(found, "work", "solve").before.value, 400);
  EXPECT_EQ(number(found, "work", "solve").change, Change::kLess);
}

// Between samples a region's counts are bounds.
TEST(Comparison, CountsOfRegionsWhoseBoundsOverlapHaveNotChanged) {
  const Comparison found = compared({{.begin = 2.4, .end = 2.6}}, {{.begin = 2.4, .end = 2.9}});
  EXPECT_EQ(number(found, "work", "solve").before.least, 0);
  EXPECT_EQ(number(found, "work", "solve").before.most, 100);
  EXPECT_GT(number(found, "work", "solve").ratio, 2);
  EXPECT_EQ(number(found, "work", "solve").change, Change::kNone);
}

TEST(Comparison, AFindingOfTheNewRunsOnlyIsNew) {
  const Comparison found = compared({{.heat = 40}}, {{.heat = 95}});
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_EQ(found.findings[0].rule, "hot-package");
  EXPECT_STREQ(found.findings[0].state(), "new");
  EXPECT_THAT(found.findings[0].after.evidence, HasSubstr("95.0 degrees C"));
  EXPECT_STREQ(compared({{.heat = 95}}, {{.heat = 40}}).findings[0].state(), "gone");
  EXPECT_STREQ(compared({{.heat = 95}}, {{.heat = 96}}).findings[0].state(), "in both");
}

TEST(Comparison, AFindingOfSomeOfTheRunsIsNotCalledNew) {
  const Comparison found = compared({{.heat = 40}, {.heat = 40}}, {{.heat = 95}, {.heat = 40}});
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_STREQ(found.findings[0].state(), "not in every run");
}

TEST(Comparison, AFindingWhoseDataTheOldRunsLackIsNotCalledNew) {
  MemorySink without(machine("node1", "boot"));
  without.end(2 * kSecond, {});
  const Recording recording = without.recording();
  const Timeline timeline = lay_out(recording);
  const Comparison found = compare({{"old", &timeline}}, Runs(std::vector<RunOf>{{.heat = 95}}).all, 0.05);
  ASSERT_FALSE(found.findings.empty());
  EXPECT_STREQ(found.findings[0].state(), "not comparable");
  EXPECT_EQ(number(found, "work").change, Change::kOnlyAfter);
}

TEST(Comparison, OfDifferentCommandsSaysSo) {
  const Comparison found = compared({{.command = "solver 100"}}, {{.command = "solver 200"}});
  std::ostringstream out;
  write_comparison_text(out, found, false);
  EXPECT_THAT(out.str(), HasSubstr("different commands: solver 100 / solver 200"));
}

TEST(Comparison, TextShowsWhatChangedInRegionsAndAllOnRequest) {
  const Comparison found = compared({{.work = 1000}}, {{.work = 2000}});
  std::ostringstream some, all;
  write_comparison_text(some, found, false);
  write_comparison_text(all, found, true);
  EXPECT_THAT(some.str(), testing::ContainsRegex("\n  work +1000 +2000 +2\\.000 +- +more +measured\n"));
  EXPECT_THAT(some.str(), testing::ContainsRegex("\n  solve +s +4 +4 +1\\.000"));
  EXPECT_THAT(some.str(), Not(testing::ContainsRegex("\n    heat")));
  EXPECT_THAT(all.str(), testing::ContainsRegex("\n    heat \\(mean\\) +degC +40 +40"));
}

TEST(Comparison, JsonHasTheNumbersWithAllDigits) {
  std::ostringstream out;
  write_comparison_json(out, compared({{.work = 1000}}, {{.work = 1234.5}}));
  const json all = json::parse(out.str());
  for (const json& one : all.at("numbers")) {
    if (one.at("name") != "work" || one.at("region") != "") continue;
    EXPECT_EQ(one.at("after").at("value"), 1234);
    EXPECT_EQ(one.at("ratio"), 1.234);
    EXPECT_EQ(one.at("noise"), nullptr);
    EXPECT_EQ(one.at("change"), "more");
    return;
  }
  FAIL() << "work is not there";
}

}  // namespace
