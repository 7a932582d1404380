// The pattern match table of the modules that reduce patterns: rows of address differences, found by their first ones.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <vector>

#include "owl/module.hpp"
#include "owl/pattern.hpp"

namespace substrata::owl {

// What the modules that find patterns count, and when they give up a row.
namespace patterns {
inline constexpr Register kDeadAfter = reg("dead_after", "accesses after which an unused row is dead", 100000,
                                           1, std::numeric_limits<uint64_t>::max());
inline constexpr Metric kAccesses = count_metric("ACCESSES", "transactions reduced", "transactions");
inline constexpr Metric kPoints = count_metric("POINTS", "patterns that became one point", "points");
inline constexpr Metric kCovered =
    count_metric("COVERED", "transactions that these points stand for", "transactions");
inline constexpr Metric kLiterals = count_metric("LITERALS", "transactions in no pattern", "transactions");
inline constexpr Metric kDefinitions = count_metric("DEFINITIONS", "patterns sent to the reader", "patterns");
inline constexpr Metric kEvicted = count_metric("EVICTED", "rows of the table that were freed", "patterns");
inline constexpr Metric kPatterns = gauge_metric("PATTERNS", "rows of the table in use", "patterns");
}  // namespace patterns

inline constexpr uint32_t kBreak = 0xffffffff;  // the symbol of no step: something else stood between

// Thread-compatible.
class PatternTable {
 public:
  static constexpr uint32_t kGram = 4;  // steps that a row has at least, and by which it is found
  static constexpr uint32_t kNone = ~0u;
  struct Row {
    uint32_t steps = 0;     // 0: free
    uint32_t head = 0;      // detail of the first access
    uint32_t number = 0;    // sent to the reader; 0: not yet
    uint32_t next = kNone;  // in its bucket
    uint64_t last_use = 0;
    std::array<PatternStep, kLongestPattern - 1> step{};
  };
  explicit PatternTable(uint32_t rows) : rows_(rows) { buckets_.fill(kNone); }

  // Calls for every row that begins with these kGram steps.
  template <typename Call>
  void each_beginning(const PatternStep* steps, const Call& call) noexcept {
    for (uint32_t at = buckets_[hash_of(steps) % kBuckets]; at != kNone; at = rows_[at].next)
      if (std::equal(steps, steps + kGram, rows_[at].step.begin())) call(rows_[at]);
  }
  // The longest row that the accesses begin with: `count` steps are known of them. Null: none.
  Row* match(uint32_t head, const PatternStep* steps, uint32_t count) noexcept {
    if (count < kGram) return nullptr;
    Row* best = nullptr;
    each_beginning(steps, [&](Row& each) {
      if (each.head != head || each.steps > count || (best != nullptr && each.steps <= best->steps)) return;
      if (std::equal(each.step.begin(), each.step.begin() + each.steps, steps)) best = &each;
    });
    return best;
  }
  void insert(uint32_t head, const PatternStep* steps, uint32_t count, uint64_t now,
              uint64_t dead_after) noexcept {
    if (const Row* known = match(head, steps, count); known != nullptr && known->steps == count) return;
    uint32_t slot = 0;
    while (slot < rows_.size() && rows_[slot].steps != 0) ++slot;
    if (slot == rows_.size()) slot = free_rows(now, dead_after);
    Row& fresh = rows_[slot];
    fresh.steps = count;
    fresh.head = head;
    fresh.number = 0;
    fresh.last_use = now;
    std::copy_n(steps, count, fresh.step.begin());
    uint32_t& bucket = buckets_[hash_of(steps) % kBuckets];
    fresh.next = bucket;
    bucket = slot;
    ++held_;
  }
  uint32_t held() const noexcept { return held_; }
  uint64_t evicted() const noexcept { return evicted_; }
  // Bits of the rows in use where a row's registers are as wide as its largest difference needs.
  uint64_t adaptive_bits() const noexcept {
    uint64_t bits = 0;
    for (const Row& row : rows_) {
      uint32_t largest = 0;
      for (uint32_t i = 0; i < row.steps; ++i)
        largest = std::max(largest, static_cast<uint32_t>(std::abs(int64_t{row.step[i].distance})));
      bits += uint64_t{row.steps} * (static_cast<uint32_t>(std::bit_width(largest)) + 1);
    }
    return bits;
  }
  static uint32_t hash_of(const PatternStep* steps) noexcept {
    uint64_t hash = 0;
    for (uint32_t i = 0; i < kGram; ++i) {
      const uint64_t word = static_cast<uint32_t>(steps[i].distance) | uint64_t{steps[i].symbol} << 32;
      hash = (hash ^ (hash >> 29) ^ word) * 0x9e3779b97f4a7c15u;
    }
    return static_cast<uint32_t>(hash >> 40);
  }

 private:
  static constexpr uint32_t kBuckets = 256;
  void remove(uint32_t slot) noexcept {
    uint32_t* link = &buckets_[hash_of(rows_[slot].step.data()) % kBuckets];
    while (*link != slot) link = &rows_[*link].next;
    *link = rows_[slot].next;
    rows_[slot].steps = 0;
    --held_;
    ++evicted_;
  }
  // Dead rows go; if there are none, the quarter that was used longest ago.
  uint32_t free_rows(uint64_t now, uint64_t dead_after) noexcept {
    uint32_t freed = kNone;
    for (uint32_t i = 0; i < rows_.size(); ++i) {
      if (now - rows_[i].last_use > dead_after) remove(freed = i);
    }
    if (freed != kNone) return freed;
    uint32_t going = std::max<uint32_t>(1, static_cast<uint32_t>(rows_.size()) / 4);
    while (going-- > 0) {
      uint32_t oldest = kNone;
      for (uint32_t i = 0; i < rows_.size(); ++i) {
        if (rows_[i].steps != 0 && (oldest == kNone || rows_[i].last_use < rows_[oldest].last_use))
          oldest = i;
      }
      if (oldest == kNone) break;
      remove(freed = oldest);
    }
    return freed;
  }
  std::vector<Row> rows_;
  std::array<uint32_t, kBuckets> buckets_;
  uint32_t held_ = 0;
  uint64_t evicted_ = 0;
};

}  // namespace substrata::owl
