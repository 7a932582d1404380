// Maps small integers, handed out from 0 upward and reused lowest first, to objects that are never freed.
#ifndef SUBSTRATA_SUPPORT_HANDLE_TABLE_HPP
#define SUBSTRATA_SUPPORT_HANDLE_TABLE_HPP

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>

namespace substrata {

// Lookup is one bounds check and one load, without a lock. An object stays where it is for the life of the
// table, so a stale handle never touches freed memory: the object itself says whether it is in use. take()
// and give_back() are serialised by the caller; find() is thread-safe and signal-safe.
template <class T, size_t kCapacity>
class HandleTable {
 public:
  HandleTable() = default;
  HandleTable(const HandleTable&) = delete;
  HandleTable& operator=(const HandleTable&) = delete;
  ~HandleTable() {
    for (size_t i = 0; i < size_; ++i) delete slots_[i].load(std::memory_order_relaxed);
  }

  // The object of a handle, whether in use or not; null where none was ever handed out.
  T* find(int handle) const noexcept {
    if (static_cast<size_t>(static_cast<unsigned>(handle)) >= kCapacity) return nullptr;
    return slots_[static_cast<unsigned>(handle)].load(std::memory_order_acquire);
  }

  // The lowest free handle, or -1 when all are taken or memory is exhausted.
  int take() {
    for (size_t i = lowest_free_; i < size_; ++i) {
      if (!used_[i]) {
        used_[i] = true;
        lowest_free_ = i + 1;
        return static_cast<int>(i);
      }
    }
    if (size_ == kCapacity) return -1;
    T* fresh = new (std::nothrow) T();
    if (fresh == nullptr) return -1;
    slots_[size_].store(fresh, std::memory_order_release);
    used_[size_] = true;
    lowest_free_ = size_ + 1;
    return static_cast<int>(size_++);
  }

  void give_back(int handle) noexcept {
    const size_t index = static_cast<size_t>(handle);
    if (handle < 0 || index >= size_) return;
    used_[index] = false;
    if (index < lowest_free_) lowest_free_ = index;
  }

  // How many objects exist, in use or not: handles 0..size()-1 have one.
  size_t size() const noexcept { return size_; }
  bool in_use(int handle) const noexcept {
    return static_cast<size_t>(handle) < size_ && used_[static_cast<size_t>(handle)];
  }

 private:
  std::atomic<T*> slots_[kCapacity] = {};
  bool used_[kCapacity] = {};
  size_t size_ = 0;
  size_t lowest_free_ = 0;
};

}  // namespace substrata

#endif
