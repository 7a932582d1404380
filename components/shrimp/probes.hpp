// Probe points where packets and commands reach the monitors, shrimp.node<i>.receive, and of the EISA buses,
// shrimp.node<i>.eisa.
#pragma once

#include <substrata/feed.hpp>

#include <cstdint>
#include <memory>
#include <vector>

#include "shrimp/board.hpp"

namespace substrata::shrimp {

// Who uses a node's EISA bus: the interface fetches a burst or stores a packet, the processor commands its monitor.
enum class BusUse : uint16_t { kOut = SUBSTRATA_READ, kIn = SUBSTRATA_WRITE, kCommand = SUBSTRATA_COMMAND };

// Two publishers per node. Times are picoseconds. Thread-bound.
class Probes {
 public:
  // Registers source and probe points; throws std::runtime_error with the feed's message.
  explicit Probes(uint32_t nodes);
  // A packet at the receiver's interface: address of what it writes to (0: a message buffer), detail as the
  // kind says.
  struct Packet {
    uint64_t time = 0;
    uint64_t stamped = 0;
    uint64_t address = 0;
    uint64_t detail = 0;
    uint32_t sender = 0;
    uint32_t receiver = 0;
    uint32_t size = 0;
    uint16_t kind = 0;
    uint16_t phase = 0;
    uint16_t flags = 0;
  };
  void arrived(const Packet& packet) noexcept;
  void command(uint32_t from, uint32_t node, Register which, uint64_t value, uint64_t time,
               uint16_t phase) noexcept;
  // The node's EISA bus was asked for at `asked` and used from `begun` to `end`.
  void bus(uint32_t node, BusUse use, uint32_t bytes, uint64_t asked, uint64_t begun, uint64_t end) noexcept;
  uint64_t published() const noexcept { return published_; }
  uint32_t nodes() const noexcept { return static_cast<uint32_t>(publishers_.size()); }

 private:
  template <typename Fill>
  void publish(const client::feed::Publisher& publisher, const Fill& fill) noexcept;

  std::vector<client::feed::Publisher> publishers_;
  std::vector<client::feed::Publisher> buses_;
  uint64_t published_ = 0;
};

}  // namespace substrata::shrimp
