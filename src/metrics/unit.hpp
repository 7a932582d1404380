// Units as people write them ("GB/s", "%", "degC"), and whether two of them measure the same thing.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace substrata::metrics {

// A value times `factor` is in the base units bytes, s, J, degC, V and A, each to its power. What is counted
// (instructions, misses, packets) is a number without a dimension.
struct Unit {
  static constexpr size_t kBases = 6;
  std::array<int8_t, kBases> powers = {};
  double factor = 1;

  bool measures_the_same_as(const Unit& other) const noexcept { return powers == other.powers; }
};

// Words and numbers with '*', ' ' (which multiply) and '/' between them, from left to right: "1", "%", "GB/s",
// "ms", "W", "MHz", "degC", "cycles/instruction", "64*bytes" (each count is 64 bytes). A word that is no unit is
// something counted. Empty: 1. kInvalid otherwise.
Result<Unit> parse_unit(std::string_view text);

// "bytes/s", "1", "J/bytes".
std::string dimension_text(const Unit& unit);

}  // namespace substrata::metrics
