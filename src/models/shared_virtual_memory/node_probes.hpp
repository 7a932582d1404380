// Probe points where packets arrive at nodes: <machine>.node<i>.receive.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/shared_virtual_memory/network.hpp"
#include "models/shared_virtual_memory/phases.hpp"
#include "substrata/feed.hpp"

namespace substrata::svm {

// How packets of the protocol are called in the feed, and their flags.
std::uint16_t transaction_kind(PacketKind kind) noexcept;
std::uint16_t transaction_flags(PacketKind kind) noexcept;

// One publisher per node, for the time of one run. A transaction: time is the arrival, start the sending
// (picoseconds), initiator the sender, target the receiver, address the page's or the bytes', size the
// packet's, phase the sender's region by its number in the feed. Thread-bound as the engine.
class NodeProbes {
 public:
  // Registers source and probe points and opens the publishers; throws std::runtime_error with the feed's
  // message.
  NodeProbes(const std::string& machine, Engine& engine);
  // A mark of the program at a node.
  void mark(ProcessId node, Operation operation) { phases_.mark(node, operation); }
  // The phase a node's packets carry now.
  std::uint16_t phase(ProcessId node) const noexcept { return phases_[node]; }
  void arrived(const Packet& packet, Time sent, Time now, std::uint16_t phase);
  std::uint64_t published() const noexcept { return published_; }

 private:
  std::vector<client::feed::Publisher> publishers_;
  Phases phases_;
  std::uint64_t published_ = 0;
};

}  // namespace substrata::svm
