// The memory system of the Owl paper's perturbation study: caches, buses, and capsules that write their
// packets into rings.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "models/cache/cache_model.hpp"

namespace substrata::papers {

// A bus that each transfer takes for `Cycles`. A transfer takes the first gap that is long enough from its
// time on, so that one that is far in the future does not hold up those before it.
template <uint64_t Cycles>
class Bus {
 public:
  // Gives the time at which the transfer is done.
  uint64_t take(uint64_t from) {
    for (uint64_t at = from; at < from + Cycles; ++at) {
      if (taken_[at % taken_.size()] == at + 1) from = at + 1;
    }
    for (uint64_t at = from; at < from + Cycles; ++at) taken_[at % taken_.size()] = at + 1;
    ++transfers_;
    return from + Cycles;
  }
  uint64_t busy() const { return transfers_ * Cycles; }

 private:
  std::vector<uint64_t> taken_ = std::vector<uint64_t>(1 << 18);  // by cycle: that cycle and one, if taken
  uint64_t transfers_ = 0;
};

enum class Injection { kNone, kNaive, kSeparate };

// What a monitor is, and where it writes to.
struct Monitor {
  Injection injection = Injection::kNone;
  uint64_t every = 1;         // so many transactions give a packet
  uint64_t ring = 1 << 20;    // bytes of each capsule's
  unsigned capsules = 3;      // 3: at the accesses, between the levels, before memory; 2: the latter two
  uint64_t packet_bytes = 8;  // one address
  bool warmed = true;         // the rings were passed before, and do not begin at one set of the second level
};

// Capsules at the accesses, between the levels and before memory; each gives one packet for every `every` of
// what passes at its place. Naive injection: the packet is an ordinary store of the ring buffer's next bytes,
// made where the capsule sits. Separate memory: it goes past the caches to a memory controller of its own,
// which is as fast as the program's.
class MonitoredMemory {
 public:
  // Memory system, from the paper: 64 KB two-way first level with 64-byte lines, 3 cycles; 2 MB direct-mapped
  // second level, 13 cycles.
  static constexpr uint64_t kLine = 64;
  static constexpr uint64_t kL1Bytes = 64 * 1024;
  static constexpr uint64_t kL2Bytes = 2 * 1024 * 1024;
  static constexpr uint64_t kL1Cycles = 3;
  static constexpr uint64_t kL2Cycles = 13;
  // From Kessler, "The Alpha 21264 microprocessor", IEEE Micro 19(2), 1999: two memory operations a cycle,
  // eight line fills and eight victims at once.
  static constexpr uint64_t kPorts = 2;
  static constexpr uint64_t kFills = 8;
  // The instruction cache is as large as the first level for data, two-way too (Kessler). A miss fetches its
  // line and no other.
  static constexpr uint64_t kCodeBytes = 64 * 1024;
  // Ours, in no paper: a line takes the second level's bus 8 cycles and memory's bus 16 cycles; memory
  // answers after 80.
  static constexpr uint64_t kL2BusCycles = 8;
  static constexpr uint64_t kMemoryBusCycles = 16;
  static constexpr uint64_t kMemoryCycles = 80;
  static constexpr uint64_t kPacketBytes = 8;
  // Packets that a capsule holds until they are written; a full one holds the accesses up. In no paper.
  static constexpr uint64_t kBuffered = 64;
  static constexpr uint64_t kBuffer =
      kBuffered * kMemoryBusCycles * kPacketBytes / kLine;  // as cycles of the separate memory

  // The accesses are made in the order of time.
  explicit MonitoredMemory(const Monitor& monitor, uint64_t l1_bytes = kL1Bytes, uint64_t l2_bytes = kL2Bytes)
      : monitor_(monitor), l1_(l1_bytes, 2, kLine), l2_(l2_bytes, 1, kLine) {
    if (monitor.injection != Injection::kNaive || !monitor.warmed) return;
    for (int pass = 0; pass < 2; ++pass)
      for (uint64_t line = 0; line < monitor.ring / kLine; ++line)
        for (unsigned place = 3 - monitor.capsules; place < 3; ++place)
          fill_ring(place, ring_of(place) + line * kLine);
  }

  // An access long ago: it leaves its line in the caches and takes no time.
  void fill(uint64_t address, bool write) {
    passed(0);
    const uint64_t line = address / kLine;
    if (l1_.use(line, write)) return;
    passed(1);
    if (!l2_.use(line, false)) {
      passed(2);
      put(l2_, line, false);
    }
    const uint64_t victim = put(l1_, line, write);
    if (victim != kNone && !l2_.use(victim, true)) put(l2_, victim, true);
  }
  void fill_code(uint64_t place) {
    const uint64_t line = place / kLine;
    if (code_.use(line, false)) return;
    put(code_, line, false);
    if (!l2_.use(line, false)) put(l2_, line, false);
  }

  // For the processor. Loads that miss overlap as far as the eight fills and the buses allow; a store goes to
  // the cache when it has retired, and fills behind.
  uint64_t fetch(uint64_t place, uint64_t now) {
    if (place == 0 || code_.use(place / kLine, false)) return now;
    put(code_, place / kLine, false);
    return second_level(place / kLine, now);
  }
  bool free(uint64_t now) const { return std::min(ports_[0], ports_[1]) <= now; }
  void begin(uint64_t now) { port(now); }
  uint64_t load(uint64_t address, uint64_t now) {
    const uint64_t done = access(address, false, now);
    monitor(0, now);
    return done;
  }
  uint64_t store(uint64_t address, uint64_t now) {
    const uint64_t done = access(address, true, now);
    monitor(0, now);
    return done;
  }
  // Cycles in which the busier of the two buses was.
  uint64_t busiest() const { return std::max(l2_bus_.busy(), memory_bus_.busy()); }
  uint64_t packets() const { return packets_; }

 private:
  uint64_t port(uint64_t from) {
    const auto first = std::min_element(ports_.begin(), ports_.end());
    const uint64_t begin = std::max(from, *first);
    *first = begin + 1;
    return begin;
  }
  uint64_t access(uint64_t address, bool write, uint64_t at) {
    const uint64_t line = address / kLine;
    if (l1_.use(line, write)) {
      // A line on its way serves everyone behind the one who asked.
      const uint64_t arrives =
          arriving_[line % arriving_.size()].first == line ? arriving_[line % arriving_.size()].second : 0;
      return std::max(at + kL1Cycles, arrives);
    }
    const auto fill = std::min_element(fills_.begin(), fills_.end());
    const uint64_t begin = std::max(at, *fill) + kL1Cycles;
    const uint64_t victim = put(l1_, line, write);
    const uint64_t done = second_level(line, begin);
    *fill = done;
    arriving_[line % arriving_.size()] = {line, done};
    if (victim != kNone) write_back(victim, done);
    return done;
  }
  uint64_t second_level(uint64_t line, uint64_t at) {
    monitor(1, at);
    if (l2_.use(line, false)) return l2_bus_.take(at + kL2Cycles - kL2BusCycles);
    const uint64_t arrived = memory(line, at + kL2Cycles);
    return l2_bus_.take(arrived);
  }
  uint64_t memory(uint64_t line, uint64_t at) {
    monitor(2, at);
    const uint64_t done = memory_bus_.take(at + kMemoryCycles - kMemoryBusCycles);
    if (put(l2_, line, false) != kNone) memory_bus_.take(done);
    return done;
  }
  void write_back(uint64_t line, uint64_t at) {
    l2_bus_.take(at);
    if (!l2_.use(line, true) && put(l2_, line, true) != kNone) memory_bus_.take(at);
  }
  // A capsule's ring. Rings that all begin at one set of the second level are what an earlier version had.
  uint64_t ring_of(unsigned place) const {
    const uint64_t apart = monitor_.warmed ? place * (kL2Bytes / 3 / kLine * kLine) : 0;
    return kRings + place * (uint64_t{1} << 24) + apart;
  }
  // Is there a capsule at `place`, and does it make a packet of what passes now?
  bool makes_packet(unsigned place) {
    return monitor_.injection != Injection::kNone && place + monitor_.capsules >= 3 && !inside_ &&
           ++seen_[place] % monitor_.every == 0;
  }
  // A line of a ring that was written long ago.
  void fill_ring(unsigned place, uint64_t address) {
    inside_ = true;
    if (place == 0) {
      fill(address, true);
    } else if (place == 1 && !l2_.use(address / kLine, true)) {
      put(l2_, address / kLine, true);
    }
    inside_ = false;
  }
  // What passed the capsule at `place` long ago.
  void passed(unsigned place) {
    if (!monitor_.warmed || !makes_packet(place)) return;
    if (monitor_.injection == Injection::kNaive)
      fill_ring(place, ring_of(place) + (written_[place] += monitor_.packet_bytes) % monitor_.ring);
  }
  // The capsule at `place` saw one more.
  void monitor(unsigned place, uint64_t at) {
    if (!makes_packet(place)) return;
    ++packets_;
    const uint64_t packet = monitor_.packet_bytes;
    if (monitor_.injection == Injection::kSeparate) {
      // The controller gathers packets into lines; a capsule with a full buffer holds the accesses up.
      separate_ = std::max(separate_, at) + kMemoryBusCycles * packet / kLine;
      if (separate_ > at + kBuffer) {
        for (uint64_t& each : ports_) each = std::max(each, separate_ - kBuffer);
      }
      return;
    }
    inside_ = true;  // the packets themselves are not monitored
    const uint64_t address = ring_of(place) + (written_[place] += packet) % monitor_.ring;
    const uint64_t line = address / kLine;
    if (place == 0) {
      // Into the first level like any access, but out of the capsule's buffer and not of the processor's
      // store queue.
      uint64_t& slot = injected_[injections_++ % kBuffered];
      if (slot > at) {
        for (uint64_t& each : ports_) each = std::max(each, slot);
      }
      slot = access(address, true, port(std::max(at, slot)));
    } else if (address % kLine == 0) {
      // The capsules further out gather a line and write it at their place.
      if (place == 1) {
        write_back(line, at);
      } else {
        memory_bus_.take(at);
      }
    }
    inside_ = false;
  }

  static constexpr uint64_t kNone = ~uint64_t{0};
  // Gives the dirty line that had to leave, or kNone.
  static uint64_t put(memory::CacheArray& level, uint64_t line, bool dirty) {
    const uint64_t victim = level.insert(line, dirty);
    return (victim & 1) != 0 ? victim >> 1 : kNone;
  }
  static constexpr uint64_t kRings = uint64_t{1} << 44;  // where no program's data lie
  Monitor monitor_;
  memory::CacheArray l1_;
  memory::CacheArray code_{kCodeBytes, 2, kLine};
  memory::CacheArray l2_;
  Bus<kL2BusCycles> l2_bus_;
  Bus<kMemoryBusCycles> memory_bus_;
  uint64_t separate_ = 0;  // when the separate controller is free
  std::array<uint64_t, kPorts> ports_{};
  std::array<uint64_t, kFills> fills_{};
  std::array<uint64_t, kBuffered> injected_{};
  uint64_t injections_ = 0;
  std::array<std::pair<uint64_t, uint64_t>, 1024> arriving_{};
  std::array<uint64_t, 3> seen_{};
  std::array<uint64_t, 3> written_{};
  uint64_t packets_ = 0;
  bool inside_ = false;
};

}  // namespace substrata::papers
