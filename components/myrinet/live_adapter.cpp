// Turns messages of MPI ranks into operations of nodes.
#include "myrinet/live_adapter.hpp"

#include "myrinet/packet_counters.hpp"

namespace substrata::myrinet {

LiveAdapter::LiveAdapter(const ClusterParameters& parameters)
    : ObservingInstrument("mpi.rank*.send,mpi.rank*.receive"),
      driver_(parameters, true),
      pending_(parameters.nodes) {}

LiveAdapter::~LiveAdapter() {
  end_observation();
  set_own_node(-1);
}

void LiveAdapter::note_rank(int rank) noexcept {
  if (rank_ == rank || rank_ == kSeveral) return;
  rank_ = rank_ == kNoRank ? rank : kSeveral;
  set_own_node(rank_ == kSeveral ? -1 : rank_);
}

void LiveAdapter::observe(const substrata_transaction* batch, size_t count) noexcept {
  try {
    take(batch, count);
    driver_.run(*this);
  } catch (...) {
    // No memory for the packets: these messages pass unseen.
    for (auto& operations : pending_)
      while (!operations.empty()) operations.pop_front();
  }
}

void LiveAdapter::take(const substrata_transaction* batch, size_t count) {
  const std::uint32_t nodes = driver_.cluster().parameters().nodes;
  const bool looked_at = driver_.cluster().looked_at();
  sent_in_batch_.clear();
  messages_in_batch_.clear();
  counted_ = collectives_;
  // What the batch before took is over: the batch keeps its own spacing from here on.
  const Time origin = driver_.cluster().now();
  bool begun = false;
  std::uint64_t first_ns = 0;
  for (size_t i = 0; i < count; ++i) {
    const substrata_transaction& t = batch[i];
    const bool sends = t.kind == SUBSTRATA_SEND;
    if ((!sends && t.kind != SUBSTRATA_RECEIVE) || t.initiator == t.target || t.initiator >= nodes ||
        t.target >= nodes)
      continue;
    note_rank(static_cast<int>(sends ? t.initiator : t.target));
    if (!looked_at) continue;
    const std::uint64_t stamp = sends || t.start == 0 ? t.time : t.start;
    if (!begun) first_ns = stamp;
    begun = true;
    ProcessOperation& sent = pending_[t.initiator].add();
    sent = {};
    sent.called = origin + (stamp > first_ns ? (stamp - first_ns) * Time{kPicosecondsPerNanosecond} : 0);
    sent.bytes = t.size;
    sent.peer = t.target;
    sent.type = (t.flags & SUBSTRATA_FLAG_COLLECTIVE) != 0 ? std::uint8_t{SUBSTRATA_MYRINET_COLLECTIVE}
                                                           : std::uint8_t{SUBSTRATA_MYRINET_MESSAGE};
    sent.program = t.program;
    sent.phase = t.phase;
    sent.flags = t.flags;
    if (sends && sent.type == SUBSTRATA_MYRINET_COLLECTIVE) sent.collective = collective_of(t.address);
    if (sends) continue;
    ProcessOperation& received = pending_[t.target].add();
    received = {};
    received.peer = t.initiator;
    received.receives = true;
    received.awaited = driver_.delivered(t.initiator, t.target) +
                       ++sent_in_batch_[std::uint64_t{t.initiator} << 32 | t.target];
  }
}

// The messages of an operation come one after the other.
std::uint64_t LiveAdapter::collective_of(std::uint64_t number) {
  if (number == 0) return 0;
  if (number != last_collective_) ++collectives_;
  last_collective_ = number;
  ++messages_in_batch_[collectives_];
  return collectives_;
}

bool LiveAdapter::next(std::uint32_t node, ProcessOperation* out) {
  Ring<ProcessOperation>& operations = pending_[node];
  if (operations.empty()) return false;
  *out = operations.front();
  operations.pop_front();
  // One that an earlier batch has ended is not counted again.
  if (out->collective > counted_) out->collective_messages = messages_in_batch_[out->collective];
  return true;
}

}  // namespace substrata::myrinet
