// Operations of the communication layer above the packets: how they are written on packets and as
// transactions, and what an interface keeps of them.
#pragma once

#include <substrata/myrinet.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "models/counting/counting.hpp"
#include "myrinet/chosen_counters.hpp"
#include "myrinet/duration_bins.hpp"
#include "myrinet/probes.hpp"

namespace substrata::myrinet {

inline constexpr uint32_t kOperationKinds = SUBSTRATA_MYRINET_OPERATION_KINDS;
inline constexpr const char* kOperationNames[kOperationKinds] = {
    "page-fetch", "page-home",   "lock-acquire", "lock-release", "barrier",      "message",
    "broadcast",  "stream-open", "stream-write", "stream-read",  "stream-close", "collective"};

// The word that a packet carries in its stamp, and a transaction in its site; 0: of no operation. towards:
// the packet goes to the node that began the operation.
constexpr uint64_t operation_word(uint32_t kind, uint64_t number, bool towards) noexcept {
  return uint64_t{kind + 1} << 56 | uint64_t{towards} << 55 | (number & ((uint64_t{1} << 55) - 1));
}
// -1: of no operation.
constexpr int operation_kind_of(uint64_t word) noexcept {
  const auto kind = static_cast<uint32_t>(word >> 56);
  return kind >= 1 && kind <= kOperationKinds ? static_cast<int>(kind) - 1 : -1;
}
constexpr uint64_t operation_number_of(uint64_t word) noexcept { return word & ((uint64_t{1} << 55) - 1); }
// The node that began the operation of a packet.
constexpr uint32_t opener_of(const substrata_transaction& stage) noexcept {
  return (stage.site >> 55 & 1) != 0 ? stage.target : stage.initiator;
}

// All operations of one kind.
struct OperationSums {
  uint64_t count = 0;
  uint64_t ns = 0;
  double squared_ns = 0;
  uint64_t longest_ns = 0;
  uint64_t packets = 0;
  uint64_t bytes = 0;
  int64_t part_ns[kLatencies] = {};
  std::array<uint64_t, kOperationBins> bins{};
};

// What the interfaces keep: each the operations that its own process began, and of the packets it sends and
// receives their latencies by kind and by the node that began the operation. Thread-compatible.
class OperationMemory {
 public:
  OperationMemory(uint32_t nodes, uint32_t programs);
  // Bytes of one interface's memory.
  static uint64_t bytes(uint32_t nodes, uint32_t programs) noexcept;
  // A stage of a packet, or an operation that has ended, seen at `node`. What belongs to no operation, or to
  // nodes and programs beyond the shape, is not kept. May throw std::bad_alloc.
  void take(uint32_t node, const substrata_transaction& seen);
  void clear() noexcept;
  // Of one node or program or all of them (SUBSTRATA_MYRINET_ALL).
  OperationSums sums(uint32_t node, uint32_t program, uint32_t kind) const noexcept;

 private:
  struct Kind {
    uint64_t ns;
    double squared_ns;
    uint64_t longest_ns;
    uint32_t count;
    uint32_t reserved;
    uint32_t bins[kOperationBins];
  };
  struct Part {
    int64_t ns[kLatencies];
    uint64_t bytes;
    uint32_t packets;
    uint32_t reserved;
  };
  struct Cell {
    std::array<Kind, kOperationKinds> kinds{};
    std::vector<Part> parts;  // of each kind, of each node
  };
  Cell& cell(uint32_t node, uint32_t program);
  const uint32_t nodes_;
  const uint32_t programs_;
  std::vector<std::unique_ptr<Cell>> cells_;  // made by the first operation
};

// The points of the kinds that have operations or packets.
std::vector<substrata_myrinet_operation_point> operation_points(const OperationMemory& memory, uint32_t node,
                                                                uint32_t program);

// The memory on the feed. A reader on another thread may come while a batch is taken.
class OperationRecorder final : public counting::ObservingInstrument {
 public:
  OperationRecorder(uint32_t nodes, uint32_t programs);
  ~OperationRecorder() override;
  template <typename Function>
  auto with_memory(Function&& function) {
    const std::lock_guard lock(mutex_);
    return function(memory_);
  }

 protected:
  void observe(const substrata_transaction* batch, size_t count) noexcept override;

 private:
  std::mutex mutex_;
  std::unique_ptr<OperationMemory> memory_;
  ProbeRoles roles_;
};

// The counts, in the order of the events.
enum OperationCount : uint32_t {
  kOperations,
  kOperationLatencySum,
  kOperationPackets,
  kOperationBytes,
  kOperationSourceLatencySum,
  kOperationLanaiLatencySum,
  kOperationNetLatencySum,
  kOperationDestLatencySum,
};
inline constexpr uint32_t kOperationCounts = kOperationDestLatencySum + 1;

// Which operations.
struct OperationChoice {
  static constexpr uint32_t kAny = ~0u;
  uint32_t node = kAny;  // whose process began it; absent, in a rank of a live MPI program: its own
  uint32_t program = kAny;
  uint32_t kind = kAny;
  bool operator==(const OperationChoice&) const = default;
};

// Counts for every choice that an event asks for; as PacketCounters.
class OperationCounters final
    : public ChoosingInstrument<OperationChoice, std::array<counting::Counter, kOperationCounts>, 1024> {
 public:
  OperationCounters();
  ~OperationCounters() override;

 protected:
  void observe(const substrata_transaction* batch, size_t count) noexcept override;

 private:
  static void take(Choices::Counting& counting, int own, const substrata_transaction& seen) noexcept;

  ProbeRoles roles_;
};

}  // namespace substrata::myrinet
