// Open addressing with steps of one.
#include "owl/table.hpp"

#include <algorithm>
#include <bit>

namespace substrata::owl {

Table::Table(uint32_t keys, uint32_t words, uint32_t most)
    : keys_(keys),
      stride_(std::max(keys + words, 1u)),
      most_(most),
      mask_(std::bit_ceil(most * 2) - 1),
      memory_(zeros<uint64_t>(size_t{most} * stride_)),
      slots_(zeros<uint32_t>(size_t{mask_} + 1)) {}

uint32_t Table::slot_of(const uint64_t* keys) const noexcept {
  uint64_t hash = 0;
  for (uint32_t k = 0; k < keys_; ++k) {
    hash = (hash ^ keys[k]) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
  }
  uint32_t slot = static_cast<uint32_t>(hash) & mask_;
  while (slots_[slot] != 0 && !same(at(slots_[slot] - 1), keys)) slot = (slot + 1) & mask_;
  return slot;
}

uint64_t* Table::search(const uint64_t* keys) noexcept {
  const uint32_t slot = slot_of(keys);
  if (slots_[slot] == 0) {
    if (rows_ == most_) return nullptr;
    slots_[slot] = ++rows_;
    uint64_t* const made = memory_.get() + size_t{rows_ - 1} * stride_;
    std::copy_n(keys, keys_, made);
    std::fill_n(made + keys_, stride_ - keys_, 0);
  }
  last_ = memory_.get() + size_t{slots_[slot] - 1} * stride_;
  return last_ + keys_;
}

const uint64_t* Table::find(const uint64_t* keys) const noexcept {
  const uint32_t slot = slot_of(keys);
  return slots_[slot] == 0 ? nullptr : at(slots_[slot] - 1) + keys_;
}

void Table::clear() noexcept {
  rows_ = 0;
  last_ = nullptr;
  std::fill_n(slots_.get(), size_t{mask_} + 1, 0);
}

}  // namespace substrata::owl
