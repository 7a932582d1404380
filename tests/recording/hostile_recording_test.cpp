// Recordings made to hurt their reader, and writers that cannot write: what they cost is bounded by what they hold.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "recording/bytes.hpp"
#include "recording/format.hpp"
#include "recording/reader.hpp"
#include "recording/writer.hpp"
#include "support/program.hpp"
#include "synthetic.hpp"

namespace {

using namespace substrata::recording;
using namespace substrata::tests;

void append(std::vector<unsigned char>* file, const std::vector<unsigned char>& bytes) {
  file->insert(file->end(), bytes.begin(), bytes.end());
}

// Where every property is looked for among all before it, this does not end before the test's time does.
TEST(HostileRecording, ManyPropertiesOfManyNamesAreReadInOneGo) {
  constexpr int kCount = 400'000;
  Properties many;
  for (int i = 0; i < kCount; ++i) many.emplace_back(std::to_string(i), "");
  ChunkEncoder encoder(1);
  const std::vector<unsigned char> file = encoder.chunk(ChunkType::kWriter, encode_properties(many));
  const Recording read = parse(file.data(), file.size());
  ASSERT_EQ(read.writers.size(), 1u);
  EXPECT_EQ(read.writers[0].properties.size(), static_cast<std::size_t>(kCount));
}

TEST(HostileRecording, HeadersNestedInBrokenChunksAreNotFollowedOneByOne) {
  constexpr std::size_t kHeaders = 6000;
  std::vector<unsigned char> file;
  for (std::size_t i = 0; i < kHeaders; ++i) {
    ChunkHeader header;
    header.type = ChunkType::kMarks;
    header.payload_bytes = static_cast<std::uint32_t>((kHeaders - i - 1) * kChunkHeaderBytes);
    header.payload_check = 0x12345678;
    std::vector<unsigned char> one(kChunkHeaderBytes);
    encode_chunk_header(header, one.data());
    append(&file, one);
  }
  const Recording read = parse(file.data(), file.size());
  EXPECT_LT(read.damages.size(), 100u) << "each of these was searched to the end of the file";
}

TEST(HostileRecording, AChunkInsideABrokenOneOfAnotherWriterIsStillFound) {
  ChunkEncoder cut_off(1), whole(2);
  std::vector<unsigned char> file =
      cut_off.chunk(ChunkType::kWriter, encode_properties({{"host", std::string(1000, 'a')}}));
  file.resize(file.size() - 900);  // its process was killed while it wrote
  append(&file, whole.chunk(ChunkType::kWriter, encode_properties({{"host", std::string(2000, 'b')}})));
  const Recording read = parse(file.data(), file.size());
  ASSERT_EQ(read.writers.size(), 1u);
  EXPECT_EQ(read.writers[0].id, 2u);
}

TEST(RecordingWriter, NeverWritesAChunkThatItsReaderRefuses) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  constexpr int kSeries = 1000;
  constexpr int kRows = 4000;  // 40 MB of values before the first flush
  {
    FileWriter writer(path, FileWriter::Mode::kReplace, {});
    const std::uint32_t set = writer.declare(std::vector<SeriesInfo>(kSeries, count_series("one")));
    std::vector<std::int64_t> values(kSeries);
    const std::vector<std::uint8_t> flags(kSeries);
    for (int row = 0; row < kRows; ++row) {
      for (std::int64_t& value : values) value = row % 2 == 0 ? INT64_MAX / 2 : INT64_MIN / 2;
      writer.sample(set, row, 0, values.data(), flags.data());
    }
    EXPECT_GT(writer.bytes_written(), 16u << 20) << "all of it waits for a flush";
    writer.end(kRows, {});
  }
  const Recording read = read_file(path);
  EXPECT_TRUE(read.complete());
  EXPECT_EQ(read.writers.at(0).sets.at(0).times.size(), static_cast<std::size_t>(kRows));
}

TEST(RecordingWriter, RefusesWhatNoChunkHolds) {
  ChunkEncoder encoder(1);
  ByteWriter payload;
  payload.text(std::string(kMostPayloadBytes, 'x'));
  EXPECT_THROW(encoder.chunk(ChunkType::kAttachment, payload), std::length_error);
}

TEST(RecordingWriter, AFailedWriteLeavesTheRecordingAsLongAsItWas) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  FileWriter writer(path, FileWriter::Mode::kReplace, {{"host", "a"}});
  const auto size = std::filesystem::file_size(path);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{size + 1000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THROW(writer.attach({"large", "text/plain", std::string(100'000, 'x')}), std::system_error);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(std::filesystem::file_size(path), size);
  EXPECT_TRUE(read_file(path).damages.empty());
}

}  // namespace
