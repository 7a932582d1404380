// The recording file's bytes: a sequence of chunks, each with its own check sums; docs/guide/recording.md describes
// them in full.
//
//   file  = { chunk }
//   chunk = 40-byte header, payload
//
// Every chunk names its writer, so that several processes may append to one file and files may be put one
// after the other: the concatenation of two recordings is a recording. Numbers of sets are the writer's own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace substrata::recording {

// Raised when a chunk changes meaning. Chunks of unknown types within a known version are passed over.
inline constexpr std::uint16_t kFormatVersion = 1;
inline constexpr unsigned char kMagic[8] = {0x89, 'S', 'U', 'B', 'R', 'E', 'C', '\n'};

enum class ChunkType : std::uint16_t {
  kWriter = 1,      // who writes: names and texts; a later chunk of the writer adds or replaces
  kSeries = 2,      // a set of series that are sampled together
  kSamples = 3,     // rows of a set
  kMarks = 4,       // begin and end of regions, moments
  kClock = 5,       // this writer's clock against the recording's
  kAttachment = 6,  // a whole text by name
  kEnd = 7,         // the writer ended as it should; names and texts
};

// Bounds that a reader checks before it believes a number.
inline constexpr std::uint32_t kMostPayloadBytes = 1u << 28;
inline constexpr std::uint32_t kMostSets = 1u << 16;
inline constexpr std::uint32_t kMostSeriesOfSet = 1u << 20;

inline constexpr std::size_t kChunkHeaderBytes = 40;
struct ChunkHeader {
  ChunkType type = ChunkType::kWriter;
  std::uint16_t version = kFormatVersion;
  std::uint32_t payload_bytes = 0;
  std::uint64_t writer = 0;         // unlike that of any other
  std::uint32_t sequence = 0;       // 0, 1, 2 of this writer
  std::uint32_t payload_check = 0;  // CRC-32 of the payload
};
void encode_chunk_header(const ChunkHeader& header, unsigned char* out) noexcept;
// False: these 40 bytes are not a chunk header (magic, check sum or a bound is wrong).
bool decode_chunk_header(const unsigned char* bytes, ChunkHeader* out) noexcept;

// A row's first byte.
enum RowState : std::uint8_t {
  kRowPlain = 0,
  kRowHasFlags = 1,  // a byte of flags in front of every value
};

}  // namespace substrata::recording
