// Statistics on synthetic series whose totals, levels, lag, gain and noise are known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <sstream>

#include "page_data.hpp"
#include "recording/exports.hpp"
#include "recording/html_report.hpp"
#include "recording/regions.hpp"
#include "recording/statistics.hpp"
#include "recording/text_report.hpp"
#include "recording/timeline.hpp"
#include "synthetic.hpp"

namespace {

using namespace substrata::recording;
using namespace substrata::tests;
using testing::HasSubstr;

const Trace& named(const Timeline& timeline, const std::string& name) {
  for (const Trace& trace : timeline.traces)
    if (trace.series->name == name) return trace;
  throw std::runtime_error("no series " + name);
}

// CO-5
TEST(RecordStatistics, OfACountAndAGaugeOfKnownCourse) {
  MemorySink sink(machine("a", "boot"));
  sample_functions(
      sink, 101, 0.1, [](double t) { return 1000 * t; }, [](double t) { return 40000 + 100 * t; });
  sink.end(11 * kSecond, {});
  const Timeline timeline = lay_out(sink.recording());
  const Summary work = summarize(named(timeline, "work"));
  EXPECT_DOUBLE_EQ(work.total, 10000);
  EXPECT_NEAR(work.rate.mean, 1000, 1e-6);
  EXPECT_NEAR(work.rate.min, 1000, 1e-3);
  EXPECT_NEAR(work.rate.max, 1000, 1e-3);
  const Summary heat = summarize(named(timeline, "heat"));
  EXPECT_NEAR(heat.level.mean, 40500, 1e-6);
  EXPECT_DOUBLE_EQ(heat.level.min, 40000);
  EXPECT_DOUBLE_EQ(heat.level.max, 41000);
  EXPECT_DOUBLE_EQ(heat.change, 1000);
  EXPECT_NEAR(heat.level.deviation, 1000 / std::sqrt(12.0), 1e-6);  // of a uniform distribution
}

// CO-5: 'which region heats the package'
TEST(RecordStatistics, WithinRegionsTheAmountsAreThoseOfTheRegion) {
  MemorySink sink(machine("a", "boot"));
  // Works and heats in [2, 5) and rests else.
  const auto busy = [](double t) { return std::clamp(t - 2, 0.0, 3.0); };
  sample_functions(
      sink, 101, 0.1, [&](double t) { return 500 * busy(t); },
      [&](double t) { return 40000 + 1000 * busy(t); });
  sink.mark({MarkKind::kBegin, kSecond, -1, "before"});
  sink.mark({MarkKind::kEnd, 3 * kSecond, -1, ""});
  sink.mark({MarkKind::kBegin, 3 * kSecond, -1, "busy"});
  sink.mark({MarkKind::kEnd, 6 * kSecond, -1, "busy"});
  sink.mark({MarkKind::kBegin, 6 * kSecond, -1, "after"});
  sink.end(11 * kSecond, {});
  const Timeline timeline = lay_out(sink.recording());
  const std::vector<RegionTotals> regions = region_totals(timeline);
  ASSERT_EQ(regions.size(), 3u);
  EXPECT_EQ(regions[1].name, "busy");
  EXPECT_NEAR(regions[1].seconds, 3, 1e-9);
  EXPECT_EQ(regions[2].open, 1u);
  EXPECT_NEAR(regions[2].seconds, 5, 1e-9);
  const std::vector<Group> groups = group_traces(timeline);
  ASSERT_EQ(groups.size(), 2u);
  const RegionSummary work = summarize_within(groups[0], regions[1], timeline);
  EXPECT_NEAR(work.total, 1500, 1e-6);
  EXPECT_NEAR(work.rate, 500, 1e-6);
  EXPECT_NEAR(summarize_within(groups[0], regions[0], timeline).total, 0, 1e-6);
  const RegionSummary heat = summarize_within(groups[1], regions[1], timeline);
  EXPECT_NEAR(heat.rise, 1000, 1e-6);
  EXPECT_NEAR(heat.level, 41500, 1e-6);
  EXPECT_NEAR(summarize_within(groups[1], regions[2], timeline).rise, 0, 1e-6);

  std::ostringstream text;
  write_text_report(text, timeline, "synthetic");
  EXPECT_THAT(text.str(), HasSubstr("rises fastest in busy"));
  EXPECT_THAT(text.str(), HasSubstr("modelled"));
  EXPECT_THAT(text.str(), HasSubstr("after (not ended)"));
}

TEST(RecordStatistics, RegionsNestAndAreEndedByName) {
  MemorySink sink(machine("a", "boot"));
  sample_functions(
      sink, 11, 1, [](double t) { return t; }, [](double) { return 0; });
  std::int64_t at = kSecond;
  for (const auto& [kind, name] : std::vector<std::pair<MarkKind, std::string>>{{MarkKind::kBegin, "outer"},
                                                                                {MarkKind::kBegin, "inner"},
                                                                                {MarkKind::kEnd, "inner"},
                                                                                {MarkKind::kEnd, "nobody"},
                                                                                {MarkKind::kBegin, "inner"},
                                                                                {MarkKind::kEnd, "outer"},
                                                                                {MarkKind::kEnd, ""}})
    sink.mark({kind, at += kSecond, -1, name});
  const Timeline timeline = lay_out(sink.recording());
  ASSERT_EQ(timeline.regions.size(), 3u);
  EXPECT_EQ(timeline.regions[0].name, "outer");
  EXPECT_NEAR(timeline.regions[0].end - timeline.regions[0].begin, 5, 1e-9);
  EXPECT_EQ(timeline.regions[1].depth, 1u);
  EXPECT_NEAR(timeline.regions[1].end - timeline.regions[1].begin, 1, 1e-9);
  EXPECT_NEAR(timeline.regions[2].end - timeline.regions[2].begin, 2, 1e-9);
}

// Noise with memory: x[i] = keep x[i-1] + e.
Curve noise(std::size_t points, double keep, unsigned seed, double step = 0.1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Curve curve;
  double last = 0;
  for (std::size_t i = 0; i < points; ++i) {
    last = keep * last + normal(random);
    curve.seconds.push_back(static_cast<double>(i) * step);
    curve.values.push_back(last);
  }
  return curve;
}

// B follows A by `lag` points with a gain and noise of its own.
Curve following(const Curve& a, std::ptrdiff_t lag, double gain, double noise_share, unsigned seed) {
  Curve b = noise(a.seconds.size(), 0, seed);
  for (std::size_t i = 0; i < b.values.size(); ++i) {
    const std::ptrdiff_t from = static_cast<std::ptrdiff_t>(i) - lag;
    const double before = from >= 0 && from < static_cast<std::ptrdiff_t>(a.values.size())
                              ? a.values[static_cast<std::size_t>(from)]
                              : 0;
    b.values[i] = 100 + gain * before + noise_share * b.values[i];
  }
  return b;
}

// CO-5: correct on synthetic series of known lag and gain.
TEST(RecordCorrelation, FindsAKnownLagAndGain) {
  for (const std::ptrdiff_t lag : {0, 7, -12, 40}) {
    for (const double gain : {2.5, -0.3}) {
      const Curve a = noise(600, 0.8, 1);
      const Curve b = following(a, lag, gain, 0, 2);
      const Correlation found = correlate(a, b);
      EXPECT_NEAR(found.lag, 0.1 * static_cast<double>(lag), 0.02) << lag;
      EXPECT_NEAR(found.gain, gain, 0.02 * std::fabs(gain)) << lag;
      EXPECT_GT(std::fabs(found.best), 0.99);
      EXPECT_EQ(found.best > 0, gain > 0);
      EXPECT_LT(found.p_value, 1e-6);
    }
  }
}

TEST(RecordCorrelation, FindsItUnderNoise) {
  // Noise as large as the signal: r is 0.7, and the gain stays unbiased because B alone is noisy.
  const Curve a = noise(2000, 0.9, 3);
  const double deviation = spread_of(a.values).deviation;
  const Curve b = following(a, 15, 4, 4 * deviation, 4);
  const Correlation found = correlate(a, b);
  EXPECT_NEAR(found.lag, 1.5, 0.25);
  EXPECT_NEAR(found.gain, 4, 0.6);
  EXPECT_LT(found.p_value, 1e-3);
  EXPECT_LT(std::fabs(found.at_zero), std::fabs(found.best));
}

TEST(RecordCorrelation, LagBetweenGridPointsIsRefined) {
  // A slow sine, so that the curve between the points is known; B is a quarter of a step late.
  Curve a, b;
  for (int i = 0; i < 400; ++i) {
    const double at = 0.1 * i;
    a.seconds.push_back(at);
    a.values.push_back(std::sin(at) + 0.5 * std::sin(0.37 * at));
    b.seconds.push_back(at);
    b.values.push_back(std::sin(at - 0.325) + 0.5 * std::sin(0.37 * (at - 0.325)));
  }
  EXPECT_NEAR(correlate(a, b, 2).lag, 0.325, 0.01);
}

TEST(RecordCorrelation, SeriesOfDifferentIntervalsAreCompared) {
  Curve fast, slow;
  for (int i = 0; i < 2000; ++i) {
    fast.seconds.push_back(0.02 * i);
    fast.values.push_back(std::sin(0.02 * i) + std::sin(0.0071 * i));
  }
  for (int i = 0; i < 200; ++i) {
    slow.seconds.push_back(0.05 + 0.2 * i);
    slow.values.push_back(3 *
                          (std::sin(slow.seconds.back() - 1) + std::sin(0.355 * (slow.seconds.back() - 1))));
  }
  const Correlation found = correlate(fast, slow, 3);
  EXPECT_NEAR(found.lag, 1, 0.1);
  EXPECT_NEAR(found.gain, 3, 0.2);
}

// Independent pairs, also with memory, for which an uncorrected test finds significance nearly always.
TEST(RecordCorrelation, IndependentSeriesAreSeldomSignificant) {
  for (const double keep : {0.0, 0.9}) {
    int significant = 0;
    constexpr int kPairs = 100;
    for (int pair = 0; pair < kPairs; ++pair) {
      const Correlation found = correlate(noise(300, keep, 1000 + 2 * static_cast<unsigned>(pair)),
                                          noise(300, keep, 1001 + 2 * static_cast<unsigned>(pair)));
      EXPECT_GE(found.p_value, 0);
      EXPECT_LE(found.p_value, 1);
      significant += found.p_value < 0.05 ? 1 : 0;
    }
    EXPECT_LE(significant, 15) << "of 100 at the 5 % level, memory " << keep;
  }
}

TEST(RecordCorrelation, RefusesWhatCannotBeCompared) {
  const Curve a = noise(100, 0, 1);
  Curve flat = a, short_one = noise(5, 0, 2), later = a;
  for (double& value : flat.values) value = 3;
  for (double& at : later.seconds) at += 1000;
  EXPECT_THROW(correlate(a, flat), std::runtime_error);
  EXPECT_THROW(correlate(a, short_one), std::runtime_error);
  EXPECT_THROW(correlate(a, later), std::runtime_error);
  EXPECT_THROW(correlate(a, Curve{}), std::runtime_error);
}

TEST(RecordCorrelation, ALongRecordIsLookedAtOnACoarserGrid) {
  const Curve a = noise(50000, 0.99, 5, 0.001);
  const Correlation found = correlate(a, a, 0.1);
  EXPECT_EQ(found.points, 20000u);
  EXPECT_NEAR(found.lag, 0, 1e-3);
  EXPECT_NEAR(found.best, 1, 1e-6);
}

// CO-6: the same moment on two nodes whose clocks differ by a known, injected offset and drift.
TEST(RecordClocks, MeasuredOffsetsBringTwoNodesTogether) {
  const std::int64_t offset = 123'456'789'012, drift = 5'000;  // ns; 5 us later at the end
  MemorySink reference(machine("a", "boot-a", kSecond));
  sample_functions(
      reference, 11, 1, [](double t) { return t; }, [](double) { return 0; });
  // The other node's clock shows time - offset.
  MemorySink other(machine("b", "boot-b", kSecond - offset, 0));
  sample_functions(
      other, 11, 1, [](double t) { return t; }, [](double) { return 0; }, kSecond - offset);
  Recording both = reference.recording();
  both.writers.push_back(other.recording().writers[0]);
  both.writers[1].clocks.push_back({kSecond - offset, offset, 700, "boot-a"});
  both.writers[1].clocks.push_back({11 * kSecond - offset, offset + drift, 900, "boot-a"});
  const Timeline timeline = lay_out(both);
  EXPECT_EQ(timeline.clocks[0].alignment, Alignment::kSameClock);
  EXPECT_EQ(timeline.clocks[1].alignment, Alignment::kMeasured);
  EXPECT_EQ(timeline.clocks[1].uncertainty_ns, 900);
  ASSERT_EQ(timeline.traces.size(), 4u);
  for (std::size_t row = 0; row < 11; ++row) {
    EXPECT_NEAR(timeline.traces[0].seconds[row], static_cast<double>(row), 1e-9);
    EXPECT_NEAR(timeline.traces[2].seconds[row], static_cast<double>(row) * (1 + 0.5e-6), 2e-9);
  }
  std::ostringstream text;
  write_text_report(text, timeline, "two nodes");
  EXPECT_THAT(text.str(), HasSubstr("by measured offsets, known within 0.9 us"));
}

TEST(RecordTimeline, AStretchIsCutOutWithItsCounts) {
  MemorySink sink(machine("a", "boot-a", kSecond));
  sample_functions(
      sink, 21, 0.5, [](double t) { return 100 * t; }, [](double t) { return 40 + t; });
  sink.mark({MarkKind::kBegin, 2 * kSecond, -1, "solve"});
  sink.mark({MarkKind::kEnd, 7 * kSecond, -1, "solve"});
  const Timeline whole = lay_out(sink.recording());
  const Timeline part = cut_out(whole, 4, 8);
  EXPECT_EQ(part.seconds, 4);
  EXPECT_EQ(part.real_ns - whole.real_ns, 4 * kSecond);
  ASSERT_EQ(part.traces.size(), 2u);
  ASSERT_EQ(part.traces[0].seconds.size(), 9u);
  EXPECT_EQ(part.traces[0].seconds.front(), 0);
  EXPECT_EQ(part.traces[0].values.front(), 0);
  EXPECT_EQ(part.traces[0].values.back(), 400);
  EXPECT_EQ(part.traces[1].values.front(), 44) << "a level stays what it is";
  ASSERT_EQ(part.regions.size(), 1u);
  EXPECT_EQ(part.regions[0].begin, 0);
  EXPECT_EQ(part.regions[0].end, 2);
}

TEST(RecordClocks, WithoutMeasuredOffsetsTheTimeOfDayIsTakenAndThisIsReported) {
  MemorySink first(machine("a", "boot-a", 5 * kSecond, 1000 * kSecond));
  sample_functions(
      first, 3, 1, [](double t) { return t; }, [](double) { return 0; }, 5 * kSecond);
  MemorySink second(machine("b", "boot-b", 70 * kSecond, 1001 * kSecond));
  sample_functions(
      second, 3, 1, [](double t) { return t; }, [](double) { return 0; }, 70 * kSecond);
  Recording both = first.recording();
  both.writers.push_back(second.recording().writers[0]);
  const Timeline timeline = lay_out(both);
  EXPECT_EQ(timeline.clocks[1].alignment, Alignment::kWallClock);
  EXPECT_NEAR(timeline.traces[2].seconds.front(), 1, 1e-9);
  std::ostringstream text;
  write_text_report(text, timeline, "two nodes");
  EXPECT_THAT(text.str(), HasSubstr("not measured"));
}

// CO-7: many ranks, one report whose size does not grow with them.
TEST(RecordAggregation, TheReportOfManyWritersIsAsLongAsThatOfTwo) {
  const auto report_of = [](std::size_t writers, Recording* all) {
    for (std::size_t w = 0; w < writers; ++w) {
      Properties properties = machine("a", "boot");
      properties.emplace_back("mpi.rank", std::to_string(w));
      MemorySink sink(properties);
      sample_functions(
          sink, 20, 0.1, [&](double t) { return t * 100 * static_cast<double>(w + 1); },
          [](double) { return 5; });
      sink.end(3 * kSecond, {});
      all->writers.push_back(sink.recording().writers[0]);
    }
    std::ostringstream text;
    write_text_report(text, lay_out(*all), "many");
    return text.str();
  };
  Recording two, many;
  const std::string small = report_of(2, &two), large = report_of(256, &many);
  EXPECT_EQ(std::count(small.begin(), small.end(), '\n'), std::count(large.begin(), large.end(), '\n'));
  // Totals of 190, 380, ... over 256 writers: the table has min, mean, max and deviation.
  EXPECT_THAT(large, testing::ContainsRegex("work +256 +190 +24[.]41k +48[.]64k +14[.]04k +total"));
}

// 51550 mdegC and 1788486049 ns are not what a person reads.
Recording with_scaled_units() {
  MemorySink sink(machine("a", "boot"));
  const std::uint32_t set = sink.declare({count_series("clock", "ns"), gauge_series("heat", "mdegC")});
  sink.mark({MarkKind::kBegin, kSecond, -1, "all"});
  for (int i = 0; i < 3; ++i) {
    const std::int64_t values[] = {i * 990'000'000LL, 51'600};
    const std::uint8_t flags[] = {0, 0};
    sink.sample(set, kSecond + i * kSecond, 0, values, flags);
  }
  sink.mark({MarkKind::kEnd, 3 * kSecond, -1, "all"});
  sink.end(4 * kSecond, {});
  return sink.recording();
}

template <typename Write>
std::string report_with_scaled_units(Write write) {
  const Recording recording = with_scaled_units();
  std::ostringstream out;
  write(out, lay_out(recording), "units");
  return out.str();
}

TEST(RecordReport, UnitsAreThoseThatPeopleRead) {
  const std::string text = report_with_scaled_units(write_text_report);
  EXPECT_THAT(text, testing::ContainsRegex("clock +s +1[.]98 +0[.]99 "));
  EXPECT_THAT(text, testing::ContainsRegex("heat +degC +51[.]6 "));
}

TEST(RecordReport, UnitsOfRegionsAreThoseThatPeopleRead) {
  const std::string text = report_with_scaled_units(write_text_report);
  EXPECT_THAT(text, HasSubstr("s; CPUs"));
  EXPECT_THAT(text, testing::ContainsRegex("all [^\n]* 1[.]98; 0[.]99 "));
}

TEST(RecordReport, UnitsOfThePageAreThoseThatPeopleRead) {
  const std::string page = report_with_scaled_units(write_html_report);
  EXPECT_THAT(page, testing::HasSubstr("\"unit\":\"degC\""));
  const nlohmann::json series = data_of(page).at("series");
  EXPECT_NEAR(series[0].at("total").get<double>(), 1.98, 1e-9);
  EXPECT_EQ(series[0].at("unit"), "s");
  EXPECT_NEAR(series[1].at("mean").get<double>(), 51.6, 1e-9);
}

// What Prometheus and its dashboards expect.
TEST(RecordExport, MetricsAreInBaseUnits) {
  const Recording recording = with_scaled_units();
  std::ostringstream text;
  export_openmetrics(text, lay_out(recording));
  EXPECT_THAT(text.str(), testing::ContainsRegex("substrata_clock_seconds_total\\{[^}]*\\} 1[.]98 "));
  EXPECT_THAT(text.str(), testing::ContainsRegex("substrata_heat_celsius\\{[^}]*\\} 51[.]6 "));
}

// A counter that is renewed each second and looked at four times as often had 0 W, and then 160 W.
TEST(RecordReport, PowerIsOfTheTimeBetweenRenewalsOfACounterOfEnergy) {
  MemorySink sink(machine("a", "boot"));
  const std::uint32_t set = sink.declare({count_series("energy", "uJ")});
  for (int quarter = 0; quarter <= 40; ++quarter) {
    const std::int64_t value = 40'000'000 * (quarter / 4);
    const std::uint8_t flags = 0;
    sink.sample(set, kSecond + quarter * kSecond / 4, 0, &value, &flags);
  }
  sink.end(11 * kSecond, {});
  std::ostringstream text;
  write_text_report(text, lay_out(sink.recording()), "job");
  EXPECT_THAT(text.str(), testing::ContainsRegex("energy +J +400 +40 +40 +40 "));
}

TEST(RecordReport, NumbersAreShortAndTrue) {
  EXPECT_EQ(compact(0), "0");
  EXPECT_EQ(compact(9999), "9999");
  EXPECT_EQ(compact(12345), "12.35k");
  EXPECT_EQ(compact(-1.5e9), "-1500M");
  EXPECT_EQ(compact(0.25), "0.25");
  EXPECT_EQ(compact(0.0004431), "0.0004431");
  EXPECT_EQ(compact(1e-7), "1.00e-07");
  EXPECT_EQ(compact(INFINITY), "-");
}

}  // namespace
