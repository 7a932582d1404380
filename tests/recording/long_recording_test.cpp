// Ten hours of sampling, simulated: what a recorder writes in that time, and what is read back from it.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "recording/format.hpp"
#include "recording/reader.hpp"
#include "recording/writer.hpp"
#include "support/temporary_folder.hpp"
#include "synthetic.hpp"

namespace {

using namespace substrata;
using tests::kSecond;

constexpr std::int64_t kStep = kSecond / 10;
constexpr std::int64_t kRows = std::int64_t{10} * 3600 * 10;
constexpr std::int64_t kSuspended = std::int64_t{3} * 3600 * kSecond;

std::size_t allocated() {
  const struct mallinfo2 about = mallinfo2();
  return about.uordblks + about.hblkhd;
}

// Ten hours of rows every 100 ms, flushed every second; in the middle the clock goes on by `pause` at once.
class TenHours : public testing::TestWithParam<std::int64_t> {
 protected:
  static std::int64_t time_of(std::int64_t row) {
    return kSecond + row * kStep + (row > kRows / 2 ? GetParam() : 0);
  }
  void SetUp() override {
    recording::FileWriter writer(path(), recording::FileWriter::Mode::kReplace,
                                 tests::machine("node", "boot"));
    const std::uint32_t set = writer.declare({tests::count_series("work"), tests::gauge_series("heat")});
    std::size_t after_a_minute = 0;
    for (std::int64_t row = 0; row < kRows; ++row) {
      const std::int64_t values[2] = {row * 1000, 45000 + row % 100};
      const std::uint8_t flags[2] = {};
      writer.sample(set, time_of(row), 1000, values, flags);
      if (row % 10 == 9) writer.flush();
      if (row == 600) after_a_minute = allocated();
    }
    growth_ = static_cast<std::int64_t>(allocated()) - static_cast<std::int64_t>(after_a_minute);
    writer.end(time_of(kRows), {});
  }
  std::string path() const { return folder_ / "ten_hours.sub"; }

  tests::TemporaryFolder folder_;
  std::int64_t growth_ = 0;
};

TEST_P(TenHours, AreWrittenInConstantMemory) { EXPECT_LT(growth_, 64 << 10); }

TEST_P(TenHours, AreReadBackRowForRowWithoutDrift) {
  const recording::Recording recording = recording::read_file(path());
  ASSERT_EQ(recording.writers.size(), 1u);
  const recording::Writer& writer = recording.writers.front();
  ASSERT_EQ(writer.sets.front().times.size(), static_cast<std::size_t>(kRows));
  for (std::int64_t row = 0; row < kRows; ++row) {
    const auto at = static_cast<std::size_t>(row);
    ASSERT_EQ(writer.sets.front().times[at], time_of(row)) << row;
    ASSERT_EQ(writer.series[0].values[at], row * 1000) << row;
    ASSERT_EQ(writer.series[1].values[at], 45000 + row % 100) << row;
  }
}

TEST_P(TenHours, AreChunksOfOneSecondEach) {
  const std::vector<unsigned char> bytes = tests::bytes_of(path());
  std::size_t most = 0, chunks = 0;
  for (std::size_t at = 0; at < bytes.size(); ++chunks) {
    recording::ChunkHeader header;
    ASSERT_LE(at + recording::kChunkHeaderBytes, bytes.size());
    ASSERT_TRUE(recording::decode_chunk_header(bytes.data() + at, &header)) << at;
    most = std::max<std::size_t>(most, header.payload_bytes);
    at += recording::kChunkHeaderBytes + header.payload_bytes;
  }
  EXPECT_GE(chunks, static_cast<std::size_t>(kRows / 10));
  EXPECT_LT(most, 1024u);
}

INSTANTIATE_TEST_SUITE_P(Of, TenHours, testing::Values(0, kSuspended), [](const auto& each) {
  return each.param == 0 ? "Sampling" : "SamplingAndASuspendedMachine";
});

// Rows that are never flushed by the recorder are, before they become a chunk that no reader takes.
TEST(RowsThatNobodyFlushes, AreWrittenInBoundedChunks) {
  const tests::TemporaryFolder folder;
  const std::string path = folder / "run.sub";
  {
    recording::FileWriter writer(path, recording::FileWriter::Mode::kReplace, tests::machine("node", "boot"));
    std::vector<recording::SeriesInfo> series(64, tests::count_series("work"));
    for (std::size_t i = 0; i < series.size(); ++i) series[i].name += std::to_string(i);
    const std::uint32_t set = writer.declare(series);
    std::vector<std::int64_t> values(series.size());
    const std::vector<std::uint8_t> flags(series.size());
    const std::uint64_t before = writer.bytes_written();
    for (std::int64_t row = 0; row < 60'000; ++row) {
      for (std::int64_t& value : values)
        value = static_cast<std::int64_t>(static_cast<std::uint64_t>(row) * 0x9E3779B97F4A7C15u);
      writer.sample(set, row * kStep, 0, values.data(), flags.data());
    }
    EXPECT_GT(writer.bytes_written(), before) << "60,000 rows of 64 series wait in memory";
  }
}

}  // namespace
