// The associative counter array: a few counters, each lent to the key it counts, the least recently used one
// taken away.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>

namespace substrata::owl {

// Counters are found by a hash table of their keys (open addressing, a few times as many places as counters) and stand
// in a list by their last use. Thread-compatible. Source of the idea: Schulz et al., Computing Frontiers 2005, section
// 5.1.
template <typename Value>
class CounterArray {
 public:
  explicit CounterArray(uint32_t counters)
      : counters_(counters),
        mask_(static_cast<uint32_t>(std::bit_ceil(uint64_t{counters} * (counters <= kFew ? 8 : 2))) - 1),
        entries_(std::make_unique<Entry[]>(counters)),
        places_(std::make_unique<uint32_t[]>(mask_ + uint64_t{1})) {
    for (uint64_t i = 0; i <= mask_; ++i) places_[i] = kNone;
  }

  // The value of the key, made the most recent one. A key without a counter gets a free one, or that of the
  // least recently used key, of which evict(key, value) hears first.
  template <typename Evict>
  Value& use(uint64_t key, Evict&& evict) noexcept {
    if (newest_ != kNone && entries_[newest_].key == key) return entries_[newest_].value;
    uint32_t place = home(key);
    while (places_[place] != kNone) {
      const uint32_t found = places_[place];
      if (entries_[found].key == key) {
        unlink(found);
        put_in_front(found);
        return entries_[found].value;
      }
      place = (place + 1) & mask_;
    }
    uint32_t slot = used_;
    if (used_ < counters_) {
      ++used_;
      entries_[slot].key = key;
      places_[place] = slot;
    } else {
      slot = oldest_;
      const uint64_t old = entries_[slot].key;
      evict(old, static_cast<const Value&>(entries_[slot].value));
      unlink(slot);
      // The new key's place was free, so it is not among those from the old key's home to where it is.
      entries_[slot].key = key;
      places_[place] = slot;
      forget(old, slot);
    }
    entries_[slot].value = Value{};
    put_in_front(slot);
    return entries_[slot].value;
  }

  // Every key with its value, the least recent first; all counters are free afterwards.
  template <typename Evict>
  void drain(Evict&& evict) noexcept {
    for (uint32_t slot = oldest_; slot != kNone; slot = entries_[slot].newer) {
      evict(entries_[slot].key, static_cast<const Value&>(entries_[slot].value));
    }
    for (uint64_t i = 0; i <= mask_; ++i) places_[i] = kNone;
    used_ = 0;
    newest_ = oldest_ = kNone;
  }
  uint32_t used() const noexcept { return used_; }

 private:
  static constexpr uint32_t kNone = ~0u;
  static constexpr uint32_t kFew = 512;  // the places of so many stay in the first cache
  struct Entry {
    uint64_t key = 0;
    Value value{};
    uint32_t newer = kNone;
    uint32_t older = kNone;
  };
  uint32_t home(uint64_t key) const noexcept {
    return static_cast<uint32_t>((key * 0x9e3779b97f4a7c15u) >> 40) & mask_;
  }
  void unlink(uint32_t slot) noexcept {
    const Entry& e = entries_[slot];
    (e.newer != kNone ? entries_[e.newer].older : newest_) = e.older;
    (e.older != kNone ? entries_[e.older].newer : oldest_) = e.newer;
  }
  void put_in_front(uint32_t slot) noexcept {
    Entry& e = entries_[slot];
    e.newer = kNone;
    e.older = newest_;
    (newest_ != kNone ? entries_[newest_].newer : oldest_) = slot;
    newest_ = slot;
  }
  // Takes the key, whose counter it was, out of the places and closes the gap.
  void forget(uint64_t key, uint32_t slot) noexcept {
    uint32_t hole = home(key);
    while (places_[hole] != slot) hole = (hole + 1) & mask_;
    uint32_t next = hole;
    while (true) {
      next = (next + 1) & mask_;
      if (places_[next] == kNone) break;
      const uint32_t wanted = home(entries_[places_[next]].key);
      if (((next - wanted) & mask_) >= ((next - hole) & mask_)) {
        places_[hole] = places_[next];
        hole = next;
      }
    }
    places_[hole] = kNone;
  }

  const uint32_t counters_;
  const uint32_t mask_;
  uint32_t used_ = 0;
  uint32_t newest_ = kNone;
  uint32_t oldest_ = kNone;
  std::unique_ptr<Entry[]> entries_;
  std::unique_ptr<uint32_t[]> places_;
};

}  // namespace substrata::owl
