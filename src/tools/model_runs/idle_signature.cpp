// Counts stages of packets by what they are and by length.
#include "tools/model_runs/idle_signature.hpp"

#include <algorithm>

namespace substrata::model_runs {
namespace {

constexpr unsigned kTypeShift = 56;  // in a transaction's detail

// Source and LANai latency are the sender's, net and destination latency the receiver's. -1: no latency ends here.
int latency_of(std::uint16_t state) {
  switch (state) {
    case SUBSTRATA_FETCHED:
      return SUBSTRATA_MYRINET_SOURCE;
    case SUBSTRATA_INJECTED:
      return SUBSTRATA_MYRINET_LANAI;
    case SUBSTRATA_ARRIVED:
      return SUBSTRATA_MYRINET_NET;
    case SUBSTRATA_DELIVERED:
      return SUBSTRATA_MYRINET_DEST;
    default:
      return -1;
  }
}

// The point whose lengths have these bytes, or the one next to them.
const substrata_myrinet_point& point_of(const Signature& idle, std::uint32_t bytes) {
  const auto behind = std::upper_bound(
      idle.begin(), idle.end(), bytes,
      [](std::uint32_t length, const substrata_myrinet_point& point) { return length < point.x; });
  return behind == idle.begin() ? idle.front() : *(behind - 1);
}

}  // namespace

PacketLengths::PacketLengths(substrata_myrinet_axis axis) : axis_(axis) {
  client::feed::demand(observer_.try_create<&PacketLengths::take>(*this));
  client::feed::demand(observer_.try_subscribe("myrinet.node*.lanai.*"));
}

void PacketLengths::take(const substrata_transaction* batch, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const substrata_transaction& t = batch[i];
    const int latency = latency_of(t.state);
    if (latency < 0) continue;
    const std::uint32_t x = axis_ == SUBSTRATA_MYRINET_BY_SENDER     ? t.initiator
                            : axis_ == SUBSTRATA_MYRINET_BY_RECEIVER ? t.target
                            : axis_ == SUBSTRATA_MYRINET_BY_TYPE
                                ? static_cast<std::uint32_t>(t.detail >> kTypeShift)
                                : t.size;
    const std::uint32_t node = latency < SUBSTRATA_MYRINET_NET ? t.initiator : t.target;
    ++packets_[{x, static_cast<std::uint32_t>(latency), node, t.size}];
  }
}

Signature PacketLengths::idle(const Signature& points, const Signature& idle, std::uint32_t node) {
  substrata_flush();
  Signature out;
  for (const substrata_myrinet_point& point : points) {
    substrata_myrinet_point made{};
    made.x = point.x;
    made.x_end = point.x_end;
    made.sent = point.sent;
    made.received = point.received;
    for (std::uint32_t latency = 0; latency < SUBSTRATA_MYRINET_LATENCIES; ++latency) {
      double packets = 0;
      double ns = 0;
      for (auto at = packets_.lower_bound({point.x, latency, 0, 0}); at != packets_.end(); ++at) {
        const auto& [x, of, measured_at, bytes] = at->first;
        if (x != point.x || of != latency) break;
        if (node != SUBSTRATA_MYRINET_ALL && measured_at != node) continue;
        packets += static_cast<double>(at->second);
        ns += static_cast<double>(at->second) * point_of(idle, bytes).average_ns[latency];
      }
      made.average_ns[latency] = packets == 0 ? 0 : ns / packets;
    }
    out.push_back(made);
  }
  return out;
}

}  // namespace substrata::model_runs
