// What shared virtual memory asks of the network below it, and the packets that pass between both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sources/workloads/engine.hpp"
#include "sources/workloads/machine.hpp"

namespace substrata::svm {

using workloads::Engine;
using workloads::Operation;
using workloads::ProcessId;
using workloads::Statistic;
using workloads::Time;

enum class PacketKind : std::uint8_t {
  kLockRequest,
  kLockGrant,
  kLockRelease,
  kBarrierArrive,
  kBarrierRelease,
  kHomeRequest,  // where does this page live? (first-touch placement)
  kHomeReply,
  kPageRequest,
  kPageReply,
  kPageMove,  // a page goes to its new home
  kDiff,
  kUpdate,      // automatic update: stored bytes on their way to the page's home
  kUpdateMark,  // all updates of an interval are before it
  kUser,        // a message of the program
};
inline constexpr std::size_t kPacketKinds = static_cast<std::size_t>(PacketKind::kUser) + 1;
// "lock-request", ...
std::string_view name_of(PacketKind kind) noexcept;

// A process's write to a page: interval `interval` of `writer` changed it.
struct Version {
  ProcessId writer;
  std::uint32_t interval;
};

// An operation of the layer above the packets. The network adds what it sends for it.
struct LayerOperation {
  workloads::LayerKind kind = workloads::LayerKind::kNone;
  ProcessId node = 0;        // whose process waits for it
  std::uint64_t number = 0;  // of that node's, from 1
  std::uint64_t about = 0;   // address of the page, number of the lock or barrier, receiver of the message
  Time begin = 0;
  Time end = 0;
  std::uint32_t packets = 0;
  std::uint64_t bytes = 0;
};

// One message of the protocol. A network looks at the first block only.
struct Packet {
  PacketKind kind = PacketKind::kUser;
  ProcessId from = 0;
  ProcessId to = 0;
  std::uint32_t bytes = 0;              // on the wire, the protocol's header included, the network's own not
  std::uint64_t address = 0;            // of the page or of the updated bytes, in the shared address space
  std::uint64_t number = 0;             // lock, barrier, interval or message
  LayerOperation* operation = nullptr;  // whose part it is, or null; valid inside Network::send only

  std::vector<std::uint32_t> clock;  // vector time
  std::vector<Version> versions;     // what a page must contain, or which pages an interval marked
  std::vector<std::uint64_t> pages;  // of an update mark
  std::vector<std::byte> data;       // page, diff or updated bytes
};

// Where packets come out of a network.
class PacketSink {
 public:
  virtual void arrive(Packet&& packet, Time now) = 0;

 protected:
  ~PacketSink() = default;
};

// A network between nodes, one process per node. It keeps the order of packets and updates between any two
// nodes, loses nothing, and hands each packet to the sink once, at its time of arrival (inside an engine
// event). Packets whose sender and receiver are the same node never come here. Thread-bound as the engine.
class Network {
 public:
  virtual ~Network() = default;
  virtual void begin(Engine& engine, PacketSink& receiver) = 0;
  // Takes a packet at `now`, which is not before the present event. Returns when the sending processor is
  // free again.
  virtual Time send(Packet&& packet, Time now) = 0;
  // Takes bytes stored to a mapped page. They arrive as packets of kind kUpdate with address and data;
  // contiguous ones may be combined until flush() or any send() of that node. Returns when the processor is
  // free again.
  virtual Time update(ProcessId from, ProcessId to, std::uint64_t address, std::span<const std::byte> data,
                      Time now) = 0;
  // Lets go what is being combined at the node.
  virtual void flush(ProcessId from, Time now) = 0;
  // The node's processor keeps its memory busy with work of the protocol: a twin, a diff. Not always in the
  // order of time.
  virtual void memory_busy(ProcessId /*node*/, Time /*begin*/, Time /*end*/) {}
  // An operation has ended; packets of it may still be on their way. Not always in the order of ends.
  virtual void completed(const LayerOperation& /*operation*/) {}
  // Marks of procedures and phases: what do they cost here (a monitor's register, for example)?
  virtual Time mark(ProcessId /*process*/, Operation /*operation*/, Time /*now*/) { return 0; }
  virtual std::vector<Statistic> statistics() const { return {}; }

 protected:
  // For update(): appends the bytes to the node's open packet, which holds at most `most`; sends that packet first
  // by flush() when they do not continue it.
  void combine(Packet& open, ProcessId from, ProcessId to, std::uint64_t address,
               std::span<const std::byte> data, std::uint32_t most, Time now);
};

}  // namespace substrata::svm
