// A table in a running composition: rows are found by the columns of its keys, and its values added to them.
#pragma once

#include <cstdint>
#include <vector>

#include "owl/columns.hpp"
#include "owl/composition_parts.hpp"
#include "owl/table.hpp"

namespace substrata::owl {

// Thread-compatible.
class TableStage {
 public:
  // Throws std::bad_alloc.
  explicit TableStage(const Stage& stage);
  // write(row, bytes) is called for each row when the table is full, which begins anew then.
  template <typename Write>
  void add(Columns& columns, const View& view, const Surroundings& around, const Write& write) noexcept {
    compute(columns, view, around);
    if (only_counts_) {
      only_count_ += view.count;
      return;
    }
    uint64_t key[kMostKeys];
    for (size_t i = 0; i < view.count; ++i) {
      for (uint32_t k = 0; k < keys_; ++k) key[k] = buffers_[k * kColumn + i];
      uint64_t* row = table_.row(key);
      if (row == nullptr) {
        write_rows(write);
        row = table_.row(key);
      }
      add(row, i);
    }
  }
  template <typename Write>
  void write_rows(const Write& write) noexcept {
    if (only_counts_) {
      if (only_count_ != 0) write(&only_count_, sizeof only_count_);
      written_ += only_count_ != 0;
      only_count_ = 0;
      return;
    }
    const auto bytes = static_cast<uint32_t>((keys_ + stage_.words) * sizeof(uint64_t));
    for (uint32_t i = 0; i < table_.rows(); ++i) write(table_.at(i), bytes);
    written_ += table_.rows();
    table_.clear();
  }
  uint64_t written() const noexcept { return written_; }

 private:
  // Fills the columns of the keys, then those of the values.
  void compute(Columns& columns, const View& view, const Surroundings& around) noexcept;
  void compute_periods(const View& view) noexcept;
  void add(uint64_t* row, size_t i) const noexcept;

  const Stage& stage_;
  const uint32_t keys_;  // with the period
  const bool only_counts_;
  Table table_;
  std::vector<uint64_t> buffers_;
  uint64_t only_count_ = 0;
  uint64_t written_ = 0;
  uint64_t seen_ = 0;
  bool begun_ = false;
  uint64_t begin_ = 0;  // the first period
  uint32_t probe_ = ~0u;
  uint64_t ticks_ = 0;  // a second, of that probe point
};

// Where a value lies in a table's quantiles: exactly below 16, else within an eighth of its power of two.
uint32_t quantile_of(uint64_t value) noexcept;

}  // namespace substrata::owl
