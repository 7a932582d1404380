// Stages of packets, added up.
#include "packet_counters.hpp"

#include <atomic>

#include "cluster_parameters.hpp"

namespace substrata::myrinet {
namespace {

std::atomic<int> own_node_number{-1};

}  // namespace

void set_own_node(int node) noexcept { own_node_number.store(node, std::memory_order_relaxed); }
int own_node() noexcept { return own_node_number.load(std::memory_order_relaxed); }

PacketCounters::PacketCounters()
    : ObservingInstrument(std::string(kLanaiProbes) + "," + std::string(kClockProbes)) {}

PacketCounters::~PacketCounters() { end_observation(); }

void PacketCounters::take(Choices::Counting& counting, const ProbeRole& role, uint32_t first_node,
                          const substrata_transaction& stage) noexcept {
  const Choice& choice = counting.choice;
  std::array<counting::Counter, kCounts>& counters = counting.counters;
  if (role.place == Place::kClock) {
    const uint64_t error_ns = stage.detail / uint64_t{kPicosecondsPerNanosecond};
    if (error_ns > counters[kClockErrorMax].value()) counters[kClockErrorMax].set(error_ns);
    if (stage.target == first_node) counters[kSyncRounds].add(1);  // each round once
    return;
  }
  if (choice.program != Choice::kAny && choice.program != stage.program) return;
  if (choice.type != Choice::kAny && choice.type != type_of(stage.detail)) return;
  if (choice.peer != Choice::kAny &&
      choice.peer != (role.place == Place::kSend ? stage.target : stage.initiator))
    return;
  const int latency = latency_of(stage.state);
  if (latency >= 0) {
    // Cut to whole nanoseconds packet by packet, as the firmware's own sums are. Net latencies may be
    // negative: two clocks.
    const int64_t ns = static_cast<int64_t>(stage.time - stage.start) / kPicosecondsPerNanosecond;
    counters[kSourceLatencySum + static_cast<uint32_t>(latency)].add(static_cast<uint64_t>(ns));
  }
  switch (stage.state) {
    case SUBSTRATA_INJECTED:
      counters[kPacketsSent].add(1);
      counters[kBytesSent].add(stage.size);
      break;
    case SUBSTRATA_DELIVERED:
      counters[kPacketsReceived].add(1);
      counters[kBytesReceived].add(stage.size);
      break;
    case SUBSTRATA_CORRUPT:
      counters[kChecksumErrors].add(1);
      break;
    case SUBSTRATA_DROPPED:
      counters[kDropped].add(1);
      break;
    case SUBSTRATA_MISROUTED:
      counters[kMisrouted].add(1);
      break;
    default:
      break;
  }
}

void PacketCounters::observe(const substrata_transaction* batch, size_t count) noexcept {
  const ProbeRole role = roles_.of(batch[0].probe);
  if (!role.known) return;
  const int own = own_node();
  choices_.for_each([&](Choices::Counting& counting) {
    const uint32_t node = counting.choice.node != Choice::kAny ? counting.choice.node
                          : own >= 0                           ? static_cast<uint32_t>(own)
                                                               : Choice::kAny;
    if (node != Choice::kAny && node != role.node) return;
    for (size_t k = 0; k < count; ++k) take(counting, role, node != Choice::kAny ? node : 0, batch[k]);
  });
}

}  // namespace substrata::myrinet
