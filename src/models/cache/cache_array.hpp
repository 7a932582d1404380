// One set-associative array of a cache: which lines are there, and which of a set was used longest ago.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace substrata::memory {

// A way's word is the number of its line with its dirty bit below it. No line has the number of an empty way.
inline constexpr uint64_t kEmptyWord = ~uint64_t{1};

// Any number of ways; the words of a set stand in the order of their last use.
class RowsInOrder {
 public:
  RowsInOrder(uint64_t sets, uint64_t ways) : ways_(ways), mask_(sets - 1), words_(sets * ways, kEmptyWord) {}
  bool use(uint64_t line, bool dirty) noexcept {
    uint64_t* const row = row_of(line);
    uint64_t previous = row[0];
    if (previous >> 1 == line) {  // the usual case
      row[0] = previous | static_cast<uint64_t>(dirty);
      return true;
    }
    for (uint64_t i = 1; i < ways_; ++i) {
      const uint64_t word = row[i];
      if (word >> 1 != line) continue;
      for (uint64_t k = i; k > 0; --k) row[k] = row[k - 1];
      row[0] = word | static_cast<uint64_t>(dirty);
      return true;
    }
    return false;
  }
  uint64_t insert(uint64_t line, bool dirty) noexcept {
    uint64_t* const row = row_of(line);
    const uint64_t victim = row[ways_ - 1];
    for (uint64_t k = ways_ - 1; k > 0; --k) row[k] = row[k - 1];
    row[0] = line << 1 | static_cast<uint64_t>(dirty);
    return victim;
  }
  uint64_t remove(uint64_t line) noexcept {
    uint64_t* const row = row_of(line);
    for (uint64_t i = 0; i < ways_; ++i) {
      const uint64_t word = row[i];
      if (word >> 1 != line) continue;
      for (uint64_t k = i; k + 1 < ways_; ++k) row[k] = row[k + 1];
      row[ways_ - 1] = kEmptyWord;
      return word;
    }
    return kEmptyWord;
  }

 private:
  uint64_t* row_of(uint64_t line) noexcept { return words_.data() + (line & mask_) * ways_; }
  uint64_t ways_;
  uint64_t mask_;
  std::vector<uint64_t> words_;
};

// In which order eight ways were used: byte a has bit b if way a was used after way b. The byte of the oldest is zero.
class OrderOfEight {
 public:
  static constexpr unsigned kMostWays = 8;
  void use(uint64_t way) noexcept { order_ = (order_ | kBits.after[way]) & kBits.not_before[way]; }
  uint64_t use_oldest(unsigned) noexcept {
    const auto way = static_cast<unsigned>(std::countr_zero((order_ - kOnes) & ~order_ & kOnes << 7)) / 8;
    use(way);
    return way;
  }
  void make_oldest(uint64_t way, unsigned) noexcept {
    order_ = (order_ | ~kBits.not_before[way]) & ~kBits.after[way];
  }

 private:
  static constexpr uint64_t kOnes = 0x0101010101010101;
  static constexpr auto kBits = [] {
    struct {
      uint64_t after[kMostWays];
      uint64_t not_before[kMostWays];
    } bits{};
    for (unsigned way = 0; way < kMostWays; ++way) {
      bits.after[way] = uint64_t{0xff} << 8 * way;
      bits.not_before[way] = ~(kOnes << way);
    }
    return bits;
  }();
  uint64_t order_ = 0x7f3f1f0f07030100;
};

// In which order up to sixteen ways were used: their numbers as nibbles, the last used in the lowest.
class OrderOfSixteen {
 public:
  static constexpr unsigned kMostWays = 16;
  void use(uint64_t way) noexcept {
    const uint64_t at = place(way);
    order_ ^= (order_ ^ (order_ << 4 | way)) & (at ^ (at - 1));
  }
  uint64_t use_oldest(unsigned ways) noexcept {
    const uint64_t way = order_ >> 4 * (ways - 1) & 15;
    order_ = order_ << 4 | way;
    return way;
  }
  void make_oldest(uint64_t way, unsigned ways) noexcept {
    const uint64_t at = place(way);
    const uint64_t younger = ((at & -at) >> 3) - 1;
    const unsigned last = 4 * (ways - 1);
    order_ = (((order_ & younger) | (order_ >> 4 & ~younger)) & ~(uint64_t{15} << last)) | way << last;
  }

 private:
  static constexpr uint64_t kOnes = 0x1111111111111111;
  // Its lowest bit is the highest of the way's nibble. Above the nibbles of the ways that are there is anything.
  uint64_t place(uint64_t way) const noexcept {
    const uint64_t other = order_ ^ way * kOnes;
    return (other - kOnes) & ~other & kOnes << 3;
  }
  uint64_t order_ = 0xfedcba9876543210;
};

// As many ways as the order keeps, or fewer with the order of sixteen. A word stays where it is, and sixteen bits of
// every line of a set are compared with a line's at once.
template <typename Order>
class RowsByTags {
 public:
  static constexpr unsigned kMostWays = Order::kMostWays;

  RowsByTags(uint64_t sets, uint64_t ways)
      : ways_(static_cast<unsigned>(ways)), mask_(sets - 1), sets_(sets) {}
  bool use(uint64_t line, bool dirty) noexcept {
    Set& set = sets_[line & mask_];
    const uint64_t way = way_of(set, line);
    if (way == kMostWays) return false;
    set.words[way] |= static_cast<uint64_t>(dirty);
    set.order.use(way);
    return true;
  }
  uint64_t insert(uint64_t line, bool dirty) noexcept {
    Set& set = sets_[line & mask_];
    const uint64_t way = set.order.use_oldest(ways_);
    set.tags[way] = tag_of(line);
    return std::exchange(set.words[way], line << 1 | static_cast<uint64_t>(dirty));
  }
  uint64_t remove(uint64_t line) noexcept {
    Set& set = sets_[line & mask_];
    const uint64_t way = way_of(set, line);
    if (way == kMostWays) return kEmptyWord;
    set.order.make_oldest(way, ways_);
    return std::exchange(set.words[way], kEmptyWord);
  }

 private:
  struct alignas(64) Set {
    Set() noexcept { words.fill(kEmptyWord); }
    alignas(16) std::array<uint16_t, kMostWays> tags{};
    Order order;
    alignas(64) std::array<uint64_t, kMostWays> words;
  };

  static uint16_t tag_of(uint64_t line) noexcept {
    return static_cast<uint16_t>(line * 0x9e3779b97f4a7c15 >> 48);
  }
  // kMostWays: the line is not there.
  static uint64_t way_of(const Set& set, uint64_t line) noexcept {
    for (uint32_t equal = equal_tags(set, tag_of(line)); equal != 0; equal &= equal - 1) {
      const uint64_t way = static_cast<unsigned>(std::countr_zero(equal)) / kBitsOfWay;
      if (set.words[way] >> 1 == line) return way;
    }
    return kMostWays;
  }
  // The lowest of a way's bits is set if its tag is this one; words of other lines, and empty ones, may be among them.
#ifdef __SSE2__
  static constexpr unsigned kBitsOfWay = kMostWays == 8 ? 2 : 1;
  static uint32_t equal_tags(const Set& set, uint16_t tag) noexcept {
    const __m128i all = _mm_set1_epi16(static_cast<int16_t>(tag));
    const auto* const tags = reinterpret_cast<const __m128i*>(set.tags.data());
    const __m128i low = _mm_cmpeq_epi16(_mm_load_si128(tags), all);
    if constexpr (kMostWays == 8) {
      return static_cast<uint32_t>(_mm_movemask_epi8(low)) & 0x5555;
    } else {
      const __m128i high = _mm_cmpeq_epi16(_mm_load_si128(tags + 1), all);
      return static_cast<uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(low, high)));
    }
  }
#else
  static constexpr unsigned kBitsOfWay = 1;
  static uint32_t equal_tags(const Set& set, uint16_t tag) noexcept {
    uint32_t equal = 0;
    for (unsigned way = 0; way < kMostWays; ++way)
      equal |= static_cast<uint32_t>(set.tags[way] == tag) << way;
    return equal;
  }
#endif

  unsigned ways_;
  uint64_t mask_;
  std::vector<Set> sets_;
};

// By its tags where it can be, else in order. So are few ways, whose rows are a quarter as large or less.
class CacheArray {
 public:
  static constexpr uint64_t kEmpty = kEmptyWord;
  static constexpr uint64_t kFewWays = 4;

  CacheArray(uint64_t bytes, uint64_t ways, uint64_t line_bytes)
      : kind_(ways == OrderOfEight::kMostWays                        ? kEight
              : ways > kFewWays && ways <= OrderOfSixteen::kMostWays ? kSixteen
                                                                     : kInOrder),
        eight_(kind_ == kEight ? bytes / (ways * line_bytes) : 1, OrderOfEight::kMostWays),
        sixteen_(kind_ == kSixteen ? bytes / (ways * line_bytes) : 1, kind_ == kSixteen ? ways : 1),
        rows_(kind_ == kInOrder ? bytes / (ways * line_bytes) : 1, kind_ == kInOrder ? ways : 1) {}
  // Makes the line the most recent of its set and dirty if asked; false: it is not there.
  bool use(uint64_t line, bool dirty) noexcept {
    return kind_ == kEight     ? eight_.use(line, dirty)
           : kind_ == kSixteen ? sixteen_.use(line, dirty)
                               : rows_.use(line, dirty);
  }
  // Puts a line that is not there in front; gives the word that had to leave, or kEmpty.
  uint64_t insert(uint64_t line, bool dirty) noexcept {
    return kind_ == kEight     ? eight_.insert(line, dirty)
           : kind_ == kSixteen ? sixteen_.insert(line, dirty)
                               : rows_.insert(line, dirty);
  }
  // Takes the line out; gives its word, or kEmpty.
  uint64_t remove(uint64_t line) noexcept {
    return kind_ == kEight     ? eight_.remove(line)
           : kind_ == kSixteen ? sixteen_.remove(line)
                               : rows_.remove(line);
  }

 private:
  enum { kInOrder, kEight, kSixteen } kind_;
  RowsByTags<OrderOfEight> eight_;
  RowsByTags<OrderOfSixteen> sixteen_;
  RowsInOrder rows_;
};

}  // namespace substrata::memory
