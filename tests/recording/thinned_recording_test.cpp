// A long recording is read in fewer rows: totals stay exact, no peak is lost, nothing is made up, and the report says
// so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "recording/reader.hpp"
#include "recording/statistics.hpp"
#include "recording/text_report.hpp"
#include "recording/timeline.hpp"
#include "recording/writer.hpp"
#include "support/temporary_folder.hpp"
#include "synthetic.hpp"

namespace {

using namespace substrata;
using namespace substrata::recording;
using ::testing::HasSubstr;
using ::testing::Not;
using tests::kSecond;

constexpr std::int64_t kStep = kSecond / 10;
constexpr std::size_t kRows = 100'000, kMost = 8192;

std::int64_t count_at(std::size_t row) { return static_cast<std::int64_t>(row) * 7; }
// Noise without a pattern, one peak and one dip.
std::int64_t level_at(std::size_t row) {
  if (row == 54'321) return 99'999;
  if (row == 77'777) return 1;
  return static_cast<std::int64_t>(40'000 + ((row * 2654435761u) >> 7) % 1000);
}

class LongRecording : public testing::Test {
 protected:
  // `absent`: rows without values.
  void write(std::size_t absent_from = 0, std::size_t absent_to = 0) const {
    FileWriter writer(path(), FileWriter::Mode::kReplace, tests::machine("node", "boot"));
    const std::uint32_t set = writer.declare({tests::count_series("work"), tests::gauge_series("heat")});
    for (std::size_t row = 0; row < kRows; ++row) {
      const std::int64_t values[2] = {count_at(row), level_at(row)};
      const std::uint8_t flag = row >= absent_from && row < absent_to ? kAbsent : 0;
      const std::uint8_t flags[2] = {flag, flag};
      writer.sample(set, kSecond + static_cast<std::int64_t>(row) * kStep, 1000, values, flags);
    }
    writer.end(kSecond + static_cast<std::int64_t>(kRows) * kStep, {});
  }
  static std::size_t row_of(const SampleSet& set, std::size_t kept) {
    return static_cast<std::size_t>((set.times[kept] - kSecond) / kStep);
  }
  std::string path() const { return folder_ / "long.sub"; }

  tests::TemporaryFolder folder_;
};

TEST_F(LongRecording, IsReadInNoMoreSamplesThanWereAskedFor) {
  write();
  const Recording read = read_file(path(), kMost);
  const SampleSet& set = read.writers.at(0).sets.at(0);
  EXPECT_LE(2 * set.times.size(), kMost);
  EXPECT_GE(2 * set.times.size(), kMost / 4);
  EXPECT_EQ(read.rows(), kRows) << "as the writer took them";
  EXPECT_GE(read.step(), kRows * 2 / kMost);
  EXPECT_TRUE(read.complete());
}

TEST_F(LongRecording, HasExactCountsInEachRowThatStays) {
  write();
  const Recording read = read_file(path(), kMost);
  const Writer& writer = read.writers.at(0);
  for (std::size_t i = 0; i < writer.sets[0].times.size(); ++i)
    ASSERT_EQ(writer.series[0].values[i], count_at(row_of(writer.sets[0], i))) << i;
  EXPECT_EQ(writer.series[0].values.back(), count_at(kRows - 1)) << "the last row stays";
}

TEST_F(LongRecording, LosesNoPeakAndNoDip) {
  write();
  const Recording read = read_file(path(), kMost);
  const std::vector<std::int64_t>& levels = read.writers.at(0).series[1].values;
  EXPECT_EQ(*std::max_element(levels.begin(), levels.end()), 99'999);
  EXPECT_EQ(*std::min_element(levels.begin(), levels.end()), 1);
}

// The slow way: of every stretch the extremes of all rows are among the rows that stay around it.
TEST_F(LongRecording, HasTheExtremesOfEveryStretch) {
  write();
  const Recording read = read_file(path(), kMost);
  const SampleSet& set = read.writers.at(0).sets[0];
  const std::vector<std::int64_t>& levels = read.writers.at(0).series[1].values;
  const std::size_t group = 2 * set.step;
  for (std::size_t from = group; from + 3 * group < kRows; from += 3 * group + 1) {
    std::int64_t least = INT64_MAX, most = INT64_MIN, kept_least = INT64_MAX, kept_most = INT64_MIN;
    for (std::size_t row = from; row < from + 2 * group; ++row) {
      least = std::min(least, level_at(row));
      most = std::max(most, level_at(row));
    }
    for (std::size_t i = 0; i < set.times.size(); ++i) {
      if (row_of(set, i) + group < from || row_of(set, i) > from + 3 * group) continue;
      kept_least = std::min(kept_least, levels[i]);
      kept_most = std::max(kept_most, levels[i]);
    }
    ASSERT_LE(kept_least, least) << from;
    ASSERT_GE(kept_most, most) << from;
  }
}

TEST_F(LongRecording, HasNoLevelThatWasNotMeasured) {
  write();
  const Recording read = read_file(path(), kMost);
  const SampleSet& set = read.writers.at(0).sets[0];
  for (std::size_t i = 0; i < set.times.size(); ++i) {
    const std::size_t row = row_of(set, i), group = 2 * set.step;
    bool found = false;
    for (std::size_t other = row < group ? 0 : row - group; other <= std::min(row + group, kRows - 1);
         ++other)
      found = found || level_at(other) == read.writers[0].series[1].values[i];
    ASSERT_TRUE(found) << i;
  }
}

TEST_F(LongRecording, HasNoValuesWhereNoneWereRead) {
  write(20'000, 40'000);
  const Recording read = read_file(path(), kMost);
  const Writer& writer = read.writers.at(0);
  std::size_t absent = 0;
  for (std::size_t i = 0; i < writer.sets[0].times.size(); ++i) {
    const std::size_t row = row_of(writer.sets[0], i), group = 2 * writer.sets[0].step;
    for (const Series& series : writer.series) {
      if (row >= 20'000 + group && row + group < 40'000) {
        ASSERT_FALSE(series.present_at(i)) << row;
        ++absent;
      }
      if (row + group < 20'000 || row >= 40'000 + group) {
        ASSERT_TRUE(series.present_at(i)) << row;
      }
    }
  }
  EXPECT_GT(absent, 100u);
}

TEST_F(LongRecording, LeavesAShortWriterWhole) {
  write();
  {
    FileWriter writer(path(), FileWriter::Mode::kAppend, tests::machine("other", "boot"));
    tests::sample_functions(
        writer, 500, 0.1, [](double at) { return at; }, [](double at) { return at; });
    writer.end(100 * kSecond, {});
  }
  const Recording read = read_file(path(), 2000);
  ASSERT_EQ(read.writers.size(), 2u);
  EXPECT_EQ(read.writers[1].sets[0].times.size(), 500u);
  EXPECT_LE(2 * read.writers[0].sets[0].times.size(), 2000u);
}

TEST_F(LongRecording, SaysInItsReportHowItWasRead) {
  write();
  const auto report = [&](std::size_t most) {
    const Recording read = read_file(path(), most);
    std::ostringstream text;
    write_text_report(text, lay_out(read), "long.sub");
    return text.str();
  };
  EXPECT_THAT(report(kMost), HasSubstr("in steps of 32 rows"));
  EXPECT_THAT(report(kMost), HasSubstr("100000 rows"));
  EXPECT_THAT(report(kAllSamples), Not(HasSubstr("in steps of")));
}

TEST_F(LongRecording, HasTheSameTotalAndTheSameExtremesInItsStatistics) {
  write();
  const Recording few = read_file(path(), kMost), all = read_file(path());
  const Timeline short_line = lay_out(few), whole_line = lay_out(all);
  const Summary short_work = summarize(short_line.traces[0]), work = summarize(whole_line.traces[0]);
  const Summary short_heat = summarize(short_line.traces[1]), heat = summarize(whole_line.traces[1]);
  EXPECT_EQ(short_work.total, work.total);
  EXPECT_NEAR(short_work.rate.mean, work.rate.mean, 1e-6 * work.rate.mean);
  EXPECT_EQ(short_heat.level.max, heat.level.max);
  EXPECT_EQ(short_heat.level.min, heat.level.min);
  EXPECT_NEAR(short_heat.level.mean, heat.level.mean, 0.01 * heat.level.mean);
}

// What is read in pieces has the same faults at the same places as what is in memory.
TEST_F(LongRecording, ThatIsDamagedHasTheSameDamagesInPiecesAsInMemory) {
  write();
  std::vector<unsigned char> bytes = tests::bytes_of(path());
  ASSERT_GT(bytes.size(), std::size_t{200} << 10);
  for (const std::size_t place : {bytes.size() / 7, bytes.size() / 3, bytes.size() - 5'000}) {
    bytes[place] ^= 0x55;
    std::ofstream(path(), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    const Recording pieces = read_file(path()), memory = parse(bytes.data(), bytes.size());
    ASSERT_FALSE(memory.damages.empty());
    ASSERT_EQ(pieces.damages.size(), memory.damages.size());
    for (std::size_t i = 0; i < memory.damages.size(); ++i) {
      EXPECT_EQ(pieces.damages[i].offset, memory.damages[i].offset);
      EXPECT_EQ(pieces.damages[i].bytes, memory.damages[i].bytes);
      EXPECT_EQ(pieces.damages[i].reason, memory.damages[i].reason);
    }
    EXPECT_EQ(pieces.writers.at(0).series.at(1).values, memory.writers.at(0).series.at(1).values);
  }
}

}  // namespace
