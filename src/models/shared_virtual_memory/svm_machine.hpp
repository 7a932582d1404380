// Shared virtual memory in software over a network: home-based lazy release consistency, by diffs or
// automatic update.
//
// The protocol is that of Zhou, Iftode and Li, "Performance evaluation of two home-based lazy release
// consistency protocols for shared virtual memory systems" (OSDI 1996): time is cut into intervals by
// synchronisation; at the end of an interval its changes go to each page's home, as a diff against a twin
// (HLRC) or, while it lasted, as automatic updates followed by a mark (AURC, after Iftode et al., HPCA 1996);
// an acquire brings write notices, the pages they name become invalid, and the next access fetches the whole
// page from its home, which waits until the changes the notices stand for have arrived. The data really
// moves: every process has pages of its own, and what the protocol does not bring it does not see.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/shared_virtual_memory/network.hpp"
#include "models/shared_virtual_memory/open_operations.hpp"
#include "sources/workloads/engine.hpp"
#include "sources/workloads/machine.hpp"
#include "sources/workloads/memory.hpp"

namespace substrata::svm {

enum class UpdateMode : std::uint8_t {
  kDiffs,      // twins and diffs (HLRC)
  kAutomatic,  // every store to a page with a home elsewhere leaves at once (AURC)
};
enum class HomePolicy : std::uint8_t {
  kBlock,       // consecutive pages to each node, all pages divided evenly
  kRoundRobin,  // page number modulo nodes
  kFirstTouch,  // the first process that accesses it; node 0 keeps the directory
};
enum class Managers : std::uint8_t {
  kNodeZero,  // node 0 manages all locks and barriers
  kSpread,    // number modulo nodes
};

// What the software does costs, in picoseconds. The defaults are round numbers for a processor of 100 MHz,
// not a published machine's; each machine states its own with their source.
struct SvmCosts {
  Time cycle = 10'000;           // of compute operations
  Time access = 10'000;          // of one load or store that needs nothing
  Time trap = 20'000'000;        // a page fault until the handler runs, and back
  Time page_copy = 10'000'000;   // a twin
  Time page_place = 10'000'000;  // a page that came into its place; 0 where the network writes it there
  Time diff_page = 15'000'000;   // comparing a page with its twin
  Time diff_byte = 5'000;        // putting together or applying a byte of a diff
  Time notice = 500'000;         // handling one write notice, the change of protection included
  Time handler = 5'000'000;      // of the receiving node for each packet of the protocol
  Time awaited = 5'000'000;      // the same, of a packet that the node's process waits for
  Time local = 1'000'000;        // a packet to oneself
};

struct SvmParameters {
  UpdateMode mode = UpdateMode::kDiffs;
  HomePolicy homes = HomePolicy::kBlock;
  Managers managers = Managers::kNodeZero;
  std::uint32_t page_bytes = 4096;  // a power of two, 64 to 65536
  std::uint32_t header_bytes = 16;  // of each packet: kind, numbers, addresses
  // First touch: a write notice names the page's home as well, in the bits of the address below the page's
  // size, so that only pages without notices are asked for at the directory.
  bool notices_name_homes = false;
  // Compare every load with a sequentially consistent memory; a difference ends the run with a message. Only
  // for programs without data races.
  bool verify = false;
  SvmCosts costs = {};
};

// What the protocol did in a run.
struct SvmCounts {
  std::uint64_t read_faults = 0;
  std::uint64_t write_faults = 0;
  std::uint64_t page_fetches = 0;
  // Accesses of a home to its own page, and fetches, that waited for changes on their way.
  std::uint64_t home_waits = 0;
  std::uint64_t twins = 0;
  std::uint64_t diffs = 0;
  std::uint64_t diff_bytes = 0;
  std::uint64_t updates = 0;  // stores sent automatically
  std::uint64_t update_bytes = 0;
  std::uint64_t intervals = 0;
  std::uint64_t notices = 0;
  std::uint64_t invalidations = 0;
  std::uint64_t moves = 0;  // of homes
  std::uint64_t packets[kPacketKinds] = {};
  std::uint64_t packet_bytes[kPacketKinds] = {};
};

// The machine: one process per node. Shared elements must be at least 4 bytes (the grain of diffs) and messages
// order no shared memory: locks and barriers do. Thread-bound as its engine.
class SvmMachine final : public workloads::Machine, private PacketSink, private workloads::EventSink {
 public:
  // `name` as the user knows the machine.
  SvmMachine(std::string name, const SvmParameters& parameters, std::unique_ptr<Network> network);

  std::string_view name() const override { return name_; }
  void begin(Engine& engine) override;
  workloads::ProcessView view(ProcessId process) override;
  std::string end() override;
  std::size_t advance(ProcessId process, std::span<const Operation> operations, Time& now,
                      Time horizon) override;
  void on_lock(ProcessId process, std::uint32_t lock, Time now) override;
  void on_unlock(ProcessId process, std::uint32_t lock, Time now) override;
  void on_barrier(ProcessId process, std::uint32_t barrier, Time now) override;
  void on_send(ProcessId process, workloads::MessageNumber message, Time now) override;
  Time on_receive(ProcessId process, const workloads::Message& message, Time now) override;
  void on_fault(ProcessId process, std::uint64_t page, bool write, Time now) override;
  std::vector<Statistic> statistics() const override;

  const SvmCounts& counts() const noexcept { return counts_; }
  std::uint64_t page_count() const noexcept { return page_count_; }
  std::uint64_t page_of(std::uint64_t address) const noexcept { return address >> page_shift_; }
  static constexpr ProcessId kNoHome = ~ProcessId{0};
  ProcessId home(std::uint64_t page) const noexcept { return homes_[page]; }
  // Moves a page's home when all processes are next at a barrier; the page goes there as a packet first.
  // Later requests for the same page replace earlier ones. For a page without a home yet: nothing.
  void move_home(std::uint64_t page, ProcessId to);

 private:
  static constexpr std::uint32_t kVersionBytes = 8;
  static constexpr std::uint32_t kClockBytes = 4;  // an entry of a vector time
  static constexpr std::uint32_t kNoticeBytes = 4;

  struct Node {
    workloads::Mapping memory;
    std::vector<std::uint8_t> pages;   // PageState
    std::vector<std::uint32_t> clock;  // intervals of each process whose notices it has; its own closed ones
    std::vector<std::uint64_t> dirty;  // pages written in the open interval, in the order of first writes
    std::unordered_map<std::uint64_t, std::vector<std::byte>> twins;
    // What the next copy of a page must contain.
    std::unordered_map<std::uint64_t, std::vector<Version>> wanted;
    std::vector<bool> knows_home;   // first touch: has asked the directory
    std::vector<std::byte> stored;  // values of stores not yet charged
    std::size_t stored_read = 0;
    std::uint64_t fault_page = 0;
    bool fault_write = false;
    Time fault_began = 0;
    Time busy = 0;  // protocol handler
  };
  struct Waiting {  // a fetch that waits at the home, or the home's own fault
    ProcessId process;
    std::vector<Version> versions;
  };
  struct Home {
    std::vector<Version> applied;  // newest interval of each writer that the home's copy contains
    std::vector<Waiting> waiting;
  };
  struct Lock {
    bool held = false;
    std::deque<Packet> queue;
    std::vector<std::uint32_t> clock;  // of the last release
  };
  struct Barrier {
    ProcessId arrived = 0;
    std::vector<std::uint32_t> clock;
    std::vector<std::vector<std::uint32_t>> clocks;  // of each process on arrival
  };

  void arrive(Packet&& packet, Time now) override;
  void on_event(Time now, std::uint64_t argument) override;

  // What each kind of packet does where it arrives.
  void lock_requested(Packet&& packet, Time now);
  void lock_released(Packet&& packet, Time now);
  void barrier_reached(Packet&& packet, Time now);
  void home_requested(const Packet& packet, Time now);
  void home_known(const Packet& packet, Time now);
  void page_requested(Packet&& packet, Time now);
  void page_arrived(const Packet& packet, Time now);
  void page_moved_in(const Packet& packet, Time now);
  void diff_arrived(const Packet& packet, Time now);

  Time send(Packet&& packet, Time now);
  Time handle(const Packet& packet, Time now);
  Time mark(ProcessId process, Operation operation, Time now);
  ProcessId manager(std::uint64_t number) const noexcept;
  Time close_interval(ProcessId process, Time now);
  Time acquire(ProcessId process, const std::vector<std::uint32_t>& clock, Time now);
  std::uint64_t notices_between(const std::vector<std::uint32_t>& older,
                                const std::vector<std::uint32_t>& newer, std::uint64_t& intervals) const;
  std::uint32_t notice_bytes(const std::vector<std::uint32_t>& older,
                             const std::vector<std::uint32_t>& newer) const;
  void serve_fault(ProcessId process, Time now);
  void finish_fault(ProcessId process, Time now);
  void applied(std::uint64_t page, Version version, Time now);
  bool contains(std::uint64_t page, const std::vector<Version>& versions) const;
  void place_page(const Packet& packet);
  Packet page_packet(PacketKind kind, std::uint64_t page, ProcessId to) const;
  void reply_page(std::uint64_t page, ProcessId to, Time now);
  void grant(Lock& lock, std::uint64_t number, const Packet& request, Time now);
  void start_moves(Time now);
  Time send_clock(PacketKind kind, ProcessId process, std::uint64_t number, Time now);
  void release_barrier(Time now);
  Packet packet(PacketKind kind, ProcessId from, ProcessId to, std::uint32_t payload) const;
  std::byte* page_data(ProcessId process, std::uint64_t page) const noexcept {
    return nodes_[process].memory.data() + (page << page_shift_);
  }

  std::string name_;
  SvmParameters parameters_;
  std::unique_ptr<Network> network_;
  Engine* engine_ = nullptr;
  unsigned page_shift_ = 12;
  std::uint64_t page_count_ = 0;
  std::vector<Node> nodes_;
  std::vector<ProcessId> homes_;
  std::unordered_map<std::uint64_t, Home> home_state_;
  // Which pages each closed interval of each process wrote. Immutable once closed, so that passing its number
  // stands for passing its contents; the packets are as large as the contents.
  std::vector<std::vector<std::vector<std::uint64_t>>> intervals_;
  std::unordered_map<std::uint64_t, Lock> locks_;
  std::unordered_map<std::uint64_t, Barrier> barriers_;
  // What each manager has notices of.
  std::unordered_map<ProcessId, std::vector<std::uint32_t>> manager_clocks_;
  std::unordered_map<std::uint64_t, Packet> local_;  // packets to oneself, on their way
  std::uint64_t next_local_ = 0;
  // Moves of homes: wanted, then (all at a barrier) on their way.
  std::vector<std::pair<std::uint64_t, ProcessId>> wanted_moves_;
  std::size_t moves_under_way_ = 0;
  std::uint64_t open_barrier_ = 0;  // the barrier that waits for moves
  OpenOperations operations_;
  SvmCounts counts_;
};

}  // namespace substrata::svm
