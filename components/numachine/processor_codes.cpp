// The card's codes: which states of the pipeline a mask counts, addresses on the bus, compact latencies.
#include <algorithm>
#include <bit>

#include "numachine/processor_card.hpp"

namespace substrata::numachine {

bool counts_pipeline(std::uint32_t ps, Pipeline state) noexcept {
  const auto s = static_cast<unsigned>(state);
  if ((ps & 0x40U) == 0) return (ps & 0xfU) == s && state != Pipeline::kReserved;
  const auto set = [ps](unsigned i) { return ((ps >> i) & 1U) != 0; };
  if ((ps & 0x20U) == 0) {  // running cycles
    switch (state) {
      case Pipeline::kLoad:
      case Pipeline::kStore:
        return set(0);
      case Pipeline::kBranchTaken:
      case Pipeline::kBranchUntaken:
        return set(1);
      case Pipeline::kOtherInteger:
      case Pipeline::kOtherFloat:
        return set(2);
      default:
        return false;
    }
  }
  switch (state) {  // idle cycles
    case Pipeline::kInstructionCacheStall:
    case Pipeline::kDataCacheStall:
      return set(0);
    case Pipeline::kSecondaryStall:
      return set(1);
    case Pipeline::kMultiprocessorStall:
    case Pipeline::kOtherStall:
      return set(2);
    case Pipeline::kExceptionKilled:
    case Pipeline::kBranchDelayKilled:
      return set(3);
    case Pipeline::kIntegerSlip:
    case Pipeline::kFloatSlip:
      return set(4);
    default:
      return false;
  }
}

std::uint64_t pack(const BusAddress& a) noexcept {
  return std::uint64_t{a.source_mask} << 56 | std::uint64_t{a.processor & 0xfU} << 52 |
         std::uint64_t{a.phase & 0xfU} << 48 | std::uint64_t{a.destination_mask} << 40 |
         std::uint64_t{a.station & 0xfU} << 36 | std::uint64_t{a.magic & 0xfU} << 32 |
         std::uint64_t{a.reserved & 0xfU} << 28 | (a.physical & 0x0fffffffU);
}

BusAddress unpack(std::uint64_t address) noexcept {
  BusAddress a;
  a.source_mask = static_cast<std::uint8_t>(address >> 56);
  a.processor = static_cast<std::uint8_t>((address >> 52) & 0xfU);
  a.phase = static_cast<std::uint8_t>((address >> 48) & 0xfU);
  a.destination_mask = static_cast<std::uint8_t>(address >> 40);
  a.station = static_cast<std::uint8_t>((address >> 36) & 0xfU);
  a.magic = static_cast<std::uint8_t>((address >> 32) & 0xfU);
  a.reserved = static_cast<std::uint8_t>((address >> 28) & 0xfU);
  a.physical = static_cast<std::uint32_t>(address & 0x0fffffffU);
  return a;
}

std::uint8_t compact_latency(std::uint32_t cycles) noexcept {
  const std::uint32_t time = std::min(cycles, kTimeoutCycles - 1);
  if (time < 32) return static_cast<std::uint8_t>(time >> 1);             // denormal: 0.mantissa * 2^5
  const auto exponent = static_cast<unsigned>(std::bit_width(time)) - 5;  // 1.mantissa * 2^5 * 2^(exponent-1)
  return static_cast<std::uint8_t>((exponent << 4) | ((time >> exponent) & 0xfU));
}

LatencyBucket latency_bucket(std::uint8_t compact) noexcept {
  const std::uint32_t exponent = (compact >> 4) & 7U;
  const std::uint32_t mantissa = compact & 0xfU;
  if (exponent == 0) return {mantissa * 2, mantissa * 2 + 1};
  const std::uint32_t first = (16 + mantissa) << exponent;
  return {first, first + (1U << exponent) - 1};
}

}  // namespace substrata::numachine
