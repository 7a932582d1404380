// Runs the processes in the order of simulated time, and sorts their packets' stages by node and phase.
#include "offline_replay.hpp"

#include <algorithm>
#include <new>

namespace substrata::myrinet {
namespace {

// A longer message is posted in parts, each of whole packets.
constexpr std::uint64_t kLongestPart = std::uint64_t{1} << 30;
constexpr std::uint64_t kWholeMessage = 1;  // cookie of a message's last part

}  // namespace

Shape OfflineReplay::shape_of(std::uint32_t nodes, std::uint32_t phases) {
  Shape shape;
  shape.nodes = nodes;
  shape.programs = phases;
  return shape;
}

OfflineReplay::OfflineReplay(const ClusterParameters& parameters, std::uint32_t phases)
    : nodes_(parameters.nodes),
      phases_(phases),
      memory_(shape_of(parameters.nodes, phases)),
      sums_(std::size_t{parameters.nodes} * phases),
      cluster_(parameters, *this, false),
      processes_(parameters.nodes),
      delivered_(std::size_t{parameters.nodes} * parameters.nodes) {
  cluster_.watch(this);
}

void OfflineReplay::run(std::span<const Operations> programs) {
  for (std::uint32_t node = 0; node < nodes_; ++node) {
    processes_[node].left = programs[node];
    proceed(node, 0);
  }
  for (;;) {
    cluster_.run_before(first_due_);  // may resume a process
    if (!due_.empty()) {
      const auto [now, node] = due_.top();
      due_.pop();
      first_due_ = due_.empty() ? kNever : due_.top().first;
      perform(node, now);
    } else if (!give_up_one()) {
      break;
    }
  }
  cluster_.run_out();
  memory_.settle();
  if (exhausted_) throw std::bad_alloc();
}

// The node's next operation is due when what is computed before it is done.
void OfflineReplay::proceed(std::uint32_t node, Time now) {
  const Process& process = processes_[node];
  if (process.left.empty()) return;
  const Time due = now + process.left.front().compute_ns * Time{kPicosecondsPerNanosecond};
  due_.emplace(due, node);
  first_due_ = std::min(first_due_, due);
}

void OfflineReplay::resume(std::uint32_t node, Time now) {
  Process& process = processes_[node];
  process.waits = false;
  process.left = process.left.subspan(1);
  proceed(node, now);
}

void OfflineReplay::perform(std::uint32_t node, Time now) {
  Process& process = processes_[node];
  const substrata_myrinet_operation& operation = process.left.front();
  if (operation.receives != 0) {
    process.waits = pair(operation.peer, node) < operation.number;
    process.since = now;
    if (!process.waits) resume(node, now + kHostReceive);
    return;
  }
  Message message;
  message.from = node;
  message.to = operation.peer;
  message.type = operation.type;
  message.program = operation.phase;
  std::uint64_t left = operation.bytes;
  Time at = now;
  do {
    message.bytes = static_cast<std::uint32_t>(std::min(left, kLongestPart));
    left -= message.bytes;
    message.cookie = left == 0 ? kWholeMessage : 0;
    at = cluster_.send(message, at);
  } while (left != 0);
  resume(node, at);
}

// Nothing goes on, and processes wait: the one that waits longest does not get its message.
bool OfflineReplay::give_up_one() {
  const auto longest =
      std::min_element(processes_.begin(), processes_.end(), [](const auto& a, const auto& b) {
        return (a.waits ? a.since : kNever) < (b.waits ? b.since : kNever);
      });
  if (longest == processes_.end() || !longest->waits) return false;
  ++unmatched_;
  resume(static_cast<std::uint32_t>(longest - processes_.begin()), std::max(longest->since, cluster_.now()));
  return true;
}

void OfflineReplay::delivered(const Message& message, Time, Time now) {
  if (message.cookie != kWholeMessage) return;
  ++messages_;
  const std::uint64_t there = ++pair(message.from, message.to);
  const Process& process = processes_[message.to];
  if (!process.waits || process.left.front().peer != message.from || process.left.front().number > there)
    return;
  resume(message.to, std::max(now, process.since) + kHostReceive);
}

void OfflineReplay::stage(std::uint32_t node, const substrata_transaction& stage) noexcept {
  Sums& sums = sums_[std::size_t{node} * phases_ + stage.program];
  const int latency = latency_of(stage.state);
  if (latency < 0) {
    count_fault(sums, stage);
    return;
  }
  ++sums.packets[latency];
  sums.bytes[latency] += stage.size;
  sums.ns[latency] += static_cast<std::int64_t>(stage.time - stage.start) / kPicosecondsPerNanosecond;
  try {
    memory_.take(node, stage);
  } catch (...) {
    exhausted_ = true;
  }
}

void OfflineReplay::count_fault(Sums& sums, const substrata_transaction& stage) noexcept {
  switch (stage.state) {
    case SUBSTRATA_CORRUPT:
      ++sums.checksum_errors;
      break;
    case SUBSTRATA_DROPPED:
      ++sums.dropped;
      break;
    case SUBSTRATA_MISROUTED:
      ++sums.misrouted;
      break;
    default:
      return;
  }
  sums.bytes_lost += stage.size;
}

substrata_myrinet_counts OfflineReplay::counts(std::uint32_t node, std::uint32_t phase) const noexcept {
  substrata_myrinet_counts sum{};
  for (std::uint32_t n = 0; n < nodes_; ++n) {
    if (node != SUBSTRATA_MYRINET_ALL && n != node) continue;
    for (std::uint32_t p = 0; p < phases_; ++p) {
      if (phase != SUBSTRATA_MYRINET_ALL && p != phase) continue;
      const Sums& one = sums_[std::size_t{n} * phases_ + p];
      sum.packets_sent += one.packets[SUBSTRATA_MYRINET_LANAI];
      sum.packets_received += one.packets[SUBSTRATA_MYRINET_DEST];
      sum.bytes_sent += one.bytes[SUBSTRATA_MYRINET_LANAI];
      sum.bytes_received += one.bytes[SUBSTRATA_MYRINET_DEST];
      sum.checksum_errors += one.checksum_errors;
      sum.dropped += one.dropped;
      sum.misrouted += one.misrouted;
      sum.bytes_lost += one.bytes_lost;
      for (std::size_t i = 0; i < kLatencies; ++i) sum.latency_sum_ns[i] += one.ns[i];
    }
  }
  return sum;
}

substrata_myrinet_outcome OfflineReplay::outcome() const noexcept {
  substrata_myrinet_outcome out{};
  out.simulated_ns = cluster_.now() / std::uint64_t{kPicosecondsPerNanosecond};
  out.messages = messages_;
  out.unmatched = unmatched_;
  return out;
}

}  // namespace substrata::myrinet
