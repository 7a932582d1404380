// The performance monitor of a NUMAchine memory card: FIFO depths, the memory state hit table, page use.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "numachine/queue_monitor.hpp"

// Source: Lemieux's thesis, appendix A.
namespace substrata::numachine {

// States of a block at memory or in a network cache, in the order of table A.1; kNotIn only in a network
// cache.
enum class BlockState : std::uint8_t {
  kLocalValid = 0,
  kLocalInvalid = 1,
  kGlobalValid = 2,
  kGlobalInvalid = 3,
  kNotIn = 4
};

// Columns of table A.1. An upgrade, which asks for ownership without data, counts as an update request.
enum class RequestType : std::uint8_t { kRead = 0, kReadExclusive = 1, kUpdate = 2, kWriteBack = 3 };

// The most stations of a machine.
inline constexpr std::uint32_t kMostStations = 64;

// Depth of one FIFO in one unit (packets or transactions). Changes are reported in the order of cycles.
// Thread-compatible.
class FifoDepth {
 public:
  FifoDepth() = default;
  // Counts from that cycle on.
  explicit FifoDepth(std::uint64_t cycle) noexcept : now_(cycle), begun_(cycle) {}

  // The depth changes at the beginning of that cycle; a cycle earlier than the last one is taken as the last.
  void change(std::uint64_t cycle, std::int64_t by) noexcept {
    until(cycle);
    depth_ = static_cast<std::uint64_t>(std::max<std::int64_t>(0, static_cast<std::int64_t>(depth_) + by));
    maximum_ = std::max(maximum_, depth_);
    by_change_ += depth_;
    ++changes_;
  }
  // Accumulates the depth of every cycle before that one.
  void until(std::uint64_t cycle) noexcept {
    if (cycle <= now_) return;
    by_cycle_ += depth_ * (cycle - now_);
    now_ = cycle;
  }
  std::uint64_t depth() const noexcept { return depth_; }
  std::uint64_t maximum() const noexcept { return maximum_; }
  // Divided by the cycles: the time-average depth. Divided by changes(): the population average.
  std::uint64_t accumulated_by_cycle() const noexcept { return by_cycle_; }
  std::uint64_t accumulated_by_change() const noexcept { return by_change_; }
  std::uint64_t changes() const noexcept { return changes_; }
  std::uint64_t cycles() const noexcept { return now_ - begun_; }

 private:
  std::uint64_t depth_ = 0;
  std::uint64_t maximum_ = 0;
  std::uint64_t now_ = 0;
  std::uint64_t begun_ = 0;
  std::uint64_t by_cycle_ = 0;
  std::uint64_t by_change_ = 0;
  std::uint64_t changes_ = 0;
};

// One card's monitor. Thread-compatible.
class MemoryCard {
 public:
  struct Fifo {
    FifoDepth packets;
    FifoDepth transactions;
    void change(std::uint64_t cycle, std::int64_t transactions_by, std::int64_t packets_by) noexcept {
      transactions.change(cycle, transactions_by);
      packets.change(cycle, packets_by);
    }
  };
  Fifo incoming;
  Fifo outgoing;

  // A request meets a block in a state; of the requester's phase the four bits that travel count.
  void hit(BlockState state, RequestType type, std::uint16_t phase = 0) noexcept {
    if (state == BlockState::kNotIn) return;
    ++table_[phase & kTravellingPhase][static_cast<unsigned>(state)][static_cast<unsigned>(type)];
  }
  std::uint64_t hits(BlockState state, RequestType type, std::uint16_t phase) const noexcept {
    return table_[phase & kTravellingPhase][static_cast<unsigned>(state)][static_cast<unsigned>(type)];
  }
  std::uint64_t hits(BlockState state, RequestType type) const noexcept {
    std::uint64_t all = 0;
    for (std::uint16_t phase = 0; phase <= kTravellingPhase; ++phase) all += hits(state, type, phase);
    return all;
  }

  // How long transactions waited in the incoming FIFO and were served then (section 3.3.3).
  QueueMonitor queue;

  // A station's request for a page of this memory ("frequent flyer miles").
  void page_use(std::uint64_t page, std::uint32_t station) {
    if (lately_.empty()) lately_.resize(kKnownPages);
    KnownPage& known = lately_[place_of(page)];
    if (known.use == nullptr || known.page != page) known = {page, &pages_[page]};
    ++(*known.use)[station % kMostStations];
  }
  // That request will come soon. Changes nothing.
  void expect(std::uint64_t page, std::uint32_t station) const noexcept {
    if (lately_.empty()) return;
    const KnownPage& known = lately_[place_of(page)];
    if (known.use != nullptr) __builtin_prefetch(known.use->data() + station % kMostStations, 1);
  }
  using PageUse = std::array<std::uint32_t, kMostStations>;
  const std::unordered_map<std::uint64_t, PageUse>& pages() const noexcept { return pages_; }
  // Which station the page should move to: the one that used it at least `factor` times as often as all
  // others together (the thesis leaves the rule open; this one is our own). -1: none, or it is `home`
  // already.
  int migration_hint(std::uint64_t page, std::uint32_t home, std::uint32_t factor = 2) const noexcept;

  // In that cycle; nothing is under way.
  void reset(std::uint64_t cycle = 0) noexcept {
    table_ = {};
    queue = QueueMonitor(cycle);
    pages_.clear();
    lately_.clear();
    incoming = outgoing = {FifoDepth(cycle), FifoDepth(cycle)};
  }

 private:
  std::array<std::array<std::array<std::uint64_t, 4>, 4>, kTravellingPhase + 1> table_{};
  std::unordered_map<std::uint64_t, PageUse> pages_;
  // Pages used lately; a map's elements stay where they are.
  struct KnownPage {
    std::uint64_t page = 0;
    PageUse* use = nullptr;
  };
  static constexpr unsigned kKnownPagesBits = 11;
  static std::size_t place_of(std::uint64_t page) noexcept {
    return page * 0x9e3779b97f4a7c15U >> (64 - kKnownPagesBits);
  }
  static constexpr std::size_t kKnownPages = std::size_t{1} << kKnownPagesBits;
  std::vector<KnownPage> lately_;  // empty until the first
};

inline int MemoryCard::migration_hint(std::uint64_t page, std::uint32_t home,
                                      std::uint32_t factor) const noexcept {
  const auto found = pages_.find(page);
  if (found == pages_.end()) return -1;
  std::uint64_t all = 0;
  std::uint32_t best = 0;
  for (std::uint32_t station = 0; station < kMostStations; ++station) {
    all += found->second[station];
    if (found->second[station] > found->second[best]) best = station;
  }
  const std::uint64_t most = found->second[best];
  if (best == home || most == 0 || most < (all - most) * factor) return -1;
  return static_cast<int>(best);
}

}  // namespace substrata::numachine
