// Counts packets, bytes, latencies and faults of the interfaces, for every choice of node, peer, program and
// type that an event asks for.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "models/counting/counting.hpp"
#include "myrinet/chosen_counters.hpp"
#include "myrinet/probes.hpp"

namespace substrata::myrinet {

// The counts, in the order of the events.
enum Count : uint32_t {
  kPacketsSent,
  kPacketsReceived,
  kBytesSent,
  kBytesReceived,
  kSourceLatencySum,
  kLanaiLatencySum,
  kNetLatencySum,
  kDestLatencySum,
  kChecksumErrors,
  kDropped,
  kMisrouted,
  kClockErrorMax,
  kSyncRounds,
  kBytesLost,  // of the faulty packets; no event
};
inline constexpr uint32_t kCounts = kBytesLost + 1;
inline constexpr uint32_t kPacketEvents = kBytesLost;

// The counts of some packets. One writer at a time; looked at from any thread.
class PacketSums {
 public:
  // A stage of a packet, as its interface's probe point shows it.
  void take(const substrata_transaction& stage) noexcept;
  // The clock of an interface was set.
  void take_clock(const substrata_transaction& set, uint32_t first_node) noexcept;
  const counting::Counter& operator[](uint32_t count) const noexcept { return counters_[count]; }

 private:
  std::array<counting::Counter, kCounts> counters_;
};

// Which packets. The node is where the transaction is seen, the peer the packet's other end.
struct Choice {
  static constexpr uint32_t kAny = ~0u;
  uint32_t node = kAny;
  uint32_t peer = kAny;
  uint32_t program = kAny;
  uint32_t type = kAny;
  bool operator==(const Choice&) const = default;
};

// In a rank of an MPI program whose messages pass the modelled interfaces: the rank's node, which events
// without a node then mean. -1: none. Thread-safe.
void set_own_node(int node) noexcept;
int own_node() noexcept;

// All choices that were asked for. Counters are looked at from any thread.
class PacketCounters final : public ChoosingInstrument<Choice, PacketSums, 4096> {
 public:
  PacketCounters();
  ~PacketCounters() override;

 protected:
  void observe(const substrata_transaction* batch, size_t count) noexcept override;

 private:
  void take(Choices::Counting& counting, const ProbeRole& role, uint32_t first_node,
            const substrata_transaction& stage) noexcept;

  ProbeRoles roles_;
};

}  // namespace substrata::myrinet
