// Variable-length integers and CRC-32.
#include "recording/bytes.hpp"

#include <array>

namespace substrata::recording {
namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value & 1u) != 0 ? 0xEDB88320u ^ (value >> 1) : value >> 1;
    table[i] = value;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kTable = make_table();

}  // namespace

std::uint32_t check_sum(const unsigned char* bytes, std::size_t count) noexcept {
  std::uint32_t sum = 0xFFFFFFFFu;
  for (std::size_t i = 0; i < count; ++i) sum = kTable[(sum ^ bytes[i]) & 0xFFu] ^ (sum >> 8);
  return sum ^ 0xFFFFFFFFu;
}

void ByteWriter::number(std::uint64_t value) {
  while (value >= 0x80) {
    bytes_.push_back(static_cast<unsigned char>(value | 0x80));
    value >>= 7;
  }
  bytes_.push_back(static_cast<unsigned char>(value));
}

void ByteWriter::signed_number(std::int64_t value) {
  const std::uint64_t bits = static_cast<std::uint64_t>(value);
  number((bits << 1) ^ (value < 0 ? ~std::uint64_t{0} : 0));
}

void ByteWriter::text(std::string_view value) {
  number(value.size());
  bytes_.insert(bytes_.end(), value.begin(), value.end());
}

bool ByteReader::byte(std::uint8_t* out) noexcept {
  if (refused_ || at_ == end_) return refuse();
  *out = *at_++;
  return true;
}

bool ByteReader::number(std::uint64_t* out) noexcept {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    std::uint8_t next = 0;
    if (!byte(&next)) return false;
    if (shift == 63 && next > 1) return refuse();
    value |= static_cast<std::uint64_t>(next & 0x7F) << shift;
    if ((next & 0x80) == 0) {
      *out = value;
      return true;
    }
  }
  return refuse();
}

bool ByteReader::number(std::uint64_t* out, std::uint64_t most) noexcept {
  return number(out) && (*out <= most || refuse());
}

bool ByteReader::signed_number(std::int64_t* out) noexcept {
  std::uint64_t bits = 0;
  if (!number(&bits)) return false;
  *out = static_cast<std::int64_t>((bits >> 1) ^ (~(bits & 1) + 1));
  return true;
}

bool ByteReader::text(std::string* out) {
  std::uint64_t size = 0;
  if (!number(&size)) return false;
  if (size > left()) return refuse();
  out->assign(reinterpret_cast<const char*>(at_), static_cast<std::size_t>(size));
  at_ += size;
  return true;
}

}  // namespace substrata::recording
