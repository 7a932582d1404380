// Sorts stages of packets into the statistics of their node and program, and sums them up for readers.
#include "myrinet/recorder.hpp"

#include <algorithm>
#include <cmath>

#include "myrinet/cluster_parameters.hpp"

namespace substrata::myrinet {
namespace {

using Group = Statistics::Group;

// What of the statistics belongs to one x: rows of some nodes.
struct Row {
  Group group;
  uint32_t index;
  uint32_t node;  // SUBSTRATA_MYRINET_ALL: every node asked for
};

// By sender or receiver, one side's latencies are kept at the node x itself and the other side's at its
// peers.
Row row_of(substrata_myrinet_axis axis, uint32_t latency, uint32_t x) {
  const bool sending = latency == SUBSTRATA_MYRINET_SOURCE || latency == SUBSTRATA_MYRINET_LANAI;
  switch (axis) {
    case SUBSTRATA_MYRINET_BY_SIZE:
      return {Group::kLength, x, SUBSTRATA_MYRINET_ALL};
    case SUBSTRATA_MYRINET_BY_TYPE:
      return {Group::kType, x, SUBSTRATA_MYRINET_ALL};
    case SUBSTRATA_MYRINET_BY_SENDER:
    case SUBSTRATA_MYRINET_BY_RECEIVER:
      break;
  }
  if (sending == (axis == SUBSTRATA_MYRINET_BY_SENDER)) return {Group::kPeer, 0, x};
  return {Group::kPeer, x, SUBSTRATA_MYRINET_ALL};
}

// Every row of statistics that `row` stands for.
template <typename Function>
void each(const MonitorMemory& memory, uint32_t node, uint32_t program, const Row& row, Function&& function) {
  const Shape& shape = memory.shape();
  for (uint32_t n = 0; n < shape.nodes; ++n) {
    if (node != SUBSTRATA_MYRINET_ALL && n != node) continue;
    if (row.node != SUBSTRATA_MYRINET_ALL && n != row.node) continue;
    for (uint32_t p = 0; p < shape.programs; ++p) {
      if (program != SUBSTRATA_MYRINET_ALL && p != program) continue;
      const Statistics* const statistics = memory.of(n, p);
      if (statistics == nullptr) continue;
      if (row.node == SUBSTRATA_MYRINET_ALL) {
        function(*statistics, row.index);
      } else {
        for (uint32_t peer = 0; peer < shape.nodes; ++peer) function(*statistics, peer);
      }
    }
  }
}

// The upper end of the bin. In the last bin, which has none: as far towards the longest as the packet is among those
// in it.
double percentile(const std::vector<uint64_t>& bins, uint64_t packets, double share, uint32_t bin_ns,
                  uint64_t longest_ns) {
  const auto wanted = static_cast<uint64_t>(std::ceil(share * static_cast<double>(packets)));
  uint64_t seen = 0;
  for (size_t bin = 0; bin + 1 < bins.size(); ++bin) {
    seen += bins[bin];
    if (seen >= wanted && seen != 0) return static_cast<double>(bin + 1) * bin_ns;
  }
  if (bins.back() == 0) return 0;
  const double begin = static_cast<double>(bins.size() - 1) * bin_ns;
  return begin + (static_cast<double>(longest_ns) - begin) * static_cast<double>(wanted - seen) /
                     static_cast<double>(bins.back());
}

}  // namespace

MonitorMemory::MonitorMemory(const Shape& shape)
    : layout_(shape), cells_(size_t{shape.nodes} * shape.programs) {}

Statistics& MonitorMemory::made(uint32_t node, uint32_t program) {
  std::unique_ptr<Statistics>& cell = cells_[size_t{node} * shape().programs + program];
  if (cell == nullptr) cell = std::make_unique<Statistics>(shape());
  return *cell;
}

// In two loops: where each stage belongs, which has the processor fetch it, since the statistics of some nodes are
// larger than its caches and the lengths of packets are anything; then the sums.
void MonitorMemory::settle() noexcept {
  const uint32_t waiting = std::min(waiting_, kWait);
  const Layout layout = layout_;  // not in the reach of what is written
  std::array<Layout::Sample, kWait> samples;
  for (uint32_t i = 0; i < waiting; ++i) {
    const Stage& one = wait_[i];
    samples[i] = layout.sample(one.latency, one.bytes, one.ps / kPicosecondsPerNanosecond);
    layout.await(one.cell->words(), one.latency, samples[i]);
  }
  for (uint32_t i = 0; i < waiting; ++i) {
    const Stage& one = wait_[i];
    layout.add(one.cell->words(), one.latency, one.peer, one.type, samples[i]);
  }
  waiting_ = 0;
}

void MonitorMemory::clear() noexcept {
  for (std::unique_ptr<Statistics>& cell : cells_)
    if (cell != nullptr) cell->clear();
  waiting_ = 0;
  packets_ = 0;
  left_out_ = 0;
}

std::vector<uint64_t> histogram(const MonitorMemory& memory, uint32_t node, uint32_t program,
                                uint32_t latency, substrata_myrinet_axis axis, uint32_t x) {
  const uint32_t bins = memory.shape().latency_bins;
  std::vector<uint64_t> out(bins);
  const Row row = row_of(axis, latency, x);
  each(memory, node, program, row, [&](const Statistics& statistics, uint32_t index) {
    for (uint32_t bin = 0; bin < bins; ++bin) out[bin] += statistics.count(row.group, index, latency, bin);
  });
  return out;
}

std::vector<substrata_myrinet_point> signature(const MonitorMemory& memory, uint32_t node, uint32_t program,
                                               substrata_myrinet_axis axis) {
  const Shape& shape = memory.shape();
  const uint32_t rows = axis == SUBSTRATA_MYRINET_BY_SIZE   ? shape.length_bins
                        : axis == SUBSTRATA_MYRINET_BY_TYPE ? kTypes
                                                            : shape.nodes;
  std::vector<substrata_myrinet_point> points;
  for (uint32_t x = 0; x < rows; ++x) {
    substrata_myrinet_point point{};
    const bool by_size = axis == SUBSTRATA_MYRINET_BY_SIZE;
    // Bin b of the lengths holds b * w + 1 to (b + 1) * w bytes, the first also 0.
    point.x = by_size ? (x == 0 ? 0 : x * shape.length_bin_bytes + 1) : x;
    point.x_end = by_size ? (x + 1) * shape.length_bin_bytes + 1 : x + 1;
    uint64_t most = 0;
    for (uint32_t latency = 0; latency < kLatencies; ++latency) {
      LatencySums sums;
      uint64_t longest = 0;
      const Row row = row_of(axis, latency, x);
      each(memory, node, program, row, [&](const Statistics& statistics, uint32_t index) {
        const LatencySums part = statistics.sums(row.group, index, latency);
        sums.packets += part.packets;
        sums.ns += part.ns;
        sums.squared_ns += part.squared_ns;
        longest = std::max(longest, statistics.longest(row.group, index, latency));
      });
      most = std::max(most, sums.packets);
      if (sums.packets == 0) continue;
      if (latency == SUBSTRATA_MYRINET_SOURCE) point.sent = sums.packets;
      if (latency == SUBSTRATA_MYRINET_DEST) point.received = sums.packets;
      const auto packets = static_cast<double>(sums.packets);
      point.average_ns[latency] = static_cast<double>(sums.ns) / packets;
      const double mean = point.average_ns[latency];
      point.deviation_ns[latency] = std::sqrt(std::max(0.0, sums.squared_ns / packets - mean * mean));
      const std::vector<uint64_t> bins = histogram(memory, node, program, latency, axis, x);
      const uint32_t bin_ns = shape.latency_bin_ns[latency];
      point.median_ns[latency] = percentile(bins, sums.packets, 0.5, bin_ns, longest);
      point.p99_ns[latency] = percentile(bins, sums.packets, 0.99, bin_ns, longest);
    }
    if (most != 0) points.push_back(point);
  }
  return points;
}

}  // namespace substrata::myrinet
