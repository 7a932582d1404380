// What the firmware of one network interface keeps of packets: histograms and sums in a block of known size.
#pragma once

#include <substrata/myrinet.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "duration_bins.hpp"

namespace substrata::myrinet {

inline constexpr uint32_t kLatencies = SUBSTRATA_MYRINET_LATENCIES;
inline constexpr uint32_t kTypes = SUBSTRATA_MYRINET_TYPES;
inline constexpr uint32_t kMostNodes = SUBSTRATA_MYRINET_MOST_NODES;
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
    int64_t ns;
    double squared_ns;
  };
  // What one stage of a packet changes: places in words.
  struct Sample {
    int64_t ns;
    uint32_t sums[3];   // by length, peer, type
    uint32_t to_count;  // from each of them to its count
    uint32_t by_both;   // the count by length and peer
    uint16_t length;    // the bin of the length
    bool beyond;        // in the last bin, which has no end
  };
  // A packet's latency; peer is the node at the other end. Types beyond kTypes and peers beyond the shape's
  // nodes must not come here. Has no branch on the latency or the length: which comes next is anything.
  Sample sample(uint32_t latency, uint32_t bytes, uint32_t peer, uint32_t type, int64_t ns) const noexcept {
    const Kind& kind = kinds_[latency];
    const uint32_t length = std::min(by_length_.of_one_less(bytes), shape_.length_bins - 1);
    const auto natural = static_cast<uint64_t>(ns);
    const uint32_t bin = natural <= UINT32_MAX
                             ? std::min(kind.by_latency.of_one_less(natural + 1), shape_.latency_bins - 1)
                             : shape_.latency_bin(latency, ns);
    return {ns,
            {length * row_words_ + kind.sums, peers_ + peer * row_words_ + kind.sums,
             types_ + type * row_words_ + kind.sums},
            kind.to_counts + bin,
            kind.both + kind.counts_both * (length * shape_.nodes + peer),
            static_cast<uint16_t>(length),
            bin + 1 == shape_.latency_bins};
  }
  uint32_t count_in_row(uint32_t latency, uint32_t bin) const noexcept {
    return kLatencies * kSumWords + latency * shape_.latency_bins + bin;
  }
  static constexpr uint32_t sums_in_row(uint32_t latency) noexcept { return latency * kSumWords; }
  uint32_t row_at(Group group, uint32_t x) const noexcept {
    return (group == Group::kLength ? 0 : group == Group::kPeer ? peers_ : types_) + x * row_words_;
  }
  uint32_t lengths_at(bool received, uint32_t length_bin, uint32_t peer) const noexcept {
    return lengths_ + ((received ? shape_.length_bins : 0) + length_bin) * shape_.nodes + peer;
  }
  // Where the longest latencies of a row that are in a last bin are, one byte each: the number of their duration's bin
  // and 1. Bytes from the begin of the block.
  uint32_t longest_at(Group group, uint32_t x) const noexcept {
    const uint32_t before = group == Group::kLength ? 0
                            : group == Group::kPeer ? shape_.length_bins
                                                    : shape_.length_bins + shape_.nodes;
    return longest_ * uint32_t{sizeof(uint32_t)} + (before + x) * kLatencies;
  }
  // Words of 32 bits; the one after the last takes what is not counted by both.
  uint32_t size() const noexcept { return size_; }
  const Shape& shape() const noexcept { return shape_; }

 private:
  static constexpr uint32_t kSumWords = sizeof(Sum) / sizeof(uint32_t);
  struct Kind {  // of one latency
    Divider by_latency;
    uint32_t sums;       // in a row
    uint32_t to_counts;  // from there to the histogram
    uint32_t both;  // its counts by length and peer; without any, the word that takes what is counted with
    uint32_t counts_both;  // another latency, and 0
  };
  Kind kind_of(uint32_t latency) const noexcept;
  static_assert(kLatencies == 4, "a kind for each");
  const Shape shape_;
  const Divider by_length_;
  const uint32_t row_words_;
  const uint32_t peers_;    // where the rows of the peers begin; those of the lengths at 0
  const uint32_t types_;    // those of the types
  const uint32_t lengths_;  // the counts by length and peer
  const uint32_t longest_;  // the longest latency of each row
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
    const Sample sample = layout_.sample(latency, bytes, peer, type, ns);
    add(sample);
    if (sample.beyond) keep_longest(sample, latency, peer, type);
  }
  // Has the processor fetch what the sample changes.
  void await(const Sample& sample) const noexcept {
    const uint32_t* const sums = words_.get() + sample.sums[0];
    __builtin_prefetch(sums, 1);
    __builtin_prefetch(sums + sample.to_count, 1);
    __builtin_prefetch(words_.get() + sample.by_both, 1);
  }
  // All but the longest latency, so that it has no branch on the latency.
  void add(const Sample& sample) noexcept {
    uint32_t* const words = words_.get();
    uint32_t* const counts = words + sample.to_count;
    const double squared = square(sample.ns);
    for (const uint32_t place : sample.sums) {
      ++counts[place];
      add_sum(words + place, sample.ns, squared);
    }
    ++words[sample.by_both];
  }
  // The sums alone, and so many more in a place of a count.
  void add_sums(const Sample& sample) noexcept {
    for (const uint32_t place : sample.sums) add_sum(words_.get() + place, sample.ns, square(sample.ns));
  }
  // Of a sample that is in a last bin.
  void keep_longest(const Sample& sample, uint32_t latency, uint32_t peer, uint32_t type) noexcept {
    const auto bin = static_cast<uint8_t>(operation_bin(static_cast<uint64_t>(sample.ns)) + 1);
    uint8_t* const longest = bytes_at() + latency;
    for (const uint32_t row :
         {layout_.longest_at(Group::kLength, sample.length), layout_.longest_at(Group::kPeer, peer),
          layout_.longest_at(Group::kType, type)})
      longest[row] = std::max(longest[row], bin);
  }
  void add_count(uint32_t place, uint32_t more) noexcept { words_[place] += more; }
  void clear() noexcept;

  uint32_t count(Group group, uint32_t x, uint32_t latency, uint32_t bin) const noexcept {
    return words_[layout_.row_at(group, x) + layout_.count_in_row(latency, bin)];
  }
  LatencySums sums(Group group, uint32_t x, uint32_t latency) const noexcept;
  // The longest latency in the last bin, ns, up to a quarter more; 0: none is there.
  uint64_t longest(Group group, uint32_t x, uint32_t latency) const noexcept {
    const uint8_t bin = bytes_at()[layout_.longest_at(group, x) + latency];
    return bin == 0 ? 0 : operation_bin_begin(bin);
  }
  // Packets by length and peer: sent to it, or received from it.
  uint32_t packets(bool received, uint32_t length_bin, uint32_t peer) const noexcept {
    return words_[layout_.lengths_at(received, length_bin, peer)];
  }
  uint64_t bytes() const noexcept { return layout_.size() * uint64_t{sizeof(uint32_t)}; }
  const Shape& shape() const noexcept { return layout_.shape(); }

 private:
  uint8_t* bytes_at() const noexcept { return reinterpret_cast<uint8_t*>(words_.get()); }
  static double square(int64_t ns) noexcept { return static_cast<double>(ns) * static_cast<double>(ns); }
  static void add_sum(uint32_t* place, int64_t ns, double squared) noexcept {
    Layout::Sum sum;
    std::memcpy(&sum, place, sizeof sum);
    sum.ns += ns;
    sum.squared_ns += squared;
    std::memcpy(place, &sum, sizeof sum);
  }
  static constexpr size_t kLine = 64;
  struct Free {
    void operator()(uint32_t* words) const noexcept { ::operator delete[](words, std::align_val_t{kLine}); }
  };
  const Layout layout_;
  const std::unique_ptr<uint32_t[], Free> words_;
};

}  // namespace substrata::myrinet
