// Drifting clocks and their correction.
#include "myrinet/clocks.hpp"

#include <cmath>
#include <numbers>

#include "sources/workloads/random.hpp"

namespace substrata::myrinet {
namespace {

constexpr double kWanderPeriod = 1800e12;  // half an hour in picoseconds

// In -1 to 1.
double draw(std::uint64_t seed, std::uint64_t index) noexcept {
  return 2 * workloads::uniform_at(seed ^ 0xC10C, index) - 1;
}

}  // namespace

Clocks::Clocks(const ClusterParameters& parameters)
    : periodic_(parameters.clock == ClockMode::kPeriodic),
      correct_(parameters.correct_drift),
      nodes_(parameters.nodes) {
  for (std::uint32_t i = 0; i < parameters.nodes; ++i) {
    Node& node = nodes_[i];
    const std::uint64_t first = std::uint64_t{i} * 8;
    node.offset = draw(parameters.seed, first) * 1e12;
    node.drift = draw(parameters.seed, first + 1) * parameters.drift_ppm * 1e-6;
    node.wander = parameters.wander_ppb * 1e-9;
    node.phase = draw(parameters.seed, first + 2) * std::numbers::pi;
    // Whole nanoseconds, and none at node 0, whose clock is the global time.
    if (i != 0)
      node.settled =
          static_cast<std::int64_t>(std::round(draw(parameters.seed, first + 3) *
                                               static_cast<double>(parameters.settled_error) / 1000)) *
          1000;
  }
}

double Clocks::local(std::uint32_t index, Time now) const noexcept {
  const Node& node = nodes_[index];
  const auto t = static_cast<double>(now);
  const double angle = 2 * std::numbers::pi / kWanderPeriod;
  const double wandered = node.wander / angle * (std::cos(node.phase) - std::cos(angle * t + node.phase));
  return node.offset + t + node.drift * t + wandered;
}

double Clocks::error(std::uint32_t index, Time now) const noexcept {
  if (index == 0) return 0;
  const Node& node = nodes_[index];
  if (!periodic_) return static_cast<double>(node.settled);
  return node.global + node.rate * (local(index, now) - node.own) - local(0, now);
}

void Clocks::learn(std::uint32_t index, const Exchange& exchange) noexcept {
  Node& node = nodes_[index];
  const double own = (exchange.seen + exchange.answered) / 2;
  const double global = (exchange.sent + exchange.returned) / 2;
  if (correct_ && node.learnt > 0) node.rate = (global - node.global) / (own - node.own);
  node.own = own;
  node.global = global;
  ++node.learnt;
}

}  // namespace substrata::myrinet
