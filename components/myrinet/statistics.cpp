// Layout and arithmetic of the firmware's statistics.
#include "statistics.hpp"

#include <algorithm>
#include <bit>

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

Statistics::Statistics(const Shape& shape)
    : shape_(shape),
      lengths_((size_t{shape.length_bins} + shape.nodes + kTypes) * kLatencies * shape.latency_bins),
      counts_(shape.counts_of_program()),
      sums_(shape.sums_of_program()) {}

void Statistics::add(uint32_t latency, uint32_t bytes, uint32_t peer, uint32_t type, int64_t ns) noexcept {
  const uint32_t length = shape_.length_bin(bytes);
  const uint32_t bin = shape_.latency_bin(latency, ns);
  const auto row = [&](Group group, uint32_t x) {
    ++counts_[histogram_at(group, x, latency) + bin];
    uint64_t* const sum = &sums_[sums_at(group, x, latency)];
    sum[0] += static_cast<uint64_t>(ns);
    const auto value = static_cast<double>(ns);
    sum[1] = std::bit_cast<uint64_t>(std::bit_cast<double>(sum[1]) + value * value);
  };
  row(Group::kLength, length);
  row(Group::kPeer, peer);
  row(Group::kType, type);
  if (latency == SUBSTRATA_MYRINET_SOURCE) ++counts_[lengths_at(false, length, peer)];
  if (latency == SUBSTRATA_MYRINET_DEST) ++counts_[lengths_at(true, length, peer)];
}

void Statistics::clear() noexcept {
  std::fill(counts_.begin(), counts_.end(), 0u);
  std::fill(sums_.begin(), sums_.end(), 0u);
}

LatencySums Statistics::sums(Group group, uint32_t x, uint32_t latency) const noexcept {
  LatencySums out;
  const size_t at = histogram_at(group, x, latency);
  for (uint32_t bin = 0; bin < shape_.latency_bins; ++bin) out.packets += counts_[at + bin];
  const uint64_t* const sum = &sums_[sums_at(group, x, latency)];
  out.ns = static_cast<int64_t>(sum[0]);
  out.squared_ns = std::bit_cast<double>(sum[1]);
  return out;
}

}  // namespace substrata::myrinet
