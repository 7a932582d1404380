// Bins of durations that grow with them.
#pragma once

#include <substrata/myrinet.h>

#include <bit>
#include <cstdint>

namespace substrata::myrinet {

inline constexpr uint32_t kOperationBins = SUBSTRATA_MYRINET_OPERATION_BINS;

// Bins of a quarter of the power of two below them, from 1 us on; the first holds all that is shorter.
constexpr uint32_t operation_bin(uint64_t ns) noexcept {
  const uint64_t quarters = ns / 250;
  if (quarters < 4) return 0;
  const auto doublings = static_cast<uint32_t>(std::bit_width(quarters)) - 3;
  const uint32_t bin = 1 + 4 * doublings + static_cast<uint32_t>((quarters >> doublings) - 4);
  return bin < kOperationBins ? bin : kOperationBins - 1;
}
constexpr uint64_t operation_bin_begin(uint32_t bin) noexcept {
  return bin == 0 ? 0 : uint64_t{250} * (4 + (bin - 1) % 4) << (bin - 1) / 4;
}

}  // namespace substrata::myrinet
