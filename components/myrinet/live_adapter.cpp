// Turns messages of MPI ranks into messages of nodes.
#include "live_adapter.hpp"

#include "operations.hpp"
#include "packet_counters.hpp"

namespace substrata::myrinet {

LiveAdapter::LiveAdapter(const ClusterParameters& parameters)
    : ObservingInstrument("mpi.rank*.send,mpi.rank*.receive"),
      cluster_(parameters, static_cast<Delivery&>(*this), true) {}

LiveAdapter::~LiveAdapter() {
  end_observation();
  set_own_node(-1);
}

void LiveAdapter::observe(const substrata_transaction* batch, size_t count) noexcept {
  try {
    const uint32_t nodes = cluster_.parameters().nodes;
    const bool looked_at = cluster_.looked_at();
    // What the batch before took is over: the batch keeps its own spacing from here on.
    bool begun = false;
    uint64_t first_ns = 0;
    const Time origin = cluster_.now();
    for (size_t i = 0; i < count; ++i) {
      const substrata_transaction& t = batch[i];
      const bool sends = t.kind == SUBSTRATA_SEND;
      if ((!sends && t.kind != SUBSTRATA_RECEIVE) || t.initiator == t.target || t.initiator >= nodes ||
          t.target >= nodes)
        continue;
      const int rank = static_cast<int>(sends ? t.initiator : t.target);
      if (rank_ != rank && rank_ != kSeveral) {
        rank_ = rank_ == kNoRank ? rank : kSeveral;
        set_own_node(rank_ == kSeveral ? -1 : rank_);
      }
      if (!looked_at) continue;
      Message message;
      message.from = t.initiator;
      message.to = t.target;
      message.bytes = t.size;
      message.type = (t.flags & SUBSTRATA_FLAG_COLLECTIVE) != 0 ? uint8_t{SUBSTRATA_MYRINET_COLLECTIVE}
                                                                : uint8_t{SUBSTRATA_MYRINET_MESSAGE};
      message.program = t.program;
      message.phase = t.phase;
      message.flags = t.flags;
      const uint64_t stamp = sends || t.start == 0 ? t.time : t.start;
      if (!begun) first_ns = stamp;
      begun = true;
      const bool alone = message.type == SUBSTRATA_MYRINET_MESSAGE;
      if (alone) message.operation = operation_word(SUBSTRATA_MYRINET_MESSAGE_SEND, ++operations_, false);
      const Time wanted =
          origin + (stamp > first_ns ? (stamp - first_ns) * Time{kPicosecondsPerNanosecond} : 0);
      message.cookie = wanted;
      cluster_.send(message, wanted);
    }
    cluster_.run_out();
  } catch (...) {
    // No memory for the packets: these messages pass unseen.
  }
}

void LiveAdapter::delivered(const Message& message, Time, Time now) {
  if (message.operation == 0) return;
  const std::uint32_t packet = cluster_.parameters().packet_bytes;
  substrata_transaction seen{};
  seen.time = now;
  seen.start = message.cookie;
  seen.address = message.to;
  seen.site = message.operation;
  seen.detail = message.bytes == 0 ? 1 : (message.bytes - 1) / packet + 1;
  seen.initiator = message.from;
  seen.target = message.to;
  seen.size = message.bytes;
  seen.kind = SUBSTRATA_SEND;
  seen.program = message.program;
  seen.phase = message.phase;
  seen.flags = static_cast<std::uint16_t>(message.flags | SUBSTRATA_FLAG_MODELLED);
  cluster_.completed(message.from, seen);
}

}  // namespace substrata::myrinet
