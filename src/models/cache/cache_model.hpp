// Two cache levels and a memory of one processor: what hits, what misses, what is written back.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "models/cache/cache_array.hpp"

namespace substrata::memory {

// Both levels: least recently used line is replaced, write-back, write-allocate. The defaults are a common
// desktop core's; they come from no paper.
struct Geometry {
  uint64_t l1_bytes = 32 * 1024;
  uint64_t l1_ways = 8;
  uint64_t l2_bytes = 1024 * 1024;
  uint64_t l2_ways = 16;
  uint64_t line_bytes = 64;
  bool inclusive = false;  // a line in the first level is in the second as well
  bool operator==(const Geometry&) const = default;
};

inline constexpr uint64_t kLeastLine = 4;
inline constexpr uint64_t kMostLine = 4096;
inline constexpr uint64_t kMostWays = 64;
inline constexpr uint64_t kMostCacheBytes = uint64_t{1} << 30;

// Null, or what is wrong with it and what would be right.
inline const char* objection(const Geometry& g) noexcept {
  const auto bad = [&](uint64_t bytes, uint64_t ways) {
    return ways == 0 || ways > kMostWays || bytes > kMostCacheBytes || bytes % (ways * g.line_bytes) != 0 ||
           !std::has_single_bit(bytes / (ways * g.line_bytes));
  };
  if (!std::has_single_bit(g.line_bytes) || g.line_bytes < kLeastLine || g.line_bytes > kMostLine) {
    return "a line must be a power of two of 4 to 4096 bytes";
  }
  if (bad(g.l1_bytes, g.l1_ways)) {
    return "the first level must have 1 to 64 ways and, divided by ways and line, a power of two of sets";
  }
  if (bad(g.l2_bytes, g.l2_ways)) {
    return "the second level must have 1 to 64 ways and, divided by ways and line, a power of two of sets";
  }
  return nullptr;
}

// What one processor's caches have seen.
struct Counts {
  uint64_t accesses = 0;  // transactions: loads, stores, atomics, fetches
  uint64_t reads = 0;     // loads, fetches and the load of an atomic
  uint64_t writes = 0;    // stores and the store of an atomic
  uint64_t atomics = 0;
  uint64_t bytes = 0;
  uint64_t references = 0;  // lines touched; an access across lines touches each
  uint64_t l1_misses = 0;
  uint64_t l2_misses = 0;
  uint64_t l1_write_backs = 0;      // first to second level
  uint64_t l2_write_backs = 0;      // second level to memory
  uint64_t back_invalidations = 0;  // taken out of an inclusive hierarchy's first level
};
inline constexpr uint32_t kCountFields = 11;

// Where an access was found in the end.
enum class Found : uint8_t { kL1 = 0, kL2 = 1, kMemory = 2 };

// Sees no traffic; the shape of what Caches::access reports to. Lines are given by their address.
struct NoTraffic {
  void l1_fill(uint64_t, bool /*hit in the second level*/) noexcept {}
  void l1_write_back(uint64_t) noexcept {}
  void l1_invalidate(uint64_t) noexcept {}
  void l2_fill(uint64_t) noexcept {}
  void l2_write_back(uint64_t) noexcept {}
};

// The two levels of one processor. Thread-compatible.
class Caches {
 public:
  explicit Caches(const Geometry& geometry)
      : l1_(geometry.l1_bytes, geometry.l1_ways, geometry.line_bytes),
        l2_(geometry.l2_bytes, geometry.l2_ways, geometry.line_bytes),
        shift_(static_cast<unsigned>(std::countr_zero(geometry.line_bytes))),
        inclusive_(geometry.inclusive) {}

  // Touches every line of [address, address + size), at least one; an access that would pass the end of the
  // address space ends there. Adds to counts what lines did; the fields of whole accesses are the caller's.
  template <typename Traffic>
  Found access(uint64_t address, uint32_t size, bool write, Counts& counts, Traffic& traffic) noexcept {
    const uint64_t line = address >> shift_;
    const uint64_t last_byte = address + size - 1;
    if ((address ^ last_byte) >> shift_ == 0) [[likely]] {
      return touch(line, write, counts, traffic);
    }
    return touch_all(line, size == 0 ? line : (last_byte < address ? ~uint64_t{0} : last_byte) >> shift_,
                     write, counts, traffic);
  }

 private:
  // One copy of what a line does in the caller's loop, and one here: called, it would take a tenth longer.
  template <typename Traffic>
  [[gnu::noinline]] Found touch_all(uint64_t line, uint64_t last, bool write, Counts& counts,
                                    Traffic& traffic) noexcept {
    Found found = touch(line, write, counts, traffic);
    while (line != last) found = std::max(found, touch(++line, write, counts, traffic));
    return found;
  }
  template <typename Traffic>
  [[gnu::always_inline]] Found touch(uint64_t line, bool write, Counts& counts, Traffic& traffic) noexcept {
    ++counts.references;
    if (last_ == line && !write) return Found::kL1;  // nothing changes
    last_ = line;
    return l1_.use(line, write) ? Found::kL1 : miss(line, write, counts, traffic);
  }
  template <typename Traffic>
  [[gnu::always_inline]] Found miss(uint64_t line, bool write, Counts& counts, Traffic& traffic) noexcept {
    ++counts.l1_misses;
    const uint64_t victim = l1_.insert(line, write);
    if (is_dirty(victim)) {
      ++counts.l1_write_backs;
      traffic.l1_write_back(address_of(victim >> 1));
      if (!l2_.use(victim >> 1, true)) leave_l2(l2_.insert(victim >> 1, true), counts, traffic);
    }
    const bool hit = l2_.use(line, false);
    traffic.l1_fill(address_of(line), hit);
    if (hit) return Found::kL2;
    ++counts.l2_misses;
    traffic.l2_fill(address_of(line));
    leave_l2(l2_.insert(line, false), counts, traffic);
    return Found::kMemory;
  }
  template <typename Traffic>
  void leave_l2(uint64_t victim, Counts& counts, Traffic& traffic) noexcept {
    if (inclusive_ && victim != CacheArray::kEmpty) {
      const uint64_t above = l1_.remove(victim >> 1);
      if (above != CacheArray::kEmpty) {
        ++counts.back_invalidations;
        traffic.l1_invalidate(address_of(victim >> 1));
        victim |= above & 1;
      }
    }
    counts.l2_write_backs += static_cast<uint64_t>(is_dirty(victim));  // a branch would be hard to foresee
    if (is_dirty(victim)) traffic.l2_write_back(address_of(victim >> 1));
  }
  static bool is_dirty(uint64_t word) noexcept { return (word & 1) != 0; }
  uint64_t address_of(uint64_t line) const noexcept { return line << shift_; }

  CacheArray l1_;
  CacheArray l2_;
  unsigned shift_;
  bool inclusive_;
  uint64_t last_ = CacheArray::kEmpty;  // the line touched last: only another takes it out of the first level
};

}  // namespace substrata::memory
