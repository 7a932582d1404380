// Chunk headers as bytes, little-endian whatever the machine.
#include "recording/format.hpp"

#include <algorithm>
#include <cstring>

#include "recording/bytes.hpp"

namespace substrata::recording {
namespace {

void put(unsigned char* out, std::uint64_t value, unsigned bytes) noexcept {
  for (unsigned i = 0; i < bytes; ++i) out[i] = static_cast<unsigned char>(value >> (8 * i));
}
std::uint64_t get(const unsigned char* in, unsigned bytes) noexcept {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) value |= std::uint64_t{in[i]} << (8 * i);
  return value;
}

}  // namespace

void encode_chunk_header(const ChunkHeader& header, unsigned char* out) noexcept {
  std::memcpy(out, kMagic, sizeof kMagic);
  put(out + 8, static_cast<std::uint16_t>(header.type), 2);
  put(out + 10, header.version, 2);
  put(out + 12, header.payload_bytes, 4);
  put(out + 16, header.writer, 8);
  put(out + 24, header.sequence, 4);
  put(out + 28, header.payload_check, 4);
  put(out + 32, 0, 4);
  put(out + 36, check_sum(out, 36), 4);
}

bool decode_chunk_header(const unsigned char* bytes, ChunkHeader* out) noexcept {
  if (!std::equal(kMagic, kMagic + sizeof kMagic, bytes)) return false;
  if (get(bytes + 36, 4) != check_sum(bytes, 36)) return false;
  out->type = static_cast<ChunkType>(get(bytes + 8, 2));
  out->version = static_cast<std::uint16_t>(get(bytes + 10, 2));
  out->payload_bytes = static_cast<std::uint32_t>(get(bytes + 12, 4));
  out->writer = get(bytes + 16, 8);
  out->sequence = static_cast<std::uint32_t>(get(bytes + 24, 4));
  out->payload_check = static_cast<std::uint32_t>(get(bytes + 28, 4));
  return out->payload_bytes <= kMostPayloadBytes;
}

}  // namespace substrata::recording
