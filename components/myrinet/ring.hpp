// A queue in one block of memory.
#pragma once

#include <cstddef>
#include <vector>

namespace substrata::myrinet {

// First in, first out; the block is doubled when it is full and never given back before the end.
// Thread-compatible.
template <typename T>
class Ring {
 public:
  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }
  // i from the front; i < size().
  const T& operator[](std::size_t i) const noexcept { return slots_[(front_ + i) & (slots_.size() - 1)]; }
  // Of one that is not empty.
  const T& front() const noexcept { return slots_[front_]; }
  const T& back() const noexcept { return (*this)[size_ - 1]; }
  void pop_front() noexcept {
    front_ = (front_ + 1) & (slots_.size() - 1);
    --size_;
  }
  void push_back(const T& value) { add() = value; }
  // A place at the back, with whatever was in it.
  T& add() {
    if (size_ == slots_.size()) grow();
    return slots_[(front_ + size_++) & (slots_.size() - 1)];
  }

 private:
  void grow() {
    std::vector<T> larger(slots_.empty() ? 8 : slots_.size() * 2);
    for (std::size_t i = 0; i < size_; ++i) larger[i] = (*this)[i];
    slots_.swap(larger);
    front_ = 0;
  }

  std::vector<T> slots_;  // as many as a power of 2, or none
  std::size_t front_ = 0;
  std::size_t size_ = 0;
};

}  // namespace substrata::myrinet
