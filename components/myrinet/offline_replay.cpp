// Turns a log into operations of nodes, and sorts their packets' stages by node and phase.
#include "myrinet/offline_replay.hpp"

#include <new>
#include <utility>

namespace substrata::myrinet {

namespace {

bool is_of_collective(const substrata_myrinet_operation& logged) noexcept {
  return logged.receives == 0 && logged.group != 0 && logged.type == SUBSTRATA_MYRINET_COLLECTIVE;
}
std::uint64_t key_of(const substrata_myrinet_operation& logged) noexcept {
  return std::uint64_t{logged.group} << 32 | logged.number;
}

}  // namespace

Shape OfflineReplay::shape_of(std::uint32_t nodes, std::uint32_t phases) {
  Shape shape;
  shape.nodes = nodes;
  shape.programs = phases;
  return shape;
}

OfflineReplay::OfflineReplay(const ClusterParameters& parameters, std::uint32_t phases)
    : nodes_(parameters.nodes),
      phases_(phases),
      memory_(shape_of(parameters.nodes, phases)),
      operations_(parameters.nodes, phases),
      sums_(std::size_t{parameters.nodes} * phases),
      driver_(parameters, false) {
  driver_.cluster().watch(this);
}

void OfflineReplay::number_collectives(const std::vector<Operations>& programs) {
  for (const Operations& program : programs) {
    for (const substrata_myrinet_operation& logged : program) {
      if (!is_of_collective(logged)) continue;
      Collective& one = collectives_[key_of(logged)];
      if (one.messages++ == 0) one.number = collectives_.size();
    }
  }
}

void OfflineReplay::run(std::vector<Operations> programs) {
  number_collectives(programs);
  left_ = std::move(programs);
  driver_.run(*this);
  memory_.settle();
  if (exhausted_) throw std::bad_alloc();
}

bool OfflineReplay::next(std::uint32_t node, ProcessOperation* out) {
  Operations& left = left_[node];
  if (left.empty()) return false;
  const substrata_myrinet_operation& logged = left.front();
  left = left.subspan(1);
  *out = {};
  out->compute = logged.compute_ns * Time{kPicosecondsPerNanosecond};
  out->peer = logged.peer;
  out->program = logged.phase;
  if (logged.receives != 0) {
    out->awaited = logged.number;
    out->receives = true;
    return true;
  }
  out->bytes = logged.bytes;
  out->type = logged.type;
  if (is_of_collective(logged)) {
    const Collective& one = collectives_[key_of(logged)];
    out->collective = one.number;
    out->collective_messages = one.messages;
  }
  return true;
}

void OfflineReplay::stage(std::uint32_t node, const substrata_transaction& stage) noexcept {
  sums_[std::size_t{node} * phases_ + stage.program].take(stage);
  try {
    memory_.take(node, stage);
    operations_.take(node, stage);
  } catch (...) {
    exhausted_ = true;
  }
}

void OfflineReplay::ended(std::uint32_t node, const substrata_transaction& operation) noexcept {
  try {
    operations_.take(node, operation);
  } catch (...) {
    exhausted_ = true;
  }
}

substrata_myrinet_counts OfflineReplay::counts(std::uint32_t node, std::uint32_t phase) const noexcept {
  substrata_myrinet_counts sum{};
  for (std::uint32_t n = 0; n < nodes_; ++n) {
    if (node != SUBSTRATA_MYRINET_ALL && n != node) continue;
    for (std::uint32_t p = 0; p < phases_; ++p) {
      if (phase != SUBSTRATA_MYRINET_ALL && p != phase) continue;
      const PacketSums& one = sums_[std::size_t{n} * phases_ + p];
      sum.packets_sent += one[kPacketsSent].value();
      sum.packets_received += one[kPacketsReceived].value();
      sum.bytes_sent += one[kBytesSent].value();
      sum.bytes_received += one[kBytesReceived].value();
      sum.checksum_errors += one[kChecksumErrors].value();
      sum.dropped += one[kDropped].value();
      sum.misrouted += one[kMisrouted].value();
      sum.bytes_lost += one[kBytesLost].value();
      for (std::uint32_t i = 0; i < kLatencies; ++i)
        sum.latency_sum_ns[i] += static_cast<std::int64_t>(one[kSourceLatencySum + i].value());
    }
  }
  return sum;
}

substrata_myrinet_outcome OfflineReplay::outcome() const noexcept {
  substrata_myrinet_outcome out{};
  out.simulated_ns = driver_.cluster().now() / std::uint64_t{kPicosecondsPerNanosecond};
  out.messages = driver_.messages();
  out.unmatched = driver_.unmatched();
  return out;
}

}  // namespace substrata::myrinet
