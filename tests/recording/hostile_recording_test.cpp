// Recordings made to hurt their reader, and writers that cannot write: what they cost is bounded by what they hold.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
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
  const rlimit small{size + 1000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THROW(writer.attach({"large", "text/plain", std::string(100'000, 'x')}), std::system_error);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(std::filesystem::file_size(path), size);
  EXPECT_TRUE(read_file(path).damages.empty());
}

// In a process of its own, which sees a file system of 128 KiB where `folder` is: fills it, makes place again, goes on.
int write_where_it_is_full(const TemporaryFolder& folder) {
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("full", folder.path().c_str(), "tmpfs", 0, "size=128k") != 0)
    return 77;
  const std::string path = folder.file("r.sub");
  FileWriter writer(path, FileWriter::Mode::kReplace, {{"host", "a"}});
  std::ofstream(folder.file("ballast")) << std::string(64 * 1024, 'x');
  const auto size = std::filesystem::file_size(path);
  try {
    writer.attach({"large", "text/plain", std::string(200'000, 'x')});
    return 1;
  } catch (const std::system_error& error) {
    if (error.code().value() != ENOSPC) return 2;
  }
  if (std::filesystem::file_size(path) != size) return 3;
  if (!read_file(path).damages.empty()) return 4;
  std::filesystem::remove(folder.file("ballast"));
  writer.attach({"small", "text/plain", std::string(50'000, 'x')});
  writer.end(1, {});
  return read_file(path).writers.at(0).attachments.size() == 1 ? 0 : 5;
}

TEST(RecordingWriter, OnAFullFileSystemTheRecordingStaysAsItWasAndGoesOnWhenThereIsPlace) {
  const TemporaryFolder folder;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(write_where_it_is_full(folder));
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "a file system cannot be mounted here";
  EXPECT_EQ(status, 0) << "exit status " << WEXITSTATUS(status);
}

}  // namespace
