// What a run's packets would take in an idle cluster, along any axis of a signature.
#pragma once

#include <substrata/myrinet.h>
#include <substrata/feed.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>

#include "tools/model_runs/myrinet_run.hpp"

namespace substrata::model_runs {

// Counts the packets of the runs and replays while it lives, by node, peer, type and length. Thread-bound.
class PacketLengths {
 public:
  // Throws std::runtime_error with the feed's message.
  explicit PacketLengths(substrata_myrinet_axis axis);
  // For each of `points`, a signature of these packets along the axis, the average of what each packet's length takes
  // by `idle`, the signature of an idle cluster by size. Of one node's interface, or of all (SUBSTRATA_MYRINET_ALL).
  Signature idle(const Signature& points, const Signature& idle, std::uint32_t node);

 private:
  void take(const substrata_transaction* batch, std::size_t count);

  const substrata_myrinet_axis axis_;
  using Key =
      std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;  // x, latency, node, bytes
  std::map<Key, std::uint64_t> packets_;
  client::feed::Observer observer_;
};

}  // namespace substrata::model_runs
