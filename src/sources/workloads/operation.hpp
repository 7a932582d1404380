// What a process of a workload does, as a machine sees it: one packed word an operation, and the units of
// time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace substrata::workloads {

// Simulated time in picoseconds since the start of the run. 2^64 ps are 213 days.
using Time = std::uint64_t;
inline constexpr Time kNever = ~Time{0};

// The kinds of recorded operations, the ones a process performs without waiting.
enum class OperationKind : std::uint8_t {
  kRead = 0,     // shared memory, address and size in bytes
  kWrite = 1,    // shared memory, address and size in bytes
  kCompute = 2,  // argument: processor cycles without shared accesses
  kEnter = 3,    // argument: a RegionId, a procedure begins; size: its LayerKind
  kLeave = 4,    // argument: a RegionId, a procedure ends; size: its LayerKind
  kPhase = 5,    // argument: a RegionId, the phase of the program changes
};

// What a process does in the communication layer as one whole, although the network below sees several
// packets. Shared virtual memory makes the first five by itself, a message outside any other is the sixth;
// programs and layers of their own mark the rest (Process::enter with a kind, class Procedure).
enum class LayerKind : std::uint8_t {
  kNone,
  kPageFetch,    // from the access to the page being there
  kPageHome,     // the directory is asked where a page lives
  kLockAcquire,  // what was written before goes to the pages' homes, then the lock is waited for
  kLockRelease,
  kBarrier,  // one process's part: from its arrival to its departure
  kMessage,  // from the send to the message being in the receiver's memory
  kBroadcast,
  kStreamOpen,  // of a stream: connect or accept
  kStreamWrite,
  kStreamRead,
  kStreamClose,
  kCollective,  // any other operation of several messages
};
inline constexpr std::size_t kLayerKinds = static_cast<std::size_t>(LayerKind::kCollective);  // without kNone
// Does the operation last until all messages sent inside it are delivered? The others end with their call.
constexpr bool ends_with_delivery(LayerKind kind) noexcept {
  return kind == LayerKind::kMessage || kind == LayerKind::kBroadcast || kind == LayerKind::kCollective;
}

// One operation in 64 bits: argument in bits 0-47, size in bits 48-55, kind in bits 56-59. Thread-compatible.
class Operation {
 public:
  constexpr Operation() noexcept = default;
  constexpr Operation(OperationKind kind, std::uint64_t argument, unsigned size = 0) noexcept
      : bits_((argument & kArgumentMask) | (std::uint64_t{size} << 48) |
              (static_cast<std::uint64_t>(kind) << 56)) {}
  // A read or write; `address` below 2^48, which every address of Memory is.
  static constexpr Operation access(OperationKind kind, std::uint64_t address, unsigned size) noexcept {
    Operation out;
    out.bits_ = address | (std::uint64_t{size} << 48) | (static_cast<std::uint64_t>(kind) << 56);
    return out;
  }
  constexpr OperationKind kind() const noexcept { return static_cast<OperationKind>(bits_ >> 56); }
  constexpr std::uint64_t argument() const noexcept { return bits_ & kArgumentMask; }
  // Of a read or write: where in the shared address space, in bytes.
  constexpr std::uint64_t address() const noexcept { return argument(); }
  constexpr unsigned size() const noexcept { return static_cast<unsigned>((bits_ >> 48) & 0xFFU); }
  // Of kEnter and kLeave.
  constexpr LayerKind layer_kind() const noexcept { return static_cast<LayerKind>(size()); }
  constexpr bool is_access() const noexcept { return (bits_ >> 56) <= 1U; }
  constexpr bool is_write() const noexcept { return (bits_ >> 56) == 1U; }
  constexpr std::uint64_t bits() const noexcept { return bits_; }

 private:
  static constexpr std::uint64_t kArgumentMask = (std::uint64_t{1} << 48) - 1;
  std::uint64_t bits_ = 0;
};
static_assert(sizeof(Operation) == 8);

}  // namespace substrata::workloads
