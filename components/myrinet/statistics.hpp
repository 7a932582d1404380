// What the firmware of one network interface keeps of packets: histograms and sums in a block of known size.
#pragma once

#include <substrata/myrinet.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>

namespace substrata::myrinet {

inline constexpr uint32_t kLatencies = SUBSTRATA_MYRINET_LATENCIES;
inline constexpr uint32_t kTypes = SUBSTRATA_MYRINET_TYPES;
inline constexpr uint32_t kMostNodes = SUBSTRATA_MYRINET_MOST_NODES;
// That the monitors of all nodes take in this process.
inline constexpr uint64_t kMostModelBytes = uint64_t{1} << 30;
inline constexpr uint32_t kMostPrograms = SUBSTRATA_MYRINET_MOST_PROGRAMS;

// The layout of the statistics; checked before use. The paper's: lengths in bins of eight words, latencies in
// bins of 1 us, the net latency 2 us (section 2.3). Numbers of bins are ours, so that the whole takes the
// "about 180 KB" of section 2.1.
struct Shape {
  uint32_t nodes = 8;
  uint32_t programs = 1;
  uint32_t length_bins = 128;
  uint32_t length_bin_bytes = 32;
  uint32_t latency_bins = 64;
  uint32_t latency_bin_ns[kLatencies] = {1000, 1000, 2000, 1000};

  // What is wrong with it. Empty: nothing. The size of the interface's memory is not looked at.
  std::string objection() const;
  // 32-bit counts and 64-bit sums of one program at one interface.
  uint64_t counts_of_program() const noexcept;
  uint64_t sums_of_program() const noexcept;
  // Bytes of the longest latencies of one program, which stay with the sums.
  uint64_t longest_of_program() const noexcept {
    return (uint64_t{length_bins} + nodes + kTypes) * kLatencies;
  }
  // Of one interface, all programs.
  uint64_t bytes() const noexcept {
    return programs * (counts_of_program() * sizeof(uint32_t) + sums_of_program() * sizeof(uint64_t) +
                       longest_of_program());
  }
  uint32_t length_bin(uint32_t bytes) const noexcept {
    const uint32_t bin = bytes == 0 ? 0 : (bytes - 1) / length_bin_bytes;
    return bin < length_bins ? bin : length_bins - 1;
  }
  uint32_t latency_bin(uint32_t latency, int64_t ns) const noexcept {
    if (ns < 0) return 0;  // two clocks: what the firmware would see
    const uint64_t bin = static_cast<uint64_t>(ns) / latency_bin_ns[latency];
    return bin < latency_bins ? static_cast<uint32_t>(bin) : latency_bins - 1;
  }
};

// Divides by a number known late without a division and without a branch: number + 1 times 2^64 / by, rounded
// down (Robison, "N-bit unsigned division via N-bit multiply-add", ARITH 2005); exact where number < 2^32 and
// by <= 2^32.
class Divider {
 public:
  explicit Divider(uint32_t by) noexcept : inverse_(~uint64_t{0} / by) {}
  // (number_and_one - 1) / by; 0 for 0.
  uint32_t of_one_less(uint64_t number_and_one) const noexcept {
    __extension__ using Wide = unsigned __int128;
    return static_cast<uint32_t>((static_cast<Wide>(inverse_) * number_and_one) >> 64);
  }

 private:
  uint64_t inverse_;
};

// Bins of a quarter of the power of two below them, from 1 for 1 to 1.25: a number's exponent and first two digits as a
// double has them. Numbers below 1 have bins below 1, those below 2^63 at most 253.
constexpr int kQuarterShift = 50;
constexpr int kBeforeOne = static_cast<int>(std::bit_cast<int64_t>(1.0) >> kQuarterShift) - 1;
constexpr int quarter_of(double number) noexcept {
  return static_cast<int>(std::bit_cast<int64_t>(number) >> kQuarterShift) - kBeforeOne;
}
constexpr double quarter_end(int bin) noexcept {
  return std::bit_cast<double>(int64_t{bin + 1 + kBeforeOne} << kQuarterShift);
}

// Sums of one latency over the packets of one x.
struct LatencySums {
  uint64_t packets = 0;
  int64_t ns = 0;
  double squared_ns = 0;
};

// Where in one program's block at one interface everything is. A row is the sums of one x, all its latencies
// in one cache line, and the histogram of each latency.
class Layout {
 public:
  // Throws std::length_error for more than 16 GB.
  explicit Layout(const Shape& shape);
  // Axis by the place in the block: lengths, peers, types.
  enum class Group : uint32_t { kLength, kPeer, kType };
  struct Sum {
    double squared_ns;
    int64_t ns;
  };
  // A latency of a packet, with the bins into which it and the packet's length fall.
  struct Sample {
    int64_t ns;
    uint32_t length;
    uint32_t bin;
  };
  // Has no branch on the latency or the length: which comes next is anything.
  Sample sample(uint32_t latency, uint32_t bytes, int64_t ns) const noexcept {
    const auto natural = static_cast<uint64_t>(ns);
    const uint32_t length = std::min(by_length_.of_one_less(bytes), shape_.length_bins - 1);
    if (natural > UINT32_MAX) [[unlikely]]
      return {ns, length, shape_.latency_bin(latency, ns)};
    return {ns, length,
            std::min(kinds_[latency].by_latency.of_one_less(natural + 1), shape_.latency_bins - 1)};
  }
  // Has the processor fetch what is the most scattered of what the sample changes in a block. Inlined by force: a
  // compiler may take a function that only prefetches for one without effect.
  [[gnu::always_inline]] void await(const uint32_t* words, uint32_t latency,
                                    const Sample& sample) const noexcept {
    const Kind& kind = kinds_[latency];
    const uint32_t* const row = words + row_at(sample.length);
    __builtin_prefetch(row + kind.sums, 1);
    __builtin_prefetch(row + kind.counts + sample.bin, 1);
  }
  // Adds a sample to a block. Peer is the node at the other end; types beyond kTypes and peers beyond the shape's nodes
  // must not come here.
  void add(uint32_t* words, uint32_t latency, uint32_t peer, uint32_t type,
           const Sample& sample) const noexcept {
    add(words, latency, peer, type, sample, [](uint32_t* word) { ++*word; });
  }
  // The same with count(word) in the stead of an increment. Its only branch on the latency is whether it is the longest
  // so far, which it hardly ever is.
  template <typename Count>
  void add(uint32_t* words, uint32_t latency, uint32_t peer, uint32_t type, const Sample& sample,
           Count&& count) const {
    const Kind& kind = kinds_[latency];
    const auto ns = static_cast<double>(sample.ns);
    const Sum more{ns * ns, sample.ns};
    const int duration = quarter_of(ns);
    uint8_t* const longest = reinterpret_cast<uint8_t*>(words + longest_) + kind.longest;
    const size_t sums = kind.sums;
    const size_t counts = size_t{kind.counts} + sample.bin;
    const size_t both = kind.both + (kind.counts_both & (sample.length * shape_.nodes + peer));
    const auto add_to_row = [&](uint32_t number) {
      uint32_t* const row = words + row_at(number);
      count(row + counts);
      add_sum(row + sums, more);
      if (longest[number] < duration) [[unlikely]]
        longest[number] = static_cast<uint8_t>(duration);
    };
    add_to_row(sample.length);
    add_to_row(row(Group::kPeer, peer));
    add_to_row(row(Group::kType, type));
    count(words + both);
  }
  uint32_t count_in_row(uint32_t latency, uint32_t bin) const noexcept {
    return kLatencies * kSumWords + latency * shape_.latency_bins + bin;
  }
  static constexpr uint32_t sums_in_row(uint32_t latency) noexcept { return latency * kSumWords; }
  // The first word of the row of that number.
  size_t row_at(uint32_t number) const noexcept { return size_t{number} * row_words_; }
  uint32_t row(Group group, uint32_t x) const noexcept {
    const uint32_t before = group == Group::kLength ? 0
                            : group == Group::kPeer ? shape_.length_bins
                                                    : shape_.length_bins + shape_.nodes;
    return before + x;
  }
  uint32_t lengths_at(bool received, uint32_t length_bin, uint32_t peer) const noexcept {
    return lengths_ + ((received ? shape_.length_bins : 0) + length_bin) * shape_.nodes + peer;
  }
  // A row's longest latency, counted from the first of all.
  uint32_t longest_at(Group group, uint32_t x, uint32_t latency) const noexcept {
    return kinds_[latency].longest + row(group, x);
  }
  uint32_t longest() const noexcept { return longest_; }
  struct Kind {  // of one latency
    Divider by_latency;
    uint32_t sums;    // words from the begin of a row to its sums
    uint32_t counts;  // and to its histogram
    uint32_t both;    // its counts by length and peer; without any, the word that takes what is counted with
    uint32_t counts_both;  // another latency; all bits or none
    uint32_t longest;      // where those of its longest latencies begin
  };
  const Kind& kind(uint32_t latency) const noexcept { return kinds_[latency]; }
  // Words of 32 bits; the one after the last takes what is not counted by both.
  uint32_t size() const noexcept { return size_; }
  const Shape& shape() const noexcept { return shape_; }

 private:
  static constexpr uint32_t kSumWords = sizeof(Sum) / sizeof(uint32_t);
  Kind kind_of(uint32_t latency) const noexcept;
  // Both at once: one load and one store.
  static void add_sum(uint32_t* place, const Sum& more) noexcept {
    typedef double Squares __attribute__((vector_size(sizeof(Sum)), may_alias));
    typedef int64_t Times __attribute__((vector_size(sizeof(Sum))));
    auto* const sum = reinterpret_cast<Squares*>(place);
    auto added = reinterpret_cast<Squares>(reinterpret_cast<Times>(*sum) + Times{0, more.ns});
    added[0] += more.squared_ns;
    *sum = added;
  }
  static_assert(kLatencies == 4, "a kind for each");
  const Shape shape_;
  const Divider by_length_;
  const uint32_t rows_;
  const uint32_t row_words_;
  const uint32_t lengths_;  // the counts by length and peer
  const uint32_t longest_;  // the longest latencies: a bin of one byte for each row of each latency
  const uint32_t size_;
  const Kind kinds_[kLatencies];
};

// One program's statistics at one interface. Everything lives in one block whose size is the shape's.
// Thread-compatible.
class Statistics {
 public:
  using Group = Layout::Group;
  using Sample = Layout::Sample;
  // Throws std::length_error for more than 16 GB.
  explicit Statistics(const Shape& shape);
  void add(uint32_t latency, uint32_t bytes, uint32_t peer, uint32_t type, int64_t ns) noexcept {
    layout_.add(words_.get(), latency, peer, type, layout_.sample(latency, bytes, ns));
  }
  // The block, for a layout of the same shape.
  uint32_t* words() const noexcept { return words_.get(); }
  void add_count(uint32_t place, uint32_t more) noexcept { words_[place] += more; }
  void clear() noexcept;

  uint32_t count(Group group, uint32_t x, uint32_t latency, uint32_t bin) const noexcept {
    return words_[layout_.row_at(layout_.row(group, x)) + layout_.count_in_row(latency, bin)];
  }
  LatencySums sums(Group group, uint32_t x, uint32_t latency) const noexcept;
  // The longest latency in the last bin, ns, up to a quarter more; 0: none is there.
  uint64_t longest(Group group, uint32_t x, uint32_t latency) const noexcept {
    if (count(group, x, latency, shape().latency_bins - 1) == 0) return 0;
    return static_cast<uint64_t>(
        std::ceil(quarter_end(all_longest()[layout_.longest_at(group, x, latency)])));
  }
  // Packets by length and peer: sent to it, or received from it.
  uint32_t packets(bool received, uint32_t length_bin, uint32_t peer) const noexcept {
    return words_[layout_.lengths_at(received, length_bin, peer)];
  }
  uint64_t bytes() const noexcept { return layout_.size() * uint64_t{sizeof(uint32_t)}; }
  const Shape& shape() const noexcept { return layout_.shape(); }

 private:
  uint8_t* all_longest() const noexcept {
    return reinterpret_cast<uint8_t*>(words_.get() + layout_.longest());
  }
  static constexpr size_t kLine = 64;
  struct Free {
    void operator()(uint32_t* words) const noexcept { ::operator delete[](words, std::align_val_t{kLine}); }
  };
  const Layout layout_;
  const std::unique_ptr<uint32_t[], Free> words_;
};

}  // namespace substrata::myrinet
