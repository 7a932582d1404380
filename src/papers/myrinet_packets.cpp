// Sums of latencies by program, type and length.
#include "papers/myrinet_packets.hpp"

#include <stdexcept>

namespace substrata::papers {
namespace {

constexpr unsigned kTypeShift = 56;
constexpr unsigned kWordBehindPage = 4;  // bytes

}  // namespace

PacketLatencies::PacketLatencies() {
  client::feed::demand(observer_.try_create<&PacketLatencies::take>(*this));
  client::feed::demand(observer_.try_subscribe("myrinet.node*.lanai.*"));
}

void PacketLatencies::take(const substrata_transaction* batch, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const substrata_transaction& t = batch[i];
    unsigned latency = 0;
    switch (t.state) {
      case SUBSTRATA_FETCHED:
        latency = SUBSTRATA_MYRINET_SOURCE;
        break;
      case SUBSTRATA_INJECTED:
        latency = SUBSTRATA_MYRINET_LANAI;
        break;
      case SUBSTRATA_ARRIVED:
        latency = SUBSTRATA_MYRINET_NET;
        break;
      case SUBSTRATA_DELIVERED:
        latency = SUBSTRATA_MYRINET_DEST;
        break;
      default:
        continue;
    }
    Sums& sums = sums_[{t.program, static_cast<unsigned>(t.detail >> kTypeShift), t.size}];
    ++sums.packets[latency];
    sums.ps[latency] += static_cast<double>(static_cast<std::int64_t>(t.time - t.start));
  }
}

double PacketLatencies::average(substrata_myrinet_latency latency, const Lengths& lengths, int program) {
  substrata_flush();
  constexpr double kPicosecondsPerMicrosecond = 1e6;
  double packets = 0;
  double ps = 0;
  for (const auto& [key, sums] : sums_) {
    const auto [of_program, type, bytes] = key;
    if (bytes < lengths.least || bytes > lengths.most) continue;
    if (program >= 0 && of_program != static_cast<unsigned>(program)) continue;
    if (lengths.like_packets && type == SUBSTRATA_MYRINET_PROTOCOL && bytes == kWordBehindPage) continue;
    packets += sums.packets[latency];
    ps += sums.ps[latency];
  }
  if (packets == 0) throw std::runtime_error("no packets of these lengths were seen");
  return ps / packets / kPicosecondsPerMicrosecond;
}

double PacketLatencies::net_only(const Lengths& lengths, int program) {
  return average(SUBSTRATA_MYRINET_NET, lengths, program) -
         average(SUBSTRATA_MYRINET_LANAI, lengths, program);
}

}  // namespace substrata::papers
