// Random numbers that depend on a seed and an index only, so that any process may make any of them.
#pragma once

#include <cstdint>

namespace substrata::workloads {

// A well mixed function of its argument (the finaliser of Steele, Lea and Flood's SplitMix64, OOPSLA 2014).
constexpr std::uint64_t scatter(std::uint64_t x) noexcept {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

// The index-th number of the sequence with that seed.
constexpr std::uint64_t random_at(std::uint64_t seed, std::uint64_t index) noexcept {
  return scatter(scatter(seed) ^ (index * 0xD1342543DE82EF95ULL));
}

// The same, in [0, 1).
constexpr double uniform_at(std::uint64_t seed, std::uint64_t index) noexcept {
  return static_cast<double>(random_at(seed, index) >> 11) * 0x1p-53;
}

}  // namespace substrata::workloads
