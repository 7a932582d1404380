// Keeps the values given to a recorder and answers for the whole, their number and their quartiles.
#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

#include "base/fork_lock.hpp"

namespace substrata::sde {

// Values of one size, in the order of their arrival. Thread-safe; the comparison runs under the recorder's
// lock.
class Recorder {
 public:
  using Compare = int (*)(const void*, const void*);
  Recorder(std::size_t value_size, Compare compare) : value_size_(value_size), compare_(compare) {}

  std::size_t value_size() const noexcept { return value_size_; }
  bool compares() const noexcept { return compare_ != nullptr; }
  long long count() const noexcept { return count_.load(std::memory_order_acquire); }

  // Copies value_size() bytes. Throws std::bad_alloc.
  void record(const void* value);
  void reset() noexcept;
  // A copy of all values, from malloc; never null. Throws std::bad_alloc.
  void* copy() const;
  // A copy of the value at quarter/4 of the order (4: the greatest), from malloc; null when there is none.
  // The k-th of n values in order is taken, k = n * quarter / 4 rounded down. Throws std::bad_alloc.
  void* quartile(int quarter);

 private:
  const std::size_t value_size_;
  const Compare compare_;
  std::atomic<long long> count_{0};
  mutable ForkLock mutex_;
  std::vector<std::byte> values_;
  std::vector<std::byte> sorted_;  // what values_ was at the last question, in order
};

}  // namespace substrata::sde
