// Layout and arithmetic of the firmware's statistics.
#include "myrinet/statistics.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace substrata::myrinet {

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

namespace {

// Places in the block are numbers of 32 bits.
const Shape& placeable(const Shape& shape) {
  if (shape.bytes() / shape.programs >= uint64_t{UINT32_MAX} * sizeof(uint32_t))
    throw std::length_error("the statistics of one program at one interface may take 16 GB");
  return shape;
}

}  // namespace

Layout::Layout(const Shape& shape)
    : shape_(placeable(shape)),
      by_length_(shape.length_bin_bytes),
      rows_(shape.length_bins + shape.nodes + kTypes),
      row_words_(kLatencies * (kSumWords + shape.latency_bins)),
      lengths_(rows_ * row_words_),
      longest_(lengths_ + 2 * shape.length_bins * shape.nodes),
      size_(longest_ + rows_),
      kinds_{kind_of(0), kind_of(1), kind_of(2), kind_of(3)} {}

// Packets are counted by length and peer when they are fetched and when they are delivered.
Layout::Kind Layout::kind_of(uint32_t latency) const noexcept {
  const bool received = latency == SUBSTRATA_MYRINET_DEST;
  const bool counts = received || latency == SUBSTRATA_MYRINET_SOURCE;
  return {Divider(shape_.latency_bin_ns[latency]),     sums_in_row(latency), count_in_row(latency, 0),
          counts ? lengths_at(received, 0, 0) : size_, counts ? ~0u : 0u,    latency * rows_};
}

Statistics::Statistics(const Shape& shape)
    : layout_(shape), words_(new (std::align_val_t{kLine}) uint32_t[size_t{layout_.size()} + 1]()) {}

void Statistics::clear() noexcept { std::fill_n(words_.get(), layout_.size(), 0u); }

LatencySums Statistics::sums(Group group, uint32_t x, uint32_t latency) const noexcept {
  LatencySums out;
  for (uint32_t bin = 0; bin < shape().latency_bins; ++bin) out.packets += count(group, x, latency, bin);
  Layout::Sum sum;
  std::memcpy(&sum, words_.get() + layout_.row_at(layout_.row(group, x)) + Layout::sums_in_row(latency),
              sizeof sum);
  out.ns = sum.ns;
  out.squared_ns = sum.squared_ns;
  return out;
}

}  // namespace substrata::myrinet
