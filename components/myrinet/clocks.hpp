// The interfaces' clocks: how each drifts, what each node takes for the global time, and how wrong that is.
#pragma once

#include <cstdint>
#include <vector>

#include "myrinet/cluster_parameters.hpp"

namespace substrata::myrinet {

// Node 0's clock is the global time. Times are picoseconds; a clock's reading is a double, exact to one
// picosecond within a simulated hour. Thread-compatible.
class Clocks {
 public:
  explicit Clocks(const ClusterParameters& parameters);

  // What the node's own clock shows.
  double local(std::uint32_t node, Time now) const noexcept;
  // How far the node's idea of the global time is from node 0's clock.
  double error(std::uint32_t node, Time now) const noexcept;
  // A time stamp in global time as the node would write it.
  Time stamp(std::uint32_t node, Time now) const noexcept {
    return now +
           static_cast<Time>(periodic_ ? static_cast<std::int64_t>(error(node, now)) : nodes_[node].settled);
  }

  // One exchange with a node: sent and returned by node 0's clock, seen and answered by the node's own.
  struct Exchange {
    double sent;
    double seen;
    double answered;
    double returned;
    double round_trip() const noexcept { return (returned - sent) - (answered - seen); }
  };
  // The node learns from the table: its clock showed the middle of seen and answered when node 0's showed the
  // middle of sent and returned (Cristian's algorithm). Corrects its rate by what it learnt before.
  void learn(std::uint32_t node, const Exchange& exchange) noexcept;
  // Learnt a rate already, so that its clock is of use between synchronisations.
  bool knows_rate(std::uint32_t node) const noexcept { return node == 0 || nodes_[node].learnt >= 2; }

 private:
  struct Node {
    double offset = 0;         // picoseconds at time 0
    double drift = 0;          // a second a second
    double wander = 0;         // amplitude of the drift's change
    double phase = 0;          // of it
    std::int64_t settled = 0;  // kSettled: error, picoseconds
    std::uint32_t learnt = 0;
    double own = 0;     // at the last synchronisation: the own clock,
    double global = 0;  // and node 0's
    double rate = 1;    // global seconds in one of the own
  };
  const bool periodic_;
  const bool correct_;
  std::vector<Node> nodes_;
};

}  // namespace substrata::myrinet
