// One set-associative array of a cache: which lines are there, and which of a set was used longest ago.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace substrata::memory {

// A way's word is the number of its line with its dirty bit below it.
inline constexpr uint64_t kEmptyWord = ~uint64_t{0};

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

#ifdef __SSE2__
// Up to sixteen ways: a word stays where it is, a stamp for each way says when it was used, and sixteen bits of every
// line of a set are compared with a line's at once. SSE2 is part of x86-64.
class RowsByTags {
 public:
  static constexpr uint64_t kMostWays = 16;

  RowsByTags(uint64_t sets, uint64_t ways)
      : ways_((uint32_t{2} << (ways - 1)) - 1), mask_(sets - 1), sets_(sets, Set(ways)) {}
  bool use(uint64_t line, bool dirty) noexcept {
    if (*used_.word >> 1 == line) {  // the usual case
      *used_.word |= static_cast<uint64_t>(dirty);
      return true;
    }
    Set& set = sets_[line & mask_];
    for (uint32_t equal = equal_tags(set, line); equal != 0; equal &= equal - 1) {
      const auto way = static_cast<unsigned>(std::countr_zero(equal));
      uint64_t& word = set.words[way];
      if (word >> 1 != line) continue;
      word |= static_cast<uint64_t>(dirty);
      used_.word = &word;
      set.stamp(way);
      return true;
    }
    return false;
  }
  uint64_t insert(uint64_t line, bool dirty) noexcept {
    Set& set = sets_[line & mask_];
    const unsigned way = set.stamps[set.next] == set.next_stamp ? set.next : set.oldest();
    set.tags[way] = tag_of(line);
    uint64_t& word = set.words[way];
    used_.word = &word;
    const uint64_t victim = word;
    word = line << 1 | static_cast<uint64_t>(dirty);
    set.look_ahead(way);  // before the stamp: reading it back at once as part of a vector takes long
    set.stamp(way);
    return victim;
  }
  uint64_t remove(uint64_t line) noexcept {
    Set& set = sets_[line & mask_];
    for (uint32_t equal = equal_tags(set, line); equal != 0; equal &= equal - 1) {
      const auto way = static_cast<unsigned>(std::countr_zero(equal));
      const uint64_t word = set.words[way];
      if (word >> 1 != line) continue;
      set.words[way] = kEmptyWord;
      set.stamps[way] = set.next_stamp = kNever;
      set.next = static_cast<uint16_t>(way);
      return word;
    }
    return kEmptyWord;
  }

 private:
  static constexpr int16_t kNever = INT16_MIN;  // a way without a line
  static constexpr int16_t kNoWay = INT16_MAX;

  struct alignas(64) Set {
    explicit Set(uint64_t ways) noexcept {
      std::fill(std::begin(words), std::end(words), kEmptyWord);
      std::fill(std::begin(stamps), std::end(stamps), kNoWay);
      std::fill_n(std::begin(stamps), ways, kNever);
    }
    void stamp(unsigned way) noexcept {
      stamps[way] = ++newest;
      if (newest == kNoWay - 1) [[unlikely]]
        begin_again();
    }
    static __m128i blend(__m128i a, __m128i where, __m128i b) noexcept {
      return _mm_or_si128(_mm_andnot_si128(where, a), _mm_and_si128(where, b));
    }
    unsigned oldest(unsigned but = kMostWays) const noexcept {
      const auto* const all = reinterpret_cast<const __m128i*>(stamps);
      const __m128i not_this = _mm_set1_epi16(static_cast<int16_t>(but));
      const __m128i none = _mm_set1_epi16(kNoWay);
      const __m128i low_out = _mm_cmpeq_epi16(_mm_set_epi16(7, 6, 5, 4, 3, 2, 1, 0), not_this);
      const __m128i high_out = _mm_cmpeq_epi16(_mm_set_epi16(15, 14, 13, 12, 11, 10, 9, 8), not_this);
      const __m128i low = blend(_mm_load_si128(all), low_out, none);
      const __m128i high = blend(_mm_load_si128(all + 1), high_out, none);
      __m128i least = _mm_min_epi16(low, high);
      least = _mm_min_epi16(least, _mm_shuffle_epi32(least, 0x4e));
      least = _mm_min_epi16(least, _mm_shuffle_epi32(least, 0xb1));
      least = _mm_min_epi16(least, _mm_shufflehi_epi16(_mm_shufflelo_epi16(least, 0xb1), 0xb1));
      const __m128i same = _mm_packs_epi16(_mm_cmpeq_epi16(low, least), _mm_cmpeq_epi16(high, least));
      return static_cast<unsigned>(std::countr_zero(static_cast<uint32_t>(_mm_movemask_epi8(same))));
    }
    // Who has to leave next unless it is used before: stamps only grow.
    void look_ahead(unsigned used) noexcept {
      next = static_cast<uint16_t>(oldest(used));
      next_stamp = stamps[next];
    }
    // The same order in the smallest stamps.
    void begin_again() noexcept {
      int16_t fresh[kMostWays];
      for (uint64_t way = 0; way < kMostWays; ++way) {
        const int16_t old = stamps[way];
        fresh[way] =
            old == kNever || old == kNoWay
                ? old
                : static_cast<int16_t>(kNever + 1 + std::count_if(stamps, stamps + kMostWays, [&](int16_t s) {
                                         return s != kNever && s < old;
                                       }));
      }
      std::copy(std::begin(fresh), std::end(fresh), stamps);
      newest = static_cast<int16_t>(kNever + int{kMostWays});
      look_ahead(kMostWays);
    }
    uint16_t tags[kMostWays] = {};
    int16_t stamps[kMostWays];
    int16_t newest = kNever;
    uint16_t next = 0;
    int16_t next_stamp = kNever;
    alignas(64) uint64_t words[kMostWays];
  };
  // The word that was used last, which a copy of the array does not have.
  struct Used {
    Used() noexcept = default;
    Used(const Used&) noexcept {}
    Used& operator=(const Used&) noexcept {
      word = &none;
      return *this;
    }
    static inline uint64_t none = kEmptyWord;
    uint64_t* word = &none;
  };

  static uint16_t tag_of(uint64_t line) noexcept {
    return static_cast<uint16_t>(line * 0x9e3779b97f4a7c15 >> 48);
  }
  // A bit for each way whose tag is the line's; words of other lines, and empty ones, may be among them.
  uint32_t equal_tags(const Set& set, uint64_t line) const noexcept {
    const __m128i tag = _mm_set1_epi16(static_cast<int16_t>(tag_of(line)));
    const auto* const tags = reinterpret_cast<const __m128i*>(set.tags);
    const __m128i low = _mm_cmpeq_epi16(_mm_load_si128(tags), tag);
    const __m128i high = _mm_cmpeq_epi16(_mm_load_si128(tags + 1), tag);
    return static_cast<uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(low, high))) & ways_;
  }

  uint32_t ways_;  // a bit for each
  uint64_t mask_;
  Used used_;
  std::vector<Set> sets_;
};
#else
class RowsByTags {  // not here
 public:
  static constexpr uint64_t kMostWays = 0;
  RowsByTags(uint64_t, uint64_t) noexcept {}
  bool use(uint64_t, bool) noexcept { return false; }
  uint64_t insert(uint64_t, bool) noexcept { return kEmptyWord; }
  uint64_t remove(uint64_t) noexcept { return kEmptyWord; }
};
#endif

// By its tags where it can be, else in order. So are few ways, whose rows are a quarter as large or less.
class CacheArray {
 public:
  static constexpr uint64_t kEmpty = kEmptyWord;
  static constexpr uint64_t kFewWays = 4;

  CacheArray(uint64_t bytes, uint64_t ways, uint64_t line_bytes)
      : by_tags_(ways > kFewWays && ways <= RowsByTags::kMostWays),
        tags_(by_tags_ ? bytes / (ways * line_bytes) : 1, by_tags_ ? ways : 1),
        rows_(by_tags_ ? 1 : bytes / (ways * line_bytes), by_tags_ ? 1 : ways) {}
  // Makes the line the most recent of its set and dirty if asked; false: it is not there.
  bool use(uint64_t line, bool dirty) noexcept {
    return by_tags_ ? tags_.use(line, dirty) : rows_.use(line, dirty);
  }
  // Puts a line that is not there in front; gives the word that had to leave, or kEmpty.
  uint64_t insert(uint64_t line, bool dirty) noexcept {
    return by_tags_ ? tags_.insert(line, dirty) : rows_.insert(line, dirty);
  }
  // Takes the line out; gives its word, or kEmpty.
  uint64_t remove(uint64_t line) noexcept { return by_tags_ ? tags_.remove(line) : rows_.remove(line); }

 private:
  bool by_tags_;
  RowsByTags tags_;
  RowsInOrder rows_;
};

}  // namespace substrata::memory
