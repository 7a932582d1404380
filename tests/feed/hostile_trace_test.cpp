// Traces made to hurt their reader: what they cost is bounded by what they hold.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <zstd.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "feed/trace_format.hpp"
#include "feed/trace_reader.hpp"

namespace substrata::feed::test {
namespace {

using Bytes = std::vector<unsigned char>;

// Appends a chunk with right check sums around any payload; gives its offset.
uint64_t append_chunk(ChunkType type, const Bytes& payload, Bytes* file) {
  Bytes stored(ZSTD_compressBound(payload.size()));
  stored.resize(ZSTD_compress(stored.data(), stored.size(), payload.data(), payload.size(), 3));
  ChunkHeader header;
  header.type = type;
  header.raw_bytes = static_cast<uint32_t>(payload.size());
  header.stored_bytes = static_cast<uint32_t>(stored.size());
  unsigned char head[kChunkHeaderBytes];
  encode_chunk_header(header, head);
  const uint64_t offset = file->size();
  file->insert(file->end(), head, head + sizeof head);
  file->insert(file->end(), stored.begin(), stored.end());
  return offset;
}

Bytes begun() {
  Bytes file(16);
  std::memcpy(file.data(), kTraceMagic, sizeof kTraceMagic);
  std::memcpy(file.data() + 8, &kTraceVersion, sizeof kTraceVersion);
  ByteWriter header;
  describe_fields(&header);
  header.number(0);
  header.text("");
  append_chunk(ChunkType::kHeader, header.bytes(), &file);
  return file;
}

void end(uint64_t index, Bytes* file) {
  unsigned char trailer[kTrailerBytes];
  encode_trailer(index, trailer);
  file->insert(file->end(), trailer, trailer + sizeof trailer);
}

// One source with a summary of 4 MiB, which compresses to some hundred bytes.
Bytes large_dictionary() {
  ByteWriter words;
  words.number(1);
  words.text("source");
  words.text(std::string(4u << 20, 'a'));
  words.number(0);
  words.number(0);
  words.number(1);
  words.number(0);  // no probe points
  return words.bytes();
}

long peak_kib() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return used.ru_maxrss;
}

void expect_opened_in_little_memory(const Bytes& file) {
  const long before = peak_kib();
  TraceReader reader("hostile", std::make_unique<MemoryBytes>(file.data(), file.size()));
  EXPECT_EQ(reader.open(), 0);
  EXPECT_LT(peak_kib() - before, 100L << 10) << "KiB for a file of " << file.size() << " bytes";
}

TEST(HostileTrace, AnIndexThatNamesOneDictionaryAgainAndAgainTakesNoMoreMemory) {
  Bytes file = begun();
  const uint64_t dictionary = append_chunk(ChunkType::kDictionary, large_dictionary(), &file);
  ByteWriter index;
  constexpr int kTimes = 400;
  index.number(kTimes);
  for (int i = 0; i < kTimes; ++i) index.number(dictionary);
  index.number(0);
  index.number(0);
  const uint64_t at = append_chunk(ChunkType::kIndex, index.bytes(), &file);
  end(at, &file);
  ASSERT_LT(file.size(), 4096u);

  expect_opened_in_little_memory(file);
}

TEST(HostileTrace, DictionariesAreReadUpToABoundInAll) {
  Bytes file = begun();
  std::vector<uint64_t> offsets;
  for (int i = 0; i < 100; ++i)
    offsets.push_back(append_chunk(ChunkType::kDictionary, large_dictionary(), &file));
  expect_opened_in_little_memory(file);
}

TEST(HostileTrace, AnIndexWithBlocksThatOverlapIsNotBelieved) {
  Bytes file = begun();
  ByteWriter dictionary;
  dictionary.number(1);
  dictionary.text("source");
  dictionary.text("");
  for (const uint64_t field : {0, 0, 1}) dictionary.number(field);
  dictionary.number(1);
  dictionary.text("probe");
  dictionary.text("");
  dictionary.number(0);
  const uint64_t known = append_chunk(ChunkType::kDictionary, dictionary.bytes(), &file);
  ByteWriter index;
  index.number(1);
  index.number(known);
  index.number(64);  // blocks of one byte each
  for (int i = 0; i < 64; ++i) {
    index.number(1);
    index.number(1);
  }
  index.number(1);
  index.number(64);
  const uint64_t at = append_chunk(ChunkType::kIndex, index.bytes(), &file);
  end(at, &file);
  TraceReader reader("hostile", std::make_unique<MemoryBytes>(file.data(), file.size()));
  EXPECT_EQ(reader.open(), 0);
  EXPECT_EQ(reader.transactions(), 0u);
}

}  // namespace
}  // namespace substrata::feed::test
