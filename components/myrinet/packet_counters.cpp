// Stages of packets, added up.
#include "myrinet/packet_counters.hpp"

#include <atomic>

#include "myrinet/cluster_parameters.hpp"

namespace substrata::myrinet {
namespace {

std::atomic<int> own_node_number{-1};

}  // namespace

void set_own_node(int node) noexcept { own_node_number.store(node, std::memory_order_relaxed); }
int own_node() noexcept { return own_node_number.load(std::memory_order_relaxed); }

void PacketSums::take(const substrata_transaction& stage) noexcept {
  const int latency = latency_of(stage.state);
  if (latency >= 0) {
    // Cut to whole nanoseconds packet by packet, as the firmware's own sums are. Net latencies may be
    // negative: two clocks.
    const int64_t ns = static_cast<int64_t>(stage.time - stage.start) / kPicosecondsPerNanosecond;
    counters_[kSourceLatencySum + static_cast<uint32_t>(latency)].add(static_cast<uint64_t>(ns));
  }
  const auto count = [&](Count packets, Count bytes) {
    counters_[packets].add(1);
    counters_[bytes].add(stage.size);
  };
  switch (stage.state) {
    case SUBSTRATA_INJECTED:
      return count(kPacketsSent, kBytesSent);
    case SUBSTRATA_DELIVERED:
      return count(kPacketsReceived, kBytesReceived);
    case SUBSTRATA_CORRUPT:
      return count(kChecksumErrors, kBytesLost);
    case SUBSTRATA_DROPPED:
      return count(kDropped, kBytesLost);
    case SUBSTRATA_MISROUTED:
      return count(kMisrouted, kBytesLost);
    default:
      return;
  }
}

void PacketSums::take_clock(const substrata_transaction& set, uint32_t first_node) noexcept {
  const uint64_t error_ns = set.detail / uint64_t{kPicosecondsPerNanosecond};
  if (error_ns > counters_[kClockErrorMax].value()) counters_[kClockErrorMax].set(error_ns);
  if (set.target == first_node) counters_[kSyncRounds].add(1);  // each round once
}

PacketCounters::PacketCounters()
    : ChoosingInstrument(std::string(kLanaiProbes) + "," + std::string(kClockProbes)) {}

PacketCounters::~PacketCounters() { end_observation(); }

void PacketCounters::take(Choices::Counting& counting, const ProbeRole& role, uint32_t first_node,
                          const substrata_transaction& stage) noexcept {
  const Choice& choice = counting.choice;
  if (role.place == Place::kClock) {
    counting.counters.take_clock(stage, first_node);
    return;
  }
  if (choice.program != Choice::kAny && choice.program != stage.program) return;
  if (choice.type != Choice::kAny && choice.type != type_of(stage.detail)) return;
  if (choice.peer != Choice::kAny &&
      choice.peer != (role.place == Place::kSend ? stage.target : stage.initiator))
    return;
  counting.counters.take(stage);
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
