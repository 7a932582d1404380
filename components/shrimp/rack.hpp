// The boards of all nodes, fed by what arrives at shrimp.node*.receive, with the counters and the interrupts
// that events show of them.
#pragma once

#include <substrata/substrate.h>
#include <substrata/feed.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "models/counting/counter.hpp"
#include "shrimp/board.hpp"

namespace substrata::shrimp {

inline constexpr uint32_t kNodes = 256;
inline constexpr uint32_t kEveryNode = 0xffffffffu;
inline constexpr char kArrivalProbes[] = "shrimp.node*.receive";
inline constexpr char kBusProbes[] = "shrimp.node*.eisa";
inline constexpr uint64_t kPicosecondsPerTick = 100'000;  // of the 10 MHz clock

// What is counted for each node and for all together.
enum Count : uint32_t {
  kPackets,
  kBytes,
  kLatencySum,
  kInterrupts,
  kTraceEntries,
  kCommands,
  kLost,
  kBusUses,
  kBusBytes,
  kBusBusy,
  kBusWait,
  kCounts
};
using NodeCounters = std::array<counting::Counter, kCounts>;

// Packets with certain variables. `mask` and `value` are packed; only packets with (variables & mask) ==
// value count. In bins, the mask is cut to what the multiplexer lets through, and a variable of which it lets
// nothing through makes the watch count nothing.
struct Watch {
  uint32_t node = kEveryNode;
  bool bins = false;  // counts increments of histogram words instead of packets
  uint64_t mask = 0;
  uint64_t value = 0;
  counting::Counter packets;
  counting::Counter bytes;
};

// One event that overflows.
struct Alarm {
  Set* set = nullptr;
  uint32_t position = 0;
  uint32_t node = kEveryNode;
  uint64_t mask = 0;  // the event's own qualifiers
  uint64_t value = 0;
  SampleSink sink;
  bool running = false;
};

// There is one, for the process (rack()). Thread-safe.
class Rack {
 public:
  // Users of the boards: the first subscribes to the probe points, the last ends that.
  Status begin() noexcept;
  void end() noexcept;
  // The same for users of the EISA buses: their counts, and monitors that take them in.
  Status begin_buses() noexcept;
  void end_buses() noexcept;
  // After a monitor's source has changed: observes the buses while one takes them in.
  Status follow_sources() noexcept;

  const counting::Counter& counter(uint32_t node, Count which) const noexcept {
    return node == kEveryNode ? total_[which] : of_node_[node][which];
  }
  // The watch with these values, made when it is not there yet; lives as long as the process. May throw
  // std::bad_alloc.
  const Watch& watch(uint32_t node, bool bins, uint64_t mask, uint64_t value);

  // Sets the threshold registers and says who is notified; position by position of a set. A second alarm of a
  // position replaces the first. May throw std::bad_alloc.
  void arm(const Alarm& alarm, uint64_t threshold);
  void disarm(Set* set, uint32_t position) noexcept;
  void set_running(Set* set, bool running) noexcept;
  void forget(Set* set) noexcept;

  // Calls change(board) for one board or all of them, in the order of nodes, with the rack locked. A message
  // ends it and is given back.
  template <class Change>
  const char* with(uint32_t node, Change&& change) {
    const std::lock_guard guard(mutex_);
    for (uint32_t n = 0; n < kNodes; ++n) {
      if (node != kEveryNode && node != n) continue;
      if (const char* refused = change(boards_[n])) return refused;
    }
    return nullptr;
  }
  void count_command(uint32_t node) noexcept;
  void power_on() noexcept;

 private:
  // The first user makes the observer and subscribes it.
  template <auto take>
  Status join(uint32_t* users, client::feed::Observer* observer, const char* probes) noexcept;
  void observe_bus(const substrata_transaction* batch, size_t count) noexcept;
  void observe(const substrata_transaction* batch, size_t count) noexcept;
  // As many transactions of one board as can be taken together, at least one.
  size_t take(std::unique_lock<std::mutex>& lock, const substrata_transaction* batch, size_t count);
  void take_bus(std::unique_lock<std::mutex>& lock, const substrata_transaction& use);
  // Puts them through the node's board and counts what the board and the watches make of them. Gives how many
  // were taken.
  struct Intake {
    const uint64_t* variables;
    const uint64_t* clocks;
    size_t count;
    const substrata_transaction* packets;  // null: uses of the bus
    uint64_t bytes;                        // of all packets,
    uint64_t latency;                      // and theirs in ticks
  };
  size_t record(std::unique_lock<std::mutex>& lock, uint32_t node, const Intake& intake);
  void apply(Board& board, uint32_t node, const substrata_transaction& command) noexcept;
  void notify(std::unique_lock<std::mutex>& lock, uint32_t node);
  bool alarmed(uint32_t node) const noexcept;
  void add(uint32_t node, Count which, uint64_t count) noexcept {
    of_node_[node][which].add(count);
    total_[which].add(count);
  }

  std::mutex users_mutex_;
  uint32_t users_ = 0;
  client::feed::Observer observer_;
  uint32_t bus_users_ = 0;
  client::feed::Observer bus_observer_;
  std::atomic<bool> in_use_{false};  // an eventset runs
  std::atomic<bool> boards_take_bus_{false};

  mutable std::mutex mutex_;  // around everything below but the counters
  std::array<Board, kNodes> boards_;
  std::array<uint16_t, kNodes> last_phase_{};
  std::array<NodeCounters, kNodes> of_node_;
  NodeCounters total_;
  std::deque<Watch> watches_;
  std::vector<Alarm> alarms_;
  size_t chunk_ = 1;  // how many packets are taken at once; small while packets interrupt
};

// Made at its first use, never destroyed.
Rack& rack();

}  // namespace substrata::shrimp
