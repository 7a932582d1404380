// The numbers and texts inside a chunk: variable-length integers, fixed ones, and a check sum over them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace substrata::recording {

// CRC-32 as in zlib and IEEE 802.3, so that other readers have it at hand.
std::uint32_t check_sum(const unsigned char* bytes, std::size_t count) noexcept;

// Appends to a payload. Thread-compatible.
class ByteWriter {
 public:
  void byte(std::uint8_t value) { bytes_.push_back(value); }
  // Seven bits a byte, the low ones first; the top bit says that more follow.
  void number(std::uint64_t value);
  // Zigzag: small numbers of either sign are short.
  void signed_number(std::int64_t value);
  void text(std::string_view value);
  const std::vector<unsigned char>& bytes() const noexcept { return bytes_; }
  bool empty() const noexcept { return bytes_.empty(); }
  void clear() noexcept { bytes_.clear(); }

 private:
  std::vector<unsigned char> bytes_;
};

// Reads a payload; after the first refusal every call refuses. Thread-compatible.
class ByteReader {
 public:
  ByteReader(const unsigned char* bytes, std::size_t count) noexcept : at_(bytes), end_(bytes + count) {}
  bool byte(std::uint8_t* out) noexcept;
  bool number(std::uint64_t* out) noexcept;
  // A number that must not be above `most`.
  bool number(std::uint64_t* out, std::uint64_t most) noexcept;
  bool signed_number(std::int64_t* out) noexcept;
  bool text(std::string* out);
  std::size_t left() const noexcept { return static_cast<std::size_t>(end_ - at_); }

 private:
  bool refuse() noexcept {
    at_ = end_;
    refused_ = true;
    return false;
  }
  const unsigned char* at_;
  const unsigned char* end_;
  bool refused_ = false;
};

// Differences of values that use all 64 bits wrap around rather than overflow.
inline std::int64_t wrapping_sum(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
inline std::int64_t wrapping_difference(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

}  // namespace substrata::recording
