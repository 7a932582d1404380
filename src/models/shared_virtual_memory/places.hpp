// Things under way by number: a number is used again when its thing has arrived.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace substrata::svm {

// References stay valid until their thing is removed. Thread-compatible.
template <typename T>
class Places {
 public:
  std::uint64_t add(T&& thing) {
    if (free_.empty()) {
      things_.push_back(std::move(thing));
      return things_.size() - 1;
    }
    const std::uint64_t number = free_.back();
    free_.pop_back();
    things_[number] = std::move(thing);
    return number;
  }
  void remove(std::uint64_t number) { free_.push_back(number); }
  T& operator[](std::uint64_t number) { return things_[number]; }

 private:
  std::deque<T> things_;
  std::vector<std::uint64_t> free_;
};

}  // namespace substrata::svm
