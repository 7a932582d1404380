// What the firmware of one network interface keeps of packets: histograms and sums in a block of known size.
#ifndef SUBSTRATA_MYRINET_STATISTICS_HPP
#define SUBSTRATA_MYRINET_STATISTICS_HPP

#include <substrata/myrinet.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>

namespace substrata::myrinet {

inline constexpr uint32_t kLatencies = SUBSTRATA_MYRINET_LATENCIES;
inline constexpr uint32_t kTypes = SUBSTRATA_MYRINET_TYPES;
inline constexpr uint32_t kMostNodes = 256;
inline constexpr uint32_t kMostPrograms = 64;

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

  // A sentence: what is wrong with it. Empty: nothing. The size of the interface's memory is not looked at.
  std::string objection() const;
  // 32-bit counts and 64-bit sums of one program at one interface.
  uint64_t counts_of_program() const noexcept;
  uint64_t sums_of_program() const noexcept;
  // Of one interface, all programs.
  uint64_t bytes() const noexcept {
    return programs * (counts_of_program() * sizeof(uint32_t) + sums_of_program() * sizeof(uint64_t));
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

// Divides by a number known late without a division; exact for every 32-bit number (Lemire, Kaser, Kurz,
// "Faster remainder by direct computation", Software: Practice and Experience 2019).
class Divider {
 public:
  explicit Divider(uint32_t by) noexcept : inverse_(by > 1 ? ~uint64_t{0} / by + 1 : 0) {}
  uint32_t operator()(uint32_t number) const noexcept {
    __extension__ using Wide = unsigned __int128;
    return inverse_ == 0 ? number : static_cast<uint32_t>((static_cast<Wide>(inverse_) * number) >> 64);
  }

 private:
  uint64_t inverse_;  // 2^64 / by, rounded up; 0: by 1
};

// Sums of one latency over the packets of one x.
struct LatencySums {
  uint64_t packets = 0;
  int64_t ns = 0;
  double squared_ns = 0;
};

// One program's statistics at one interface. Everything lives in one block whose size is the shape's.
// Thread-compatible.
class Statistics {
 public:
  // Throws std::length_error for more than 16 GB.
  explicit Statistics(const Shape& shape);
  // A packet's latency; peer is the node at the other end. Types beyond the room and peers beyond the shape's
  // nodes must not come here. sending: the latency is of the sending side.
  void add(uint32_t latency, uint32_t bytes, uint32_t peer, uint32_t type, int64_t ns) noexcept {
    add(sample(latency, bytes, peer, type, ns));
  }
  // The same in two steps: where it belongs, and its entry. Between them await() may have the processor fetch
  // what the entry changes.
  struct Sample {
    int64_t ns;
    uint32_t rows[3];  // by length, peer, type
    uint32_t in_row;   // its count there
    uint32_t in_sums;  // its sums there
    uint32_t by_both;  // its count by length and peer
  };
  Sample sample(uint32_t latency, uint32_t bytes, uint32_t peer, uint32_t type, int64_t ns) const noexcept {
    const uint32_t length = std::min(by_length_(bytes == 0 ? 0 : bytes - 1), shape_.length_bins - 1);
    const uint32_t bin =
        static_cast<uint64_t>(ns) <= UINT32_MAX
            ? std::min(by_latency_[latency](static_cast<uint32_t>(ns)), shape_.latency_bins - 1)
            : shape_.latency_bin(latency, ns);
    const bool received = latency == SUBSTRATA_MYRINET_DEST;
    const uint32_t both = lengths_at(received, length, peer);
    return {ns,
            {length * row_words_, peers_ + peer * row_words_, types_ + type * row_words_},
            count_in_row(latency, bin),
            latency * kSumWords,
            received || latency == SUBSTRATA_MYRINET_SOURCE ? both : size_};
  }
  void await(const Sample& sample) const noexcept {
    const uint32_t* const row = words_.get() + sample.rows[0];
    __builtin_prefetch(row, 1);
    __builtin_prefetch(row + sample.in_row, 1);
    __builtin_prefetch(words_.get() + sample.by_both, 1);
  }
  void add(const Sample& sample) noexcept {
    uint32_t* const words = words_.get();
    const double squared = static_cast<double>(sample.ns) * static_cast<double>(sample.ns);
    for (const uint32_t row : sample.rows) {
      ++words[row + sample.in_row];
      Sum sum;
      std::memcpy(&sum, words + row + sample.in_sums, sizeof sum);
      sum.ns += sample.ns;
      sum.squared_ns += squared;
      std::memcpy(words + row + sample.in_sums, &sum, sizeof sum);
    }
    ++words[sample.by_both];
  }
  void clear() noexcept;

  // Axis by the place in the block: lengths, peers, types.
  enum class Group : uint32_t { kLength, kPeer, kType };
  uint32_t count(Group group, uint32_t x, uint32_t latency, uint32_t bin) const noexcept {
    return words_[row_at(group, x) + count_in_row(latency, bin)];
  }
  LatencySums sums(Group group, uint32_t x, uint32_t latency) const noexcept;
  // Packets by length and peer: sent to it, or received from it.
  uint32_t packets(bool received, uint32_t length_bin, uint32_t peer) const noexcept {
    return words_[lengths_at(received, length_bin, peer)];
  }
  uint64_t bytes() const noexcept { return size_ * uint64_t{sizeof(uint32_t)}; }
  const Shape& shape() const noexcept { return shape_; }

 private:
  // A row is the sums of one x, all its latencies in one cache line, and the histogram of each.
  struct Sum {
    int64_t ns;
    double squared_ns;
  };
  static constexpr uint32_t kSumWords = sizeof(Sum) / sizeof(uint32_t);
  static constexpr size_t kLine = 64;
  static_assert(kLatencies == 4, "a divider for each");
  struct Free {
    void operator()(uint32_t* words) const noexcept { ::operator delete[](words, std::align_val_t{kLine}); }
  };
  uint32_t count_in_row(uint32_t latency, uint32_t bin) const noexcept {
    return kLatencies * kSumWords + latency * shape_.latency_bins + bin;
  }
  uint32_t row_at(Group group, uint32_t x) const noexcept {
    return (group == Group::kLength ? 0 : group == Group::kPeer ? peers_ : types_) + x * row_words_;
  }
  uint32_t lengths_at(bool received, uint32_t length_bin, uint32_t peer) const noexcept {
    return lengths_ + ((received ? shape_.length_bins : 0) + length_bin) * shape_.nodes + peer;
  }
  const Shape shape_;
  const Divider by_length_;
  const Divider by_latency_[kLatencies];
  const uint32_t row_words_;
  const uint32_t peers_;    // where the rows of the peers begin; those of the lengths at 0
  const uint32_t types_;    // those of the types
  const uint32_t lengths_;  // the counts by length and peer
  const uint32_t size_;     // the word after the last takes what is not counted by both
  const std::unique_ptr<uint32_t[], Free> words_;
};

}  // namespace substrata::myrinet

#endif
