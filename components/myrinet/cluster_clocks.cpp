// Clock packets of the cluster: in a round node 0 asks every node for its time and sends the table to all.
#include <algorithm>
#include <cmath>

#include "myrinet/cluster.hpp"
#include "sources/workloads/random.hpp"

namespace substrata::myrinet {

void Cluster::synchronise() {
  if (!in_round_) begin_round();
}

// Node 0 asks every node for its time, one after the other.
void Cluster::begin_round() {
  if (!in_round_ && parameters_.nodes > 1) {
    in_round_ = true;
    round_began_ = now_;
    asked_ = 1;
    attempt_ = 0;
    query();
  }
  if (parameters_.clock == ClockMode::kPeriodic) {
    events_.push(now_ + interval_, kRound, 0);
    interval_ = std::min(parameters_.period, interval_ * 2);
  }
}

void Cluster::query() {
  constexpr std::uint32_t kClockBytes = 8;
  Node& node = nodes_[0];
  const Time ready = occupy_first(node, now_, parameters_.on_clock_packet) + parameters_.on_clock_packet;
  insert(0, ready, wire(kClockBytes), kQuerySeen, asked_, asked_);
  ++counts_.clock_packets;
}

void Cluster::on_query_seen() {
  constexpr std::uint32_t kClockBytes = 24;
  Node& node = nodes_[asked_];
  const Time begin = occupy_first(node, now_, parameters_.on_clock_packet);
  const Time seen = parameters_.stamps_inside ? std::min(begin, now_ + parameters_.stamp_grain) : begin;
  const Time ready = begin + parameters_.on_clock_packet;
  release(node, ready);
  arm(node, ready);
  exchange_.seen = clocks_.local(asked_, seen);
  insert(asked_, ready, wire(kClockBytes), kAnswered, 0, 0);
  ++counts_.clock_packets;
}

// A round trip much longer than the quickest was held up on one of its ways, it is not known which: again.
void Cluster::on_answered() {
  constexpr double kSlack = 1e6;  // picoseconds
  Node& node = nodes_[0];
  const Time begin = occupy_first(node, now_, parameters_.on_clock_packet);
  release(node, begin);
  arm(node, begin + parameters_.on_clock_packet);
  const Time seen = parameters_.stamps_inside ? std::min(begin, now_ + parameters_.stamp_grain) : begin;
  exchange_.returned = clocks_.local(0, seen);
  const double taken = exchange_.round_trip();
  if (attempt_ == 0 || taken < table_[asked_].round_trip()) table_[asked_] = exchange_;
  if (quickest_ == 0 || taken < quickest_) quickest_ = taken;
  if (++attempt_ < parameters_.tries && taken > quickest_ + kSlack) {
    // Not at once: the traffic that was in the way may come at a beat.
    constexpr Time kLongestPause = 100 * kMicrosecond;
    events_.push(
        now_ + workloads::random_at(parameters_.seed ^ 0xBEA7, counts_.clock_packets) % kLongestPause, kAsk,
        0);
    return;
  }
  attempt_ = 0;
  if (++asked_ < parameters_.nodes) {
    query();
    return;
  }
  // The table goes to every node.
  const std::uint32_t bytes = 16 * parameters_.nodes;
  for (std::uint32_t to = 1; to < parameters_.nodes; ++to) {
    const Time ready = occupy_first(node, now_, parameters_.on_clock_packet) + parameters_.on_clock_packet;
    insert(0, ready, wire(bytes), kTableSeen, to, to);
    ++counts_.clock_packets;
  }
  ++counts_.rounds;
  measure_clocks();
  on_table_seen(0);
}

void Cluster::on_table_seen(std::uint32_t index) {
  if (index != 0) {
    Node& node = nodes_[index];
    release(node, now_);
    arm(node, occupy_first(node, now_, parameters_.on_clock_packet) + parameters_.on_clock_packet);
    measure_clocks();
    clocks_.learn(index, table_[index]);
    measure_clocks();
  }
  if (index + 1 == parameters_.nodes) in_round_ = false;
  if (publishers_.empty()) return;
  substrata_publisher* const publisher =
      publishers_[std::size_t{index} * kPlaces + static_cast<std::uint32_t>(Place::kClock)].get();
  if (substrata_transaction* const slot = substrata_reserve(publisher)) {
    *slot = {};
    slot->time = now_;
    slot->start = round_began_;
    slot->detail = static_cast<std::uint64_t>(worst_[index]);
    slot->initiator = 0;
    slot->target = index;
    slot->kind = SUBSTRATA_CLOCK_SYNC;
    slot->flags = SUBSTRATA_FLAG_MODELLED;
    substrata_commit(publisher);
    ++published_;
  }
  worst_[index] = 0;
}

// Errors grow between corrections, so it is enough to look just before and just after each.
void Cluster::measure_clocks() {
  double least = 0;
  double most = 0;
  bool all_known = true;
  for (std::uint32_t i = 1; i < parameters_.nodes; ++i) {
    if (!clocks_.knows_rate(i)) {
      all_known = false;
      continue;
    }
    const double error = clocks_.error(i, now_);
    worst_[i] = std::max(worst_[i], std::abs(error));
    least = std::min(least, error);
    most = std::max(most, error);
  }
  if (!all_known) return;
  counts_.clock_error = std::max({counts_.clock_error, -least, most});
  counts_.pair_error = std::max(counts_.pair_error, most - least);
}

}  // namespace substrata::myrinet
