// The recording's format: what is written is read, and what is damaged is reported while the rest is kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <cstring>
#include <filesystem>

#include "recording/bytes.hpp"
#include "recording/format.hpp"
#include "recording/timeline.hpp"
#include "support/program.hpp"
#include "synthetic.hpp"

namespace {

using namespace substrata::recording;
using namespace substrata::tests;
using testing::HasSubstr;

// CO-3
TEST(RecordFormat, WhatIsWrittenIsRead) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  const std::int64_t rows[3][3] = {{0, INT64_MIN, -1}, {5, INT64_MAX, 7}, {INT64_MAX, 0, -9}};
  {
    FileWriter writer(path, FileWriter::Mode::kReplace, machine("a", "boot"));
    SeriesInfo real = gauge_series("real");
    real.type = Type::kDouble;
    const std::uint32_t first = writer.declare({count_series("one"), count_series("two"), real});
    const std::uint32_t second = writer.declare({});
    EXPECT_NE(first, second);
    for (int i = 0; i < 3; ++i) {
      std::int64_t values[3] = {rows[i][0], rows[i][1], 0};
      const double level = static_cast<double>(rows[i][2]) / 3;
      std::memcpy(&values[2], &level, sizeof level);
      const std::uint8_t flags[3] = {i == 1 ? std::uint8_t{kScaled} : std::uint8_t{0},
                                     i == 2 ? std::uint8_t{kAbsent} : std::uint8_t{0}, 0};
      writer.sample(first, i == 2 ? INT64_MIN : i, i * 10, values, flags);
      if (i == 0) writer.flush();
    }
    writer.mark({MarkKind::kBegin, 17, -1, "compute \xff\n"});
    writer.mark({MarkKind::kEnd, -3, 5, ""});
    writer.clock({1, -2, 3, "boot"});
    writer.attach({"summary", "application/json", std::string("a\0b", 3)});
    writer.properties({{"later", "yes"}, {"host", "b"}});
    writer.end(99, {{"exit", "exit status 0"}});
  }
  const Recording read = read_file(path);
  EXPECT_TRUE(read.complete());
  ASSERT_EQ(read.writers.size(), 1u);
  const Writer& writer = read.writers[0];
  EXPECT_EQ(property(writer.properties, "host"), "b");
  EXPECT_EQ(property(writer.properties, "later"), "yes");
  EXPECT_EQ(property(writer.properties, "machine.boot_id"), "boot");
  ASSERT_EQ(writer.series.size(), 3u);
  EXPECT_EQ(writer.series[1].name, "two");
  EXPECT_EQ(writer.series[2].kind, Kind::kGauge);
  EXPECT_TRUE(writer.series[2].modelled);
  EXPECT_EQ(writer.sets[0].times, (std::vector<std::int64_t>{0, 1, INT64_MIN}));
  EXPECT_EQ(writer.sets[0].skews, (std::vector<std::int64_t>{0, 10, 20}));
  EXPECT_EQ(writer.series[0].values, (std::vector<std::int64_t>{0, 5, INT64_MAX}));
  EXPECT_EQ(writer.series[0].flags, (std::vector<std::uint8_t>{0, kScaled, 0}));
  EXPECT_EQ(writer.series[1].values, (std::vector<std::int64_t>{INT64_MIN, INT64_MAX, 0}));
  EXPECT_FALSE(writer.series[1].present_at(2));
  EXPECT_EQ(writer.series[2].value_at(2), -3.0);
  ASSERT_EQ(writer.marks.size(), 2u);
  EXPECT_EQ(writer.marks[0].name, "compute \xff\n");
  EXPECT_EQ(writer.marks[1].time, -3);
  EXPECT_EQ(writer.marks[1].rank, 5);
  ASSERT_EQ(writer.clocks.size(), 1u);
  EXPECT_EQ(writer.clocks[0].offset, -2);
  ASSERT_EQ(writer.attachments.size(), 1u);
  EXPECT_EQ(writer.attachments[0].content.size(), 3u);
  EXPECT_EQ(writer.end_time, 99);
}

std::vector<unsigned char> small_record(const TemporaryFolder& folder, std::size_t flushes) {
  const std::string path = folder.file("small");
  FileWriter writer(path, FileWriter::Mode::kReplace, machine("a", "boot"));
  const std::uint32_t set = writer.declare({count_series("one")});
  for (std::size_t i = 0; i < flushes; ++i) {
    const std::int64_t value = static_cast<std::int64_t>(i) * 1000;
    const std::uint8_t flags = 0;
    writer.sample(set, static_cast<std::int64_t>(i), 0, &value, &flags);
    writer.flush();
  }
  writer.end(static_cast<std::int64_t>(flushes), {});
  return bytes_of(path);
}

// CO-3: readable after a crash up to the last flush, wherever the file ends.
TEST(RecordFormat, CutOffAnywhereItKeepsWhatWasFlushed) {
  const TemporaryFolder folder;
  const std::vector<unsigned char> whole = small_record(folder, 4);
  std::size_t rows_before = 0;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Recording read = parse(whole.data(), size);
    EXPECT_FALSE(read.complete()) << size;
    std::size_t rows = 0;
    for (const Writer& writer : read.writers)
      for (const SampleSet& set : writer.sets) rows += set.times.size();
    EXPECT_GE(rows, rows_before) << "a longer file has no fewer rows, " << size;
    rows_before = rows;
  }
  EXPECT_EQ(rows_before, 4u);
  EXPECT_TRUE(parse(whole.data(), whole.size()).complete());
  const Recording cut = parse(whole.data(), whole.size() - 1);
  ASSERT_EQ(cut.damages.size(), 1u);
  EXPECT_THAT(cut.damages[0].reason, HasSubstr("cut off"));
}

TEST(RecordFormat, AnyChangedByteIsNoticedAndTheOtherChunksAreKept) {
  const TemporaryFolder folder;
  const std::vector<unsigned char> whole = small_record(folder, 4);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::vector<unsigned char> changed = whole;
    changed[at] ^= 0x10;
    const Recording read = parse(changed.data(), changed.size());
    EXPECT_FALSE(read.damages.empty()) << at;
    // One chunk is lost; without the series' own chunk its samples mean nothing.
    EXPECT_GE(read.chunks, 6u) << at;
  }
}

TEST(RecordFormat, RecordsPutOneAfterTheOtherAreARecord) {
  const TemporaryFolder folder;
  std::vector<unsigned char> both = small_record(folder, 2);
  const std::vector<unsigned char> second = small_record(folder, 3);
  both.insert(both.end(), second.begin(), second.end());
  const Recording read = parse(both.data(), both.size());
  EXPECT_TRUE(read.complete());
  ASSERT_EQ(read.writers.size(), 2u);
  EXPECT_EQ(read.writers[1].sets[0].times.size(), 3u);
}

// CO-3, CO-7: the ranks of a node append to one file.
TEST(RecordFormat, SeveralProcessesAppendToOneFile) {
  const TemporaryFolder folder;
  const std::string path = folder.file("shared");
  constexpr int kProcesses = 8, kFlushes = 50;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = fork();
    if (child == 0) {
      FileWriter writer(path, FileWriter::Mode::kAppend, machine("a", "boot"));
      const std::uint32_t set = writer.declare({count_series("one")});
      for (int i = 0; i < kFlushes; ++i) {
        const std::int64_t value = i;
        const std::uint8_t flags = 0;
        writer.sample(set, i, 0, &value, &flags);
        writer.flush();
      }
      writer.end(kFlushes, {});
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  const Recording read = read_file(path);
  EXPECT_TRUE(read.complete());
  ASSERT_EQ(read.writers.size(), static_cast<std::size_t>(kProcesses));
  for (const Writer& writer : read.writers)
    EXPECT_EQ(writer.sets.at(0).times.size(), static_cast<std::size_t>(kFlushes));
}

std::vector<unsigned char> chunk_of(std::uint16_t type, std::uint16_t version, std::uint32_t sequence,
                                    const std::vector<unsigned char>& payload) {
  ChunkHeader header;
  header.type = static_cast<ChunkType>(type);
  header.version = version;
  header.writer = 7;
  header.sequence = sequence;
  header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  header.payload_check = check_sum(payload.data(), payload.size());
  std::vector<unsigned char> out(kChunkHeaderBytes);
  encode_chunk_header(header, out.data());
  out.insert(out.end(), payload.begin(), payload.end());
  return out;
}

TEST(RecordFormat, ChunksOfUnknownTypeArePassedOver) {
  std::vector<unsigned char> bytes = chunk_of(1, kFormatVersion, 0, {0});
  const std::vector<unsigned char> unknown = chunk_of(99, kFormatVersion, 1, {1, 2, 3});
  const std::vector<unsigned char> end = chunk_of(7, kFormatVersion, 2, {0, 0});
  bytes.insert(bytes.end(), unknown.begin(), unknown.end());
  bytes.insert(bytes.end(), end.begin(), end.end());
  const Recording read = parse(bytes.data(), bytes.size());
  EXPECT_TRUE(read.complete());
  EXPECT_EQ(read.unknown_chunks, 1u);
}

TEST(RecordFormat, ANewerVersionIsRefusedWithAMessage) {
  const TemporaryFolder folder;
  const std::vector<unsigned char> bytes = chunk_of(1, kFormatVersion + 1, 0, {0});
  std::ofstream(folder.file("new"), std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  try {
    read_file(folder.file("new"));
    FAIL() << "was read";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("version 2"));
  }
}

TEST(RecordFormat, WhatIsNoRecordIsRefused) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("text")) << "not a recording\n";
  std::ofstream(folder.file("empty"));
  EXPECT_THROW(read_file(folder.file("text")), std::runtime_error);
  EXPECT_THROW(read_file(folder.file("empty")), std::runtime_error);
  EXPECT_THROW(read_file(folder.file("absent")), std::system_error);
  EXPECT_THROW(read_file(folder.path()), std::runtime_error);
  EXPECT_THROW(FileWriter(folder.file("no/such/folder"), FileWriter::Mode::kReplace, {}), std::system_error);
}

TEST(RecordFormat, CheckSumIsThatOfZlib) {
  const char* text = "123456789";
  EXPECT_EQ(check_sum(reinterpret_cast<const unsigned char*>(text), 9), 0xCBF43926u);
}

TEST(RecordFormat, NumbersKeepTheirEnds) {
  ByteWriter out;
  const std::int64_t numbers[] = {0, -1, 1, 63, 64, -64, -65, INT64_MAX, INT64_MIN};
  for (const std::int64_t number : numbers) out.signed_number(number);
  out.number(UINT64_MAX);
  ByteReader in(out.bytes().data(), out.bytes().size());
  for (const std::int64_t number : numbers) {
    std::int64_t read = 0;
    ASSERT_TRUE(in.signed_number(&read));
    EXPECT_EQ(read, number);
  }
  std::uint64_t most = 0;
  ASSERT_TRUE(in.number(&most));
  EXPECT_EQ(most, UINT64_MAX);
  EXPECT_EQ(in.left(), 0u);
  EXPECT_FALSE(in.number(&most));
  // A text that claims one byte more than follow.
  const unsigned char short_by_one[3] = {3, 'a', 'b'};
  ByteReader cut(short_by_one, sizeof short_by_one);
  std::string text;
  EXPECT_FALSE(cut.text(&text));
  EXPECT_EQ(cut.left(), 0u);
  // Ten bytes of which the last is too large.
  const unsigned char large[10] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02};
  ByteReader refused(large, sizeof large);
  EXPECT_FALSE(refused.number(&most));
}

}  // namespace
