// A number that a model counts and that readers on other threads look at.
#pragma once

#include <atomic>
#include <cstdint>

namespace substrata::counting {

// One writer at a time (the observer that counts), any number of readers. The addition is a plain one: no
// locked instruction. Thread-safe under that rule.
class Counter {
 public:
  void add(uint64_t count) noexcept { value_.store(value() + count, std::memory_order_relaxed); }
  // The same for several writers at a time, none of which uses the others.
  void add_shared(uint64_t count) noexcept { value_.fetch_add(count, std::memory_order_relaxed); }
  void set(uint64_t value) noexcept { value_.store(value, std::memory_order_relaxed); }
  uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

}  // namespace substrata::counting
