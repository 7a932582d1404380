// What reports say of regions: exact counts where the ranks counted them, bounds where samples set them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "page_data.hpp"
#include "recording/html_report.hpp"
#include "recording/regions.hpp"
#include "recording/text_report.hpp"
#include "synthetic.hpp"

namespace {

using namespace substrata::recording;
using namespace substrata::tests;
using testing::HasSubstr;

std::int64_t at(double seconds) { return kSecond + static_cast<std::int64_t>(seconds * 1e9); }

// Messages of two ranks, sampled every second: 700 in all, most of them in "solve"; "check" is so short that
// no sample lies in it.
struct Job {
  Recording recording;
  Timeline timeline;
};
void make_job(Job* job, const std::string& summary, bool inner = false) {
  MemorySink sink(machine("a", "boot"));
  SeriesInfo messages = count_series("mpi:::messages", "messages");
  messages.scope = "ranks of the node";
  const std::uint32_t set = sink.declare({messages});
  const std::int64_t values[] = {0, 100, 300, 700, 700};
  const std::uint8_t flags[] = {0};
  for (int i = 0; i < 5; ++i) sink.sample(set, at(i), 0, &values[i], flags);
  sink.mark({MarkKind::kBegin, at(0.5), -1, "solve"});
  if (inner) {
    sink.mark({MarkKind::kBegin, at(1.5), 0, "panel"});
    sink.mark({MarkKind::kEnd, at(1.6), 0, "panel"});
  }
  sink.mark({MarkKind::kEnd, at(2.5), -1, "solve"});
  sink.mark({MarkKind::kBegin, at(2.6), -1, "check"});
  sink.mark({MarkKind::kEnd, at(2.7), -1, "check"});
  sink.end(at(5), {});
  job->recording = sink.recording();
  if (!summary.empty())
    job->recording.writers[0].attachments.push_back({"mpi-summary", "application/json", summary});
  job->timeline = lay_out(job->recording);
}

constexpr const char* kSummary = R"json({"ranks":[
{"rank":0,"phases":[{"name":"solve","messages_sent":400,"bytes_sent":1},
                    {"name":"check","messages_sent":5,"bytes_sent":1},
                    {"name":"panel","messages_sent":50,"bytes_sent":1}]},
{"rank":1,"phases":[{"name":"solve","messages_sent":240,"bytes_sent":1},
                    {"name":"(outside)","messages_sent":5,"bytes_sent":1}]}]})json";

RegionSummary within(const Timeline& timeline, const std::string& name) {
  for (const RegionTotals& region : region_totals(timeline))
    if (region.name == name) return summarize_within(group_traces(timeline).at(0), region, timeline);
  throw std::runtime_error("no region " + name);
}

TEST(RegionCounts, AreThoseThatTheRanksCountedThemselves) {
  Job job;
  make_job(&job, kSummary);
  EXPECT_EQ(region_text(within(job.timeline, "solve"), Kind::kCount), "640");
  EXPECT_EQ(region_text(within(job.timeline, "check"), Kind::kCount), "5");
  std::ostringstream text, page;
  write_text_report(text, job.timeline, "job");
  EXPECT_THAT(text.str(), testing::ContainsRegex("check +[^\n]* 5; 50\n"));
  write_html_report(page, job.timeline, "job");
  const nlohmann::json cell = data_of(page.str()).at("region_totals").at("rows")[1].at("cells")[0];
  EXPECT_EQ(cell.at("text"), "5");
  EXPECT_NEAR(cell.at("rate").get<double>(), 50, 1e-6);
}

// There was a table for each series.
TEST(RecordReport, ARegionHasOneRowForItsSeries) {
  MemorySink sink(machine("a", "boot"));
  sample_functions(
      sink, 11, 1, [](double t) { return 100 * t; }, [](double t) { return 40000 + t; });
  sink.mark({MarkKind::kBegin, at(2), -1, "solve"});
  sink.mark({MarkKind::kEnd, at(4), -1, "solve"});
  std::ostringstream text;
  write_text_report(text, lay_out(sink.recording()), "job");
  const std::string regions = text.str().substr(text.str().find("\nRegions\n"));
  EXPECT_THAT(regions, testing::ContainsRegex("solve +1 +2[.]000 [^\n]*200; 100 +40; 0[.]001\n"));
}

TEST(RegionCounts, IncludeWhatWasCountedInARegionInside) {
  Job job;
  make_job(&job, kSummary, true);
  EXPECT_EQ(within(job.timeline, "solve").total, 690);
  EXPECT_EQ(within(job.timeline, "panel").total, 50);
}

// A program of two ranks: main calls solve twice and solve dot; rank 1 calls dot itself.
void mark_pass(MemorySink& sink, int rank, const char* name, double begin, double end) {
  sink.mark({MarkKind::kBegin, at(begin), rank, name});
  sink.mark({MarkKind::kEnd, at(end), rank, name});
}
Recording nested_regions() {
  MemorySink sink(machine("a", "boot"));
  const std::uint32_t set = sink.declare({count_series("perf::TASK-CLOCK", "ns")});
  const std::uint8_t flags[] = {0};
  for (std::int64_t i = 0; i < 11; ++i) sink.sample(set, at(static_cast<double>(i)), 0, &i, flags);
  sink.mark({MarkKind::kBegin, at(1), 0, "main"});
  sink.mark({MarkKind::kBegin, at(2), 0, "solve"});
  mark_pass(sink, 0, "dot", 2.5, 3);
  sink.mark({MarkKind::kEnd, at(4), 0, "solve"});
  sink.mark({MarkKind::kBegin, at(5), 0, "solve"});
  mark_pass(sink, 0, "dot", 5, 6);
  sink.mark({MarkKind::kEnd, at(7), 0, "solve"});
  sink.mark({MarkKind::kEnd, at(9), 0, "main"});
  mark_pass(sink, 1, "dot", 2, 5);
  sink.end(at(10), {});
  return sink.recording();
}

// A region that several others call was one row, and nothing showed from where.
TEST(RegionPaths, HaveEachRegionBelowTheOneThatItLayInWithItsOwnTime) {
  const Recording recording = nested_regions();
  const std::vector<RegionPath> paths = region_paths(lay_out(recording));
  ASSERT_EQ(paths.size(), 4u);
  const auto expect = [&paths](std::size_t i, std::vector<std::string> names, std::size_t passes,
                               double seconds, double own) {
    EXPECT_EQ(paths[i].names, names);
    EXPECT_EQ(paths[i].passes, passes) << names.back();
    EXPECT_NEAR(paths[i].seconds, seconds, 1e-9) << names.back();
    EXPECT_NEAR(paths[i].own, own, 1e-9) << names.back();
  };
  expect(0, {"main"}, 1, 8, 4);
  expect(1, {"main", "solve"}, 2, 4, 2.5);
  expect(2, {"main", "solve", "dot"}, 2, 1.5, 1.5);
  expect(3, {"dot"}, 1, 3, 3);
}

TEST(RegionPaths, AreInTheReportAndThePage) {
  const Recording recording = nested_regions();
  std::ostringstream text, page;
  write_text_report(text, lay_out(recording), "job");
  EXPECT_THAT(text.str(),
              testing::ContainsRegex("\n +main +1 +8[.]000 +4[.]000[^\n]*\n +solve +2 +4[.]000 +2[.]500"));
  write_html_report(page, lay_out(recording), "job");
  const nlohmann::json paths = data_of(page.str()).at("paths");
  ASSERT_EQ(paths.size(), 4u);
  EXPECT_EQ(paths[2].at("name"), "dot");
  EXPECT_EQ(paths[2].at("depth"), 2);
  EXPECT_EQ(paths[2].at("own"), 1.5);
}

TEST(RegionPaths, AreLeftOutWhereNoRegionLiesInAnother) {
  Job job;
  make_job(&job, kSummary);
  std::ostringstream text;
  write_text_report(text, job.timeline, "job");
  EXPECT_THAT(text.str(), testing::Not(HasSubstr("Call paths")));
}

// A thousand regions in each other must not cost a path of a thousand names each.
TEST(RegionPaths, AreNoDeeperThanSixteen) {
  MemorySink sink(machine("a", "boot"));
  const std::uint32_t set = sink.declare({count_series("perf::TASK-CLOCK", "ns")});
  const std::uint8_t flags[] = {0};
  const std::int64_t value = 1;
  sink.sample(set, at(0), 0, &value, flags);
  for (int i = 0; i < 1000; ++i) sink.mark({MarkKind::kBegin, at(0.001 * i), 0, "r" + std::to_string(i)});
  for (int i = 999; i >= 0; --i) sink.mark({MarkKind::kEnd, at(3 - 0.001 * i), 0, "r" + std::to_string(i)});
  sink.end(at(4), {});
  EXPECT_EQ(region_paths(lay_out(sink.recording())).size(), 16u);
}

TEST(RegionCounts, OfASummaryThatCountedOtherMessagesAreNotTaken) {
  Job job;
  make_job(&job, R"({"ranks":[{"rank":0,"phases":[{"name":"solve","messages_sent":9,"bytes_sent":1}]}]})");
  EXPECT_FALSE(within(job.timeline, "solve").exact);
}

TEST(RegionCounts, OfARegionThatAStretchCutsAreNotTaken) {
  Job job;
  make_job(&job, kSummary);
  const Timeline part = cut_out(job.timeline, 1, 5);
  EXPECT_FALSE(within(part, "solve").exact);
  EXPECT_TRUE(within(part, "check").exact);
}

TEST(RegionCounts, OfARegionShorterThanTheIntervalAreABound) {
  Job job;
  make_job(&job, "");
  EXPECT_EQ(region_text(within(job.timeline, "check"), Kind::kCount), "<= 400");
  EXPECT_TRUE(std::isnan(within(job.timeline, "check").rate));
}

TEST(RegionCounts, BetweenSamplesAreARange) {
  Job job;
  make_job(&job, "");
  EXPECT_EQ(region_text(within(job.timeline, "solve"), Kind::kCount), "200 to 700");
}

TEST(RegionCounts, ALevelWithoutASampleInTheRegionIsNotMadeUp) {
  MemorySink sink(machine("a", "boot"));
  sample_functions(
      sink, 11, 1, [](double t) { return 100 * t; }, [](double t) { return t; });
  sink.mark({MarkKind::kBegin, at(0.25), -1, "short"});
  sink.mark({MarkKind::kEnd, at(0.5), -1, "short"});
  const Timeline timeline = lay_out(sink.recording());
  const RegionSummary level =
      summarize_within(group_traces(timeline).at(1), region_totals(timeline).at(0), timeline);
  EXPECT_EQ(region_text(level, Kind::kGauge), "-");
}

// Series of ranks have rows of their own: the report had four times the rows that were recorded.
TEST(RecordReport, RowsOfSetsThatAreSampledTogetherAreCountedOnce) {
  MemorySink sink(machine("a", "boot"));
  const std::uint32_t sets[] = {sink.declare({count_series("a")}), sink.declare({count_series("b")})};
  const std::int64_t value = 0;
  const std::uint8_t flag = 0;
  for (int i = 0; i < 5; ++i)
    for (const std::uint32_t set : sets) sink.sample(set, at(i), 0, &value, &flag);
  sink.end(at(6), {{"rows", "5"}});
  const Timeline timeline = lay_out(sink.recording());
  std::ostringstream text, page;
  write_text_report(text, timeline, "job");
  EXPECT_THAT(text.str(), HasSubstr(" 5 rows;"));
  write_html_report(page, timeline, "job");
  EXPECT_EQ(provenance_of(page.str(), "rows"), "5");
}

// The report said 'every 20 ms' of a recording that had a third of those rows.
TEST(RecordReport, RowsThatWereLeftOutAreSaid) {
  MemorySink sink(machine("a", "boot"));
  sample_functions(
      sink, 2, 1, [](double) { return 1; }, [](double) { return 1; });
  sink.end(at(6), {{"rows", "2"}, {"missed_ticks", "48"}});
  std::ostringstream text;
  write_text_report(text, lay_out(sink.recording()), "job");
  EXPECT_THAT(text.str(), HasSubstr(" 2 rows, 48 left out on a busy machine;"));
}

// Four ranks are in the region at the same time: what the node counted meanwhile is counted once.
TEST(RegionCounts, OfSeveralRanksInTheSameRegionAreNotCountedForEach) {
  MemorySink sink(machine("a", "boot"));
  sample_functions(
      sink, 11, 1, [](double t) { return 100 * t; }, [](double) { return 0; });
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    sink.mark({MarkKind::kBegin, at(2), rank, "solve"});
    sink.mark({MarkKind::kEnd, at(4), rank, "solve"});
  }
  const Timeline timeline = lay_out(sink.recording());
  const RegionSummary work =
      summarize_within(group_traces(timeline).at(0), region_totals(timeline).at(0), timeline);
  EXPECT_NEAR(work.total, 200, 1e-6);
  EXPECT_NEAR(work.seconds, 2, 1e-9);
}

}  // namespace
