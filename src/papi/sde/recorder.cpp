// Keeps the values given to a recorder and answers for the whole, their number and their quartiles.
#include "papi/sde/recorder.hpp"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

namespace substrata::sde {
namespace {

void* copy_of(const std::byte* from, std::size_t size) {
  void* to = std::malloc(size > 0 ? size : 1);
  if (to == nullptr) throw std::bad_alloc();
  if (size > 0) std::memcpy(to, from, size);
  return to;
}

}  // namespace

void Recorder::record(const void* value) {
  const auto* bytes = static_cast<const std::byte*>(value);
  const std::lock_guard lock(mutex_);
  values_.insert(values_.end(), bytes, bytes + value_size_);
  count_.fetch_add(1, std::memory_order_release);
}

void Recorder::reset() noexcept {
  const std::lock_guard lock(mutex_);
  values_.clear();
  sorted_.clear();
  count_.store(0, std::memory_order_release);
}

void* Recorder::copy() const {
  const std::lock_guard lock(mutex_);
  return copy_of(values_.data(), values_.size());
}

void* Recorder::quartile(int quarter) {
  const std::lock_guard lock(mutex_);
  if (compare_ == nullptr || values_.empty()) return nullptr;
  const std::size_t count = values_.size() / value_size_;
  if (sorted_.size() != values_.size()) {
    sorted_ = values_;
    std::qsort(sorted_.data(), count, value_size_, compare_);
  }
  // n * quarter / 4 without the product overflowing.
  const auto q = static_cast<std::size_t>(quarter);
  const std::size_t index = quarter == 4 ? count - 1 : count / 4 * q + count % 4 * q / 4;
  return copy_of(sorted_.data() + index * value_size_, value_size_);
}

}  // namespace substrata::sde
