// Rows of words by several keys: what `count by object, line` keeps, and the state of `set(name[key] = value)`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "owl/zeros.hpp"

namespace substrata::owl {

inline constexpr uint32_t kMostKeys = 8;

// A fixed number of rows, found by a hash of their keys; nothing is allocated after the beginning. Memory is touched as
// rows are made. Thread-compatible.
class Table {
 public:
  // Throws std::bad_alloc. most: at most 2^24.
  Table(uint32_t keys, uint32_t words, uint32_t most);
  // The words of the keys' row, of zeros where it is new; null: it would be new, and the table is full.
  uint64_t* row(const uint64_t* keys) noexcept {
    if (last_ != nullptr && same(last_, keys)) return last_ + keys_;
    return search(keys);
  }
  // Null: there is no such row.
  const uint64_t* find(const uint64_t* keys) const noexcept;
  uint32_t rows() const noexcept { return rows_; }
  // Keys, then words. In the order in which they were made.
  const uint64_t* at(uint32_t row) const noexcept { return memory_.get() + size_t{row} * stride_; }
  void clear() noexcept;

 private:
  bool same(const uint64_t* row, const uint64_t* keys) const noexcept {
    uint64_t different = 0;
    for (uint32_t k = 0; k < keys_; ++k) different |= row[k] ^ keys[k];
    return different == 0;
  }
  uint32_t slot_of(const uint64_t* keys) const noexcept;
  uint64_t* search(const uint64_t* keys) noexcept;

  const uint32_t keys_;
  const uint32_t stride_;
  const uint32_t most_;
  uint32_t rows_ = 0;
  uint32_t mask_;
  uint64_t* last_ = nullptr;
  Zeros<uint64_t> memory_;
  Zeros<uint32_t> slots_;  // a row's number + 1; 0: none
};

}  // namespace substrata::owl
