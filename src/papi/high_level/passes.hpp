// What the passes of one thread through its regions have measured: a few words each, or only their sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace substrata::high_level {

// Sum, extremes and last value of one quantity over the passes through a region.
struct Spread {
  int64_t sum = 0, least = std::numeric_limits<int64_t>::max(),
          greatest = std::numeric_limits<int64_t>::min(), last = 0;
  void add(int64_t value) noexcept;
  void add(const Spread& other) noexcept;
};

struct RegionSum {
  int64_t passes = 0;
  std::vector<Spread> spreads;  // cycles, nanoseconds, then the columns
};

// The quantities of a pass are cycles and nanoseconds since its begin, then one value a column: 8 bytes each, and
// 8 bytes for its region and the pass around it. Thread-compatible.
class Passes {
 public:
  static constexpr size_t kClocks = 2;  // quantities before the columns

  // With `only_sums` a pass leaves nothing behind but its part of the sums.
  explicit Passes(size_t columns = 0, bool only_sums = false);
  Passes(Passes&&) = default;
  Passes& operator=(Passes&&) = default;

  size_t quantities() const noexcept { return quantities_; }
  bool only_sums() const noexcept { return only_sums_; }
  // The number of a region's name.
  uint32_t region(std::string_view name);
  const std::string& name(uint32_t region) const { return names_[region]; }

  // A pass begins within another one (-1: in none).
  int64_t begin(int64_t parent);
  // A read within it, or its end, with quantities() values.
  void read(int64_t pass, const int64_t* values);
  void end(int64_t pass, uint32_t region, const int64_t* values);

  // In the order of their begins.
  int64_t size() const noexcept { return size_; }
  bool ended(int64_t pass) const noexcept { return row(pass)->region != kOpen; }
  uint32_t region_of(int64_t pass) const noexcept { return row(pass)->region; }
  int64_t parent_of(int64_t pass) const noexcept { return row(pass)->parent; }
  const int64_t* values_of(int64_t pass) const noexcept { return row(pass)->values(); }
  // The quantities of its reads, in order.
  std::vector<const int64_t*> reads_of(int64_t pass) const;
  // Passes that ended, also where nothing else of them is kept.
  bool any_ended() const noexcept { return any_ended_; }
  // By region number.
  std::vector<RegionSum> sums() const;

 private:
  static constexpr uint32_t kOpen = UINT32_MAX;
  struct Row {
    uint32_t region;
    int32_t parent;
    const int64_t* values() const noexcept { return reinterpret_cast<const int64_t*>(this + 1); }
    int64_t* values() noexcept { return reinterpret_cast<int64_t*>(this + 1); }
  };
  struct Read {
    int64_t pass;
    std::unique_ptr<int64_t[]> values;
  };
  Row* row(int64_t pass) const noexcept;
  void add_to(std::vector<RegionSum>* sums, uint32_t region, const int64_t* values) const;

  size_t quantities_;
  bool only_sums_;
  bool any_ended_ = false;
  int64_t size_ = 0;
  uint32_t last_region_ = 0;
  std::deque<std::string> names_;
  std::unordered_map<std::string_view, uint32_t> numbers_;  // of the names, which stay where they are
  std::vector<std::unique_ptr<int64_t[]>> blocks_;          // of rows; none is ever moved
  std::vector<Read> reads_;                                 // in the order of their passes
  std::vector<RegionSum> sums_;
};

}  // namespace substrata::high_level
