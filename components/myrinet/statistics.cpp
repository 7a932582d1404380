// Layout and arithmetic of the firmware's statistics.
#include "statistics.hpp"

#include <algorithm>
#include <cstring>

namespace substrata::myrinet {
namespace {

// The begin of a row; anywhere in the words, so it is copied in and out.
struct RowSums {
  int64_t ns;
  double squared_ns;
};

}  // namespace

std::string Shape::objection() const {
  const auto between = [](const char* what, uint64_t value, uint64_t least, uint64_t most) {
    return value >= least && value <= most
               ? std::string()
               : std::to_string(value) + " " + what + " are asked for, " + std::to_string(least) + " to " +
                     std::to_string(most) + " are possible";
  };
  std::string wrong = between("nodes", nodes, 2, kMostNodes);
  if (wrong.empty()) wrong = between("programs", programs, 1, kMostPrograms);
  if (wrong.empty()) wrong = between("bins of the length", length_bins, 1, 65536);
  if (wrong.empty()) wrong = between("bytes in a bin of the length", length_bin_bytes, 1, 65536);
  if (wrong.empty()) wrong = between("bins of a latency", latency_bins, 2, 65536);
  for (const uint32_t ns : latency_bin_ns)
    if (wrong.empty()) wrong = between("nanoseconds in a bin of a latency", ns, 1, 1'000'000'000);
  return wrong;
}

uint64_t Shape::counts_of_program() const noexcept {
  const uint64_t rows = uint64_t{length_bins} + nodes + kTypes;
  return rows * kLatencies * latency_bins + 2 * uint64_t{length_bins} * nodes;
}

uint64_t Shape::sums_of_program() const noexcept {
  return (uint64_t{length_bins} + nodes + kTypes) * kLatencies * 2;
}

Statistics::Statistics(const Shape& shape)
    : shape_(shape),
      by_length_(shape.length_bin_bytes),
      by_latency_{Divider(shape.latency_bin_ns[0]), Divider(shape.latency_bin_ns[1]),
                  Divider(shape.latency_bin_ns[2]), Divider(shape.latency_bin_ns[3])},
      row_words_(kSumWords + shape.latency_bins),
      lengths_((size_t{shape.length_bins} + shape.nodes + kTypes) * kLatencies * row_words_),
      words_(lengths_ + 2 * size_t{shape.length_bins} * shape.nodes) {}

void Statistics::add(uint32_t latency, uint32_t bytes, uint32_t peer, uint32_t type, int64_t ns) noexcept {
  const uint32_t length = std::min(by_length_(bytes == 0 ? 0 : bytes - 1), shape_.length_bins - 1);
  const bool is_short = ns >= 0 && ns <= int64_t{UINT32_MAX};
  const uint32_t bin =
      is_short ? std::min(by_latency_[latency](static_cast<uint32_t>(ns)), shape_.latency_bins - 1)
               : shape_.latency_bin(latency, ns);
  const double squared = static_cast<double>(ns) * static_cast<double>(ns);
  const auto row = [&](Group group, uint32_t x) {
    uint32_t* const words = &words_[row_at(group, x, latency)];
    ++words[kSumWords + bin];
    RowSums sums;
    std::memcpy(&sums, words, sizeof sums);
    sums.ns += ns;
    sums.squared_ns += squared;
    std::memcpy(words, &sums, sizeof sums);
  };
  static_assert(kLatencies == 4, "a divider for each");
  static_assert(sizeof(RowSums) == kSumWords * sizeof(uint32_t));
  row(Group::kLength, length);
  row(Group::kPeer, peer);
  row(Group::kType, type);
  if (latency == SUBSTRATA_MYRINET_SOURCE) ++words_[lengths_at(false, length, peer)];
  if (latency == SUBSTRATA_MYRINET_DEST) ++words_[lengths_at(true, length, peer)];
}

void Statistics::clear() noexcept { std::fill(words_.begin(), words_.end(), 0u); }

LatencySums Statistics::sums(Group group, uint32_t x, uint32_t latency) const noexcept {
  LatencySums out;
  const uint32_t* const words = &words_[row_at(group, x, latency)];
  for (uint32_t bin = 0; bin < shape_.latency_bins; ++bin) out.packets += words[kSumWords + bin];
  RowSums sums;
  std::memcpy(&sums, words, sizeof sums);
  out.ns = sums.ns;
  out.squared_ns = sums.squared_ns;
  return out;
}

}  // namespace substrata::myrinet
