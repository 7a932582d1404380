// What the NUMAchine model publishes on the feed, packed and unpacked: requests, invalidations, instructions.
#pragma once

#include <substrata/feed.h>

#include <algorithm>
#include <cstdint>

#include "numachine/memory_card.hpp"
#include "numachine/processor_card.hpp"

namespace substrata::numachine {

// The detail of a completed request at numachine.st<s>.cpu<i>.bus (kind READ, READ_EXCLUSIVE, UPGRADE,
// UPDATE).
struct RequestDetail {
  std::uint32_t latency = 0;  // bus cycles from the request to its response, 16 bits
  std::uint32_t nacks = 0;    // 8 bits
  MissType type = MissType::kOther;
  std::uint8_t response_state = 0;  // RSR, 5 bits
  std::uint32_t bus_wait = 0;       // bus cycles until grants, 12 bits
  std::uint32_t bus_busy = 0;       // bus cycles this request occupied on station buses, 8 bits
  std::uint32_t nack_cycles = 0;    // bus cycles from the first retry to the response, 12 bits
};

inline std::uint64_t pack(const RequestDetail& d) noexcept {
  const auto limited = [](std::uint32_t value, unsigned bits) {
    return std::uint64_t{std::min(value, (1U << bits) - 1)};
  };
  return limited(d.latency, 16) | limited(d.nacks, 8) << 16 | static_cast<std::uint64_t>(d.type) << 24 |
         std::uint64_t{d.response_state & 0x1fU} << 26 | limited(d.bus_wait, 12) << 31 |
         limited(d.bus_busy, 8) << 43 | limited(d.nack_cycles, 12) << 51;
}
inline RequestDetail unpack_request(std::uint64_t bits) noexcept {
  const auto field = [bits](unsigned from, unsigned width) {
    return static_cast<std::uint32_t>((bits >> from) & ((std::uint64_t{1} << width) - 1));
  };
  return {.latency = field(0, 16),
          .nacks = field(16, 8),
          .type = static_cast<MissType>(field(24, 2)),
          .response_state = static_cast<std::uint8_t>(field(26, 5)),
          .bus_wait = field(31, 12),
          .bus_busy = field(43, 8),
          .nack_cycles = field(51, 12)};
}

// Kinds of our own at that probe point: uncached accesses. The detail of a read is its latency in bus cycles.
inline constexpr std::uint16_t kUncachedRead = SUBSTRATA_KIND_OWN;
inline constexpr std::uint16_t kUncachedWrite = SUBSTRATA_KIND_OWN + 1;

// The detail of SUBSTRATA_INSTRUCTIONS at the same probe point: since the last one, instructions and stall
// cycles of the processor, 32 bits each; its address has loads and stores, 32 bits each, its start apparent
// miss cycles (processor cycles in which nothing useful was done because of misses), its site branches that the program
// published and processor cycles that TLB misses took, its target mispredictions, its size TLB misses.
inline std::uint64_t pair(std::uint64_t low, std::uint64_t high) noexcept {
  return std::min<std::uint64_t>(low, 0xffffffffU) | std::min<std::uint64_t>(high, 0xffffffffU) << 32;
}
inline std::uint64_t low_of(std::uint64_t bits) noexcept { return bits & 0xffffffffU; }
inline std::uint64_t high_of(std::uint64_t bits) noexcept { return bits >> 32; }

// At numachine.st<s>.memory a request's detail has the bus cycles it waited in the memory's queue (low) and
// those it waited for the ring (high).

constexpr std::uint16_t feed_state(BlockState state) noexcept {
  switch (state) {
    case BlockState::kLocalValid:
      return SUBSTRATA_LOCAL_VALID;
    case BlockState::kLocalInvalid:
      return SUBSTRATA_LOCAL_INVALID;
    case BlockState::kGlobalValid:
      return SUBSTRATA_GLOBAL_VALID;
    case BlockState::kGlobalInvalid:
      return SUBSTRATA_GLOBAL_INVALID;
    case BlockState::kNotIn:
      break;
  }
  return SUBSTRATA_NOT_IN;
}

}  // namespace substrata::numachine
