// The trace file's bytes: chunks, and transactions in columns; docs/reference/feeds.md describes them in full.
//
//   file   = header chunk, { dictionary chunk | block chunk }, index chunk, trailer
//   chunk  = 40-byte chunk header, payload (zstd frame with its checksum)
//   block  = segments, one recorded batch each: probe, count, then a column for every field
//   column = mode byte and, by mode: all equal, an arithmetic series, zigzag differences, or fixed-width
//   offsets
#pragma once

#include <substrata/feed.h>

#include <cstdint>
#include <string>
#include <vector>

namespace substrata::feed {

inline constexpr uint32_t kTraceVersion = 1;
inline constexpr char kTraceMagic[8] = {'S', 'U', 'B', 'T', 'R', 'A', 'C', 'E'};
inline constexpr char kTrailerMagic[8] = {'E', 'N', 'D', 'T', 'R', 'A', 'C', 'E'};

// Bounds that a reader checks before it believes a length.
inline constexpr uint32_t kMostSegmentTransactions = 1u << 18;
inline constexpr uint32_t kMostBlockTransactions = 1u << 19;
inline constexpr uint32_t kMostRawBytes = 1u << 26;

enum class ChunkType : uint32_t { kHeader = 1, kDictionary = 2, kBlock = 3, kIndex = 4 };

// In front of every chunk; little-endian fixed width.
inline constexpr size_t kChunkHeaderBytes = 40;
struct ChunkHeader {
  ChunkType type = ChunkType::kBlock;
  uint32_t stored_bytes = 0;       // of the payload in the file
  uint32_t raw_bytes = 0;          // of the payload uncompressed
  uint32_t transactions = 0;       // of a block
  uint64_t first_transaction = 0;  // of a block: number of its first one
};
void encode_chunk_header(const ChunkHeader& header, unsigned char* out) noexcept;
// False: these are not the bytes of a chunk header (magic, check sum or a bound is wrong).
bool decode_chunk_header(const unsigned char* bytes, ChunkHeader* out) noexcept;

// The last bytes of a complete file.
inline constexpr size_t kTrailerBytes = 24;
void encode_trailer(uint64_t index_offset, unsigned char* out) noexcept;
bool decode_trailer(const unsigned char* bytes, uint64_t* index_offset) noexcept;

// FNV-1a, 64 bits: over the few bytes of headers; payloads carry zstd's own check sum.
uint64_t check_sum(const unsigned char* bytes, size_t count) noexcept;

// Appends to a payload.
class ByteWriter {
 public:
  void byte(uint8_t value) { bytes_.push_back(value); }
  void number(uint64_t value);  // varint, 7 bits a byte, low first
  void text(const std::string& value);
  std::vector<unsigned char>& bytes() noexcept { return bytes_; }
  const std::vector<unsigned char>& bytes() const noexcept { return bytes_; }

 private:
  std::vector<unsigned char> bytes_;
};

// Reads a payload; after the first refusal every call refuses. Thread-compatible.
class ByteReader {
 public:
  ByteReader(const unsigned char* bytes, size_t count) noexcept : at_(bytes), end_(bytes + count) {}
  bool byte(uint8_t* out) noexcept;
  bool number(uint64_t* out) noexcept;
  bool number32(uint32_t* out) noexcept;
  bool text(std::string* out);
  bool take(size_t count, const unsigned char** out) noexcept;
  size_t left() const noexcept { return static_cast<size_t>(end_ - at_); }
  const unsigned char* position() const noexcept { return at_; }
  void move_to(const unsigned char* position) noexcept { at_ = position; }

 private:
  const unsigned char* at_;
  const unsigned char* end_;
};

// Appends one segment. count: 1 to kMostSegmentTransactions.
void encode_segment(uint32_t probe, const substrata_transaction* batch, size_t count, ByteWriter* out);

// Reads the head of a segment: probe and count, count within bounds.
bool decode_segment_head(ByteReader* in, uint32_t* probe, uint32_t* count) noexcept;
// Reads the columns of a segment into out[0..count), with probe in every probe field. False: malformed.
bool decode_segment_body(ByteReader* in, uint32_t probe, uint32_t count, substrata_transaction* out) noexcept;

// The fields of a transaction as the file's header lists them, so that a reader without this header can read
// it.
void describe_fields(ByteWriter* out);
bool fields_are_ours(ByteReader* in);

// What a dictionary chunk says.
struct TraceSource {
  std::string name;
  std::string summary;
  uint32_t kind = 0;
  uint32_t time_base = 0;
  uint64_t ticks_per_second = 0;
};
struct TraceProbe {
  std::string name;
  std::string text;
  uint32_t source = 0;        // index of a TraceSource
  uint64_t transactions = 0;  // from the index; else counted while reading
};

}  // namespace substrata::feed
