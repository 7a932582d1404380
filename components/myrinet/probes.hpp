// The probe points of the cluster's interfaces: their names, and how a packet's stages are written as
// transactions.
#pragma once

#include <substrata/feed.h>

#include <cstdint>
#include <vector>

#include "myrinet/statistics.hpp"

namespace substrata::myrinet {

inline constexpr char kSource[] = "myrinet";
inline constexpr char kLanaiProbes[] = "myrinet.node*.lanai.send,myrinet.node*.lanai.receive";
inline constexpr char kClockProbes[] = "myrinet.node*.clock";
inline constexpr char kOperationProbes[] = "myrinet.node*.operation";

// Where at a node.
enum class Place : uint8_t { kSend, kReceive, kClock, kOperation };
inline constexpr uint32_t kPlaces = 4;

// Registers the source and a node's probe point. 0, or the feed's negative code.
int add_node_probe(uint32_t node, Place place, uint32_t* number) noexcept;

// What a probe point is, by its name.
struct ProbeRole {
  bool known = false;
  uint32_t node = 0;
  Place place = Place::kSend;
};
// Looks roles up once for each probe point. Thread-bound: an observer's own.
class ProbeRoles {
 public:
  ProbeRole of(uint16_t probe) noexcept;  // unknown, too, while there is no memory for the table

 private:
  struct Entry {
    bool looked_up = false;
    ProbeRole role;
  };
  std::vector<Entry> entries_;
};

// The latency that a stage's transaction gives, or -1: another stage.
constexpr int latency_of(uint16_t state) noexcept {
  constexpr int kFirst = SUBSTRATA_FETCHED;
  static_assert(SUBSTRATA_INJECTED == kFirst + SUBSTRATA_MYRINET_LANAI &&
                    SUBSTRATA_ARRIVED == kFirst + SUBSTRATA_MYRINET_NET &&
                    SUBSTRATA_DELIVERED == kFirst + SUBSTRATA_MYRINET_DEST,
                "one stage after the other");
  return state >= SUBSTRATA_FETCHED && state <= SUBSTRATA_DELIVERED ? state - kFirst : -1;
}
// A flag: the firmware's monitor is off for this side of the packet, so that no statistics have it.
inline constexpr uint16_t kNotMonitored = SUBSTRATA_FLAG_OWN;
inline constexpr unsigned kTypeShift = 56;
constexpr uint32_t type_of(uint64_t detail) noexcept { return static_cast<uint32_t>(detail >> kTypeShift); }

}  // namespace substrata::myrinet
