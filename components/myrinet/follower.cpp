// Turns messages of MPI ranks into messages of nodes.
#include "follower.hpp"

#include <algorithm>

#include "packet_counters.hpp"

namespace substrata::myrinet {
namespace {

constexpr Time kHostSend = kMicrosecond;
constexpr Time kPicosecondsPerNanosecond = 1000;

}  // namespace

Follower::Follower(const ClusterParameters& parameters)
    : ObservingInstrument("mpi.rank*.send,mpi.rank*.receive"),
      cluster_(parameters, static_cast<Delivery&>(*this), true) {}

Follower::~Follower() {
  end_observation();
  set_own_node(-1);
}

void Follower::finish() {
  end();
  cluster_.run_out();
}

Time Follower::time_of(uint64_t ns) noexcept {
  if (!has_origin_) {
    has_origin_ = true;
    origin_ns_ = ns;
  }
  const Time at = ns > origin_ns_ ? (ns - origin_ns_) * kPicosecondsPerNanosecond : 0;
  return std::max(at, cluster_.now());
}

void Follower::observe(const substrata_transaction* batch, size_t count) noexcept {
  try {
    const uint32_t nodes = cluster_.parameters().nodes;
    Time last = cluster_.now();
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
      Message message;
      message.from = t.initiator;
      message.to = t.target;
      message.bytes = t.size;
      message.type = (t.flags & SUBSTRATA_FLAG_COLLECTIVE) != 0 ? uint8_t{SUBSTRATA_MYRINET_COLLECTIVE}
                                                                : uint8_t{SUBSTRATA_MYRINET_MESSAGE};
      message.program = t.program;
      message.phase = t.phase;
      message.flags = t.flags;
      const Time wanted = time_of(sends || t.start == 0 ? t.time : t.start);
      const Time at = cluster_.free_entry(t.initiator, t.size, wanted) + kHostSend;
      cluster_.post(message, at);
      last = std::max(last, at);
    }
    cluster_.run_until(last);
  } catch (...) {
    // No memory for the packets: these messages pass unseen.
  }
}

}  // namespace substrata::myrinet
