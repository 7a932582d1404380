// What is made once and then kept as long as the process.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "base/fork_lock.hpp"

namespace substrata {

// A pointer to what the first call makes that can: one that fails (null, or an exception) leaves nothing behind, and
// the next one tries again. For static storage. Thread-safe.
template <class T>
class Kept {
 public:
  template <class Make>  // gives a std::unique_ptr<T>
  const T* get(Make&& make) {
    if (const T* const known = value_.load(std::memory_order_acquire); known != nullptr) return known;
    const std::lock_guard guard(lock_);
    if (value_.load(std::memory_order_relaxed) == nullptr)
      value_.store(std::unique_ptr<T>(make()).release(), std::memory_order_release);
    return value_.load(std::memory_order_relaxed);
  }

 private:
  ForkLock lock_;
  std::atomic<const T*> value_{nullptr};
};

}  // namespace substrata
