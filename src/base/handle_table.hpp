// Maps small integers, handed out from 0 upward and reused lowest first, to objects that stay where they are.
#pragma once

#include <atomic>
#include <cstddef>

namespace substrata {

// Lookup is one bounds check and one load, without a lock. The table owns nothing: whoever fills it keeps the
// objects for ever, so that a stale handle never touches freed memory, and the object itself says whether it
// is in use. take(), give_back() and put() are serialised by the caller; find() is thread-safe and
// signal-safe.
template <class T, size_t kCapacity>
class HandleTable {
 public:
  HandleTable() = default;
  HandleTable(const HandleTable&) = delete;
  HandleTable& operator=(const HandleTable&) = delete;

  // The object of a handle, whether in use or not; null where none was ever put.
  T* find(int handle) const noexcept {
    if (static_cast<size_t>(static_cast<unsigned>(handle)) >= kCapacity) return nullptr;
    return slots_[static_cast<unsigned>(handle)].load(std::memory_order_acquire);
  }

  // The lowest free handle, or -1 when all are taken.
  int take() noexcept {
    for (size_t i = lowest_free_; i < kCapacity; ++i) {
      if (used_[i]) continue;
      used_[i] = true;
      lowest_free_ = i + 1;
      if (size_.load(std::memory_order_relaxed) <= i) size_.store(i + 1, std::memory_order_relaxed);
      return static_cast<int>(i);
    }
    return -1;
  }
  void put(int handle, T* object) noexcept { slots_[handle].store(object, std::memory_order_release); }
  void give_back(int handle) noexcept {
    const size_t index = static_cast<size_t>(handle);
    if (handle < 0 || index >= kCapacity) return;
    used_[index] = false;
    if (index < lowest_free_) lowest_free_ = index;
  }

  // No handle at or above this was ever taken.
  int size() const noexcept { return static_cast<int>(size_.load(std::memory_order_relaxed)); }

 private:
  std::atomic<T*> slots_[kCapacity] = {};
  bool used_[kCapacity] = {};
  std::atomic<size_t> size_{0};
  size_t lowest_free_ = 0;
};

}  // namespace substrata
