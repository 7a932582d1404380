// Sums and histograms of operations, and of their packets' latencies.
#include "myrinet/operations.hpp"

#include <algorithm>
#include <cmath>

#include "myrinet/cluster_parameters.hpp"
#include "myrinet/packet_counters.hpp"

namespace substrata::myrinet {
namespace {

const std::string& patterns() {
  static const auto* const all = new std::string(std::string(kLanaiProbes) + "," + kOperationProbes);
  return *all;
}

uint64_t duration_ns(const substrata_transaction& operation) noexcept {
  return (operation.time - operation.start) / uint64_t{kPicosecondsPerNanosecond};
}

double percentile(const OperationSums& sums, double share) noexcept {
  const auto wanted = static_cast<uint64_t>(std::ceil(share * static_cast<double>(sums.count)));
  uint64_t seen = 0;
  for (uint32_t bin = 0; bin + 1 < kOperationBins; ++bin) {
    seen += sums.bins[bin];
    if (seen >= wanted) return static_cast<double>(std::min(operation_bin_begin(bin + 1), sums.longest_ns));
  }
  return static_cast<double>(sums.longest_ns);
}

}  // namespace

OperationMemory::OperationMemory(uint32_t nodes, uint32_t programs)
    : nodes_(nodes), programs_(programs), cells_(size_t{nodes} * programs) {}

uint64_t OperationMemory::bytes(uint32_t nodes, uint32_t programs) noexcept {
  return uint64_t{programs} * kOperationKinds * (sizeof(Kind) + uint64_t{nodes} * sizeof(Part));
}

OperationMemory::Cell& OperationMemory::cell(uint32_t node, uint32_t program) {
  std::unique_ptr<Cell>& found = cells_[size_t{node} * programs_ + program];
  if (found == nullptr) {
    auto made = std::make_unique<Cell>();
    made->parts.resize(size_t{kOperationKinds} * nodes_);
    found = std::move(made);
  }
  return *found;
}

void OperationMemory::take(uint32_t node, const substrata_transaction& seen) {
  const int kind = operation_kind_of(seen.site);
  if (kind < 0 || node >= nodes_ || seen.program >= programs_ || (seen.flags & kNotMonitored) != 0) return;
  const auto index = static_cast<size_t>(kind);
  if (seen.kind != SUBSTRATA_PACKET) {
    Kind& sums = cell(node, seen.program).kinds[index];
    const uint64_t ns = duration_ns(seen);
    ++sums.count;
    sums.ns += ns;
    sums.squared_ns += static_cast<double>(ns) * static_cast<double>(ns);
    sums.longest_ns = std::max(sums.longest_ns, ns);
    ++sums.bins[operation_bin(ns)];
    return;
  }
  const int latency = latency_of(seen.state);
  const uint32_t opener = opener_of(seen);
  if (latency < 0 || opener >= nodes_) return;
  Part& part = cell(node, seen.program).parts[index * nodes_ + opener];
  part.ns[latency] += static_cast<int64_t>(seen.time - seen.start) / kPicosecondsPerNanosecond;
  if (seen.state != SUBSTRATA_INJECTED) return;
  ++part.packets;
  part.bytes += seen.size;
}

void OperationMemory::clear() noexcept {
  for (std::unique_ptr<Cell>& one : cells_) one.reset();
}

OperationSums OperationMemory::sums(uint32_t node, uint32_t program, uint32_t kind) const noexcept {
  OperationSums out;
  for (uint32_t at = 0; at < nodes_; ++at) {
    for (uint32_t p = 0; p < programs_; ++p) {
      const Cell* const found = cells_[size_t{at} * programs_ + p].get();
      if (found == nullptr || (program != SUBSTRATA_MYRINET_ALL && program != p)) continue;
      if (node == SUBSTRATA_MYRINET_ALL || node == at) {
        const Kind& sums = found->kinds[kind];
        out.count += sums.count;
        out.ns += sums.ns;
        out.squared_ns += sums.squared_ns;
        out.longest_ns = std::max(out.longest_ns, sums.longest_ns);
        for (uint32_t bin = 0; bin < kOperationBins; ++bin) out.bins[bin] += sums.bins[bin];
      }
      for (uint32_t opener = 0; opener < nodes_; ++opener) {
        if (node != SUBSTRATA_MYRINET_ALL && node != opener) continue;
        const Part& part = found->parts[size_t{kind} * nodes_ + opener];
        out.packets += part.packets;
        out.bytes += part.bytes;
        for (uint32_t i = 0; i < kLatencies; ++i) out.part_ns[i] += part.ns[i];
      }
    }
  }
  return out;
}

std::vector<substrata_myrinet_operation_point> operation_points(const OperationMemory& memory, uint32_t node,
                                                                uint32_t program) {
  std::vector<substrata_myrinet_operation_point> points;
  for (uint32_t kind = 0; kind < kOperationKinds; ++kind) {
    const OperationSums sums = memory.sums(node, program, kind);
    if (sums.count == 0 && sums.packets == 0) continue;
    substrata_myrinet_operation_point point{};
    point.kind = kind;
    point.count = sums.count;
    point.packets = sums.packets;
    point.bytes = sums.bytes;
    if (sums.count != 0) {
      const auto count = static_cast<double>(sums.count);
      const double mean = static_cast<double>(sums.ns) / count;
      point.average_ns = mean;
      point.deviation_ns = std::sqrt(std::max(0.0, sums.squared_ns / count - mean * mean));
      point.median_ns = percentile(sums, 0.5);
      point.p90_ns = percentile(sums, 0.9);
      point.p99_ns = percentile(sums, 0.99);
      point.longest_ns = static_cast<double>(sums.longest_ns);
      for (uint32_t i = 0; i < kLatencies; ++i)
        point.part_ns[i] = static_cast<double>(sums.part_ns[i]) / count;
    }
    points.push_back(point);
  }
  return points;
}

OperationRecorder::OperationRecorder(uint32_t nodes, uint32_t programs)
    : ObservingInstrument(patterns()), memory_(std::make_unique<OperationMemory>(nodes, programs)) {}

OperationRecorder::~OperationRecorder() { end_observation(); }

void OperationRecorder::observe(const substrata_transaction* batch, size_t count) noexcept {
  try {
    const ProbeRole role = roles_.of(batch[0].probe);
    if (!role.known) return;
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < count; ++i) memory_->take(role.node, batch[i]);
  } catch (...) {
    // No memory for a node's operations: they stay unrecorded.
  }
}

OperationCounters::OperationCounters() : ChoosingInstrument(patterns()) {}

OperationCounters::~OperationCounters() { end_observation(); }

void OperationCounters::take(Choices::Counting& counting, int own,
                             const substrata_transaction& seen) noexcept {
  constexpr uint32_t kAny = OperationChoice::kAny;
  const OperationChoice& choice = counting.choice;
  const int kind = operation_kind_of(seen.site);
  if (kind < 0) return;
  const bool packet = seen.kind == SUBSTRATA_PACKET;
  const uint32_t opener = packet ? opener_of(seen) : seen.initiator;
  const uint32_t node = choice.node == kAny && own >= 0 ? static_cast<uint32_t>(own) : choice.node;
  if ((node != kAny && node != opener) || (choice.program != kAny && choice.program != seen.program) ||
      (choice.kind != kAny && choice.kind != static_cast<uint32_t>(kind)))
    return;
  std::array<counting::Counter, kOperationCounts>& counters = counting.counters;
  if (!packet) {
    counters[kOperations].add(1);
    counters[kOperationLatencySum].add(duration_ns(seen));
    return;
  }
  const int latency = latency_of(seen.state);
  if (latency < 0) return;
  const int64_t ns = static_cast<int64_t>(seen.time - seen.start) / kPicosecondsPerNanosecond;
  counters[kOperationSourceLatencySum + static_cast<uint32_t>(latency)].add(static_cast<uint64_t>(ns));
  if (seen.state != SUBSTRATA_INJECTED) return;
  counters[kOperationPackets].add(1);
  counters[kOperationBytes].add(seen.size);
}

void OperationCounters::observe(const substrata_transaction* batch, size_t count) noexcept {
  if (!roles_.of(batch[0].probe).known) return;
  const int own = own_node();
  choices_.for_each([&](Choices::Counting& counting) {
    for (size_t k = 0; k < count; ++k) take(counting, own, batch[k]);
  });
}

}  // namespace substrata::myrinet
