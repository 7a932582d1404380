// Means of several runs, and counts split by place.
#include <gtest/gtest.h>

#include "tools/substrata/stat/counts.hpp"
#include "tools/substrata/stat/printing.hpp"

namespace {

using namespace substrata;
using namespace substrata::tool;

Counts one_run(double value) {
  Counts counts;
  Line line;
  line.name = "work";
  line.present = true;
  line.value = value;
  counts.lines = {line};
  return counts;
}

TEST(StatCounts, TheMeanOfRunsHasTheStandardErrorOfThree) {
  // Of 10, 12, 17 the mean is 13, the variance of the sample (9 + 1 + 16) / 2 = 13, the error sqrt(13 / 3).
  const Counts mean = mean_of({one_run(10), one_run(12), one_run(17)});
  EXPECT_DOUBLE_EQ(mean.lines[0].value, 13);
  EXPECT_NEAR(mean.lines[0].deviation, 2.0816659994661326, 1e-12);
  EXPECT_EQ(mean.runs, 3u);
}

TEST(StatCounts, ARunWithoutAValueIsNoZeroInTheMean) {
  Counts without = one_run(0);
  without.lines[0].present = false;
  EXPECT_DOUBLE_EQ(mean_of({one_run(10), without, one_run(20)}).lines[0].value, 15);
}

TEST(StatCounts, RanksApartAreOneCountsEach) {
  Counts counts = one_run(1);
  counts.lines.push_back(counts.lines[0]);
  counts.lines.push_back(counts.lines[0]);
  counts.lines[1].scope = recording::rank_scope(0);
  counts.lines[2].scope = recording::rank_scope(1);
  const std::vector<Counts> parts = split(counts, Apart::kRanks);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[2].place, "rank 1");
}

TEST(StatCounts, ProcessorsOfAPackageAddUp) {
  Counts counts = one_run(1);
  counts.lines[0].scope = "cpu 0";
  counts.lines.push_back(counts.lines[0]);
  counts.lines[1].scope = "cpu 100000";  // of no known package: of the first
  counts.lines[1].value = 41;
  const std::vector<Counts> parts = split(counts, Apart::kPackages);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[1].parts, 2u);
  EXPECT_DOUBLE_EQ(parts[1].lines[0].value, 42);
}

TEST(StatCounts, AnIntervalIsWhatCameSinceTheOneBefore) {
  recording::Writer writer;
  recording::Series series;
  series.name = "work";
  series.values = {100};
  series.flags = {0};
  writer.series = {series};
  Intervals intervals;
  intervals.begin(0);
  EXPECT_DOUBLE_EQ(intervals.next(writer).lines.at(0).value, 100);
  writer.series[0].values.push_back(130);
  writer.series[0].flags.push_back(0);
  EXPECT_DOUBLE_EQ(intervals.next(writer).lines.at(0).value, 30);
}

// Renewed each second: 0 W, 0 W, and then all of it as the power of one interval.
TEST(StatCounts, EnergyIsOfAllTheTimeSinceItsCounterMoved) {
  recording::Writer writer;
  writer.series.emplace_back();
  writer.series[0].unit = "uJ";
  writer.sets.emplace_back();
  Intervals intervals;
  intervals.begin(0);
  const auto row = [&](std::int64_t at, std::int64_t energy) {
    writer.sets[0].times.push_back(at);
    writer.series[0].values.push_back(energy);
    writer.series[0].flags.push_back(0);
    return intervals.next(writer).lines.at(0);
  };
  for (const std::int64_t at : {250'000'000, 500'000'000, 750'000'000}) {
    const Line line = row(at, 0);
    EXPECT_FALSE(line.present);
    EXPECT_TRUE(line.still);
  }
  const Line moved = row(1'000'000'000, 40'000'000);
  EXPECT_TRUE(moved.present);
  EXPECT_DOUBLE_EQ(moved.value, 40'000'000);
  EXPECT_DOUBLE_EQ(moved.over_s, 1);
  Counts counts;
  counts.seconds = 0.25;
  EXPECT_DOUBLE_EQ(beside(moved, counts).number, 40);
  EXPECT_DOUBLE_EQ(row(1'250'000'000, 60'000'000).over_s, 0.25);
}

TEST(StatCounts, EnergyThatOneOfShortRunsSawIsOfAllOfThem) {
  Counts still = one_run(0), moved = one_run(30);
  for (Counts* const run : {&still, &moved}) {
    run->lines[0].unit = "J";
    leave_out_still(&run->lines[0]);
  }
  const Line mean = mean_of({still, still, moved}).lines[0];
  EXPECT_TRUE(mean.present);
  EXPECT_FALSE(mean.still);
  EXPECT_DOUBLE_EQ(mean.value, 10);
  EXPECT_TRUE(mean_of({still, still}).lines[0].still);
}

}  // namespace
