// What the steps of a request and their effects call it on the bus, to memory and in the feed.
#pragma once

#include <cstdint>

#include "numachine/protocol.hpp"
#include "numachine/traffic.hpp"

namespace substrata::numachine {

inline constexpr std::uint64_t kLinePackets = 9;  // a header and 64 bytes on a bus of 8 bytes
inline constexpr std::uint64_t kWordPackets = 2;  // a header and an uncached word
inline constexpr std::uint16_t kWrittenBack = kCommandWriteBack | kCommandCacheLine | kCommandData;

inline std::uint16_t command_of(Want want) noexcept {
  switch (want) {
    case Want::kRead:
      return kCommandRead | kCommandCacheLine;
    case Want::kExclusive:
      return kCommandReadExclusive | kCommandCacheLine;
    case Want::kUpgrade:
      return kCommandUpgrade;
    case Want::kUpdate:
      break;
  }
  return kCommandUpdate;
}

inline std::uint16_t response_to(Want want, bool data) noexcept {
  return static_cast<std::uint16_t>(command_of(want) | kCommandResponse | (data ? kCommandData : 0));
}

inline RequestType type_of(Want want) noexcept {
  switch (want) {
    case Want::kRead:
      return RequestType::kRead;
    case Want::kExclusive:
      return RequestType::kReadExclusive;
    case Want::kUpgrade:
    case Want::kUpdate:
      break;
  }
  return RequestType::kUpdate;
}

inline std::uint16_t kind_of(Want want) noexcept {
  switch (want) {
    case Want::kRead:
      return SUBSTRATA_READ;
    case Want::kExclusive:
      return SUBSTRATA_READ_EXCLUSIVE;
    case Want::kUpgrade:
      return SUBSTRATA_UPGRADE;
    case Want::kUpdate:
      break;
  }
  return SUBSTRATA_UPDATE;
}

}  // namespace substrata::numachine
