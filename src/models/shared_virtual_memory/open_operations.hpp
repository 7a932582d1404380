// Operations of the communication layer that are under way: which packet is a part of which, and when each
// ends.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "models/shared_virtual_memory/network.hpp"

namespace substrata::svm {

// A process is in at most one operation of the protocol (it waits for it) and in any number of the program's,
// one inside the other. Messages may be under way when their operation has been left. Thread-bound.
class OpenOperations {
 public:
  void begin(ProcessId nodes, Network& network);

  // The protocol's.
  void open(ProcessId node, workloads::LayerKind kind, std::uint64_t about, Time now);
  void close(ProcessId node, Time now);  // nothing where none is open
  // The program's.
  void enter(ProcessId node, workloads::LayerKind kind, Time now);
  void leave(ProcessId node, Time now);
  // A message leaves: it belongs to the innermost of the program's operations, else it is one itself.
  void sent(ProcessId from, ProcessId to, workloads::MessageNumber number, Time now);
  void delivered(workloads::MessageNumber number, Time now);

  // Whose part a packet is that is about to be sent; null: none.
  LayerOperation* of(const Packet& packet) noexcept;

 private:
  static constexpr std::uint32_t kNone = ~0u;
  struct Open {
    LayerOperation operation;
    std::uint32_t under_way = 0;  // messages
    bool left = false;
  };
  struct Node {
    std::uint32_t waits_for = kNone;
    std::vector<std::uint32_t> inside;
    std::uint64_t operations = 0;
  };
  struct Message {
    std::uint32_t operation;  // still there if awaited
    bool awaited;
  };
  std::uint32_t make(ProcessId node, workloads::LayerKind kind, std::uint64_t about, Time now);
  void end(std::uint32_t index, Time now);

  Network* network_ = nullptr;
  std::vector<Node> nodes_;
  std::vector<Open> open_;
  std::vector<std::uint32_t> free_;
  std::unordered_map<workloads::MessageNumber, Message> messages_;  // under way
};

}  // namespace substrata::svm
