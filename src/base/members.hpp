// Structs whose members are all of one number type, taken as the array that they are.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>

namespace substrata {

template <typename Struct>
using CountArray = std::array<uint64_t, sizeof(Struct) / sizeof(uint64_t)>;

// Adds each count of the other.
template <typename Struct>
void add_counts(Struct& into, const Struct& other) noexcept {
  auto sums = std::bit_cast<CountArray<Struct>>(into);
  std::ranges::transform(sums, std::bit_cast<CountArray<Struct>>(other), sums.begin(), std::plus{});
  into = std::bit_cast<Struct>(sums);
}

}  // namespace substrata
