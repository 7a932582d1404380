// Runs the processes in the order of simulated time.
#include "driver.hpp"

#include <algorithm>

#include "operations.hpp"

namespace substrata::myrinet {
namespace {

constexpr Time kNotTheLast = kNever;  // cookie of a message's parts before the last

// A longer message is posted in parts, each of whole packets.
constexpr std::uint64_t longest_part(std::uint32_t packet_bytes) noexcept {
  return std::uint64_t{UINT32_MAX} / packet_bytes * packet_bytes;
}

}  // namespace

Driver::Driver(const ClusterParameters& parameters, bool publishing)
    : cluster_(parameters, *this, publishing),
      processes_(parameters.nodes),
      delivered_(std::size_t{parameters.nodes} * parameters.nodes) {}

void Driver::run(OperationSource& source) {
  source_ = &source;
  due_ = {};
  first_due_ = kNever;
  for (std::uint32_t node = 0; node < processes_.size(); ++node) {
    processes_[node].waits = false;
    proceed(node, cluster_.now());
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
}

// The node's next operation is due when what is computed before it is done. Times of calls have in them what the
// program waited.
void Driver::proceed(std::uint32_t node, Time now) {
  ProcessOperation& next = processes_[node].operation;
  if (!source_->next(node, &next)) return;
  const Time due = next.called != 0 ? std::max(next.called, cluster_.now()) : now + next.compute;
  due_.emplace(due, node);
  first_due_ = std::min(first_due_, due);
}

void Driver::resume(std::uint32_t node, Time now) {
  processes_[node].waits = false;
  proceed(node, now);
}

void Driver::perform(std::uint32_t node, Time now) {
  Process& process = processes_[node];
  if (!process.operation.receives) {
    send(node, now);
    return;
  }
  process.waits = delivered(process.operation.peer, node) < process.operation.awaited;
  process.since = now;
  if (!process.waits) resume(node, now + kHostReceive);
}

void Driver::send(std::uint32_t node, Time now) {
  const ProcessOperation& operation = processes_[node].operation;
  Message message;
  message.from = node;
  message.to = operation.peer;
  message.type = operation.type;
  message.program = operation.program;
  message.phase = operation.phase;
  message.flags = operation.flags;
  if (operation.type == SUBSTRATA_MYRINET_MESSAGE)
    message.operation = operation_word(SUBSTRATA_MYRINET_MESSAGE_SEND, ++sent_, false);
  const std::uint64_t longest = longest_part(cluster_.parameters().packet_bytes);
  std::uint64_t left = operation.bytes;
  const Time begin = operation.called != 0 ? operation.called : now;
  Time at = now;
  do {
    message.bytes = static_cast<std::uint32_t>(std::min(left, longest));
    left -= message.bytes;
    message.cookie = left == 0 ? begin : kNotTheLast;
    at = cluster_.send(message, at);
  } while (left != 0);
  resume(node, at);
}

// Nothing goes on, and processes wait: the one that waits longest does not get its message.
bool Driver::give_up_one() {
  const auto longest =
      std::min_element(processes_.begin(), processes_.end(), [](const auto& a, const auto& b) {
        return (a.waits ? a.since : kNever) < (b.waits ? b.since : kNever);
      });
  if (longest == processes_.end() || !longest->waits) return false;
  ++unmatched_;
  resume(static_cast<std::uint32_t>(longest - processes_.begin()), std::max(longest->since, cluster_.now()));
  return true;
}

void Driver::delivered(const Message& message, Time, Time now) {
  if (message.cookie == kNotTheLast) return;
  ++messages_;
  const std::uint64_t there = ++delivered_[std::size_t{message.from} * processes_.size() + message.to];
  if (message.operation != 0) {
    const std::uint32_t packet = cluster_.parameters().packet_bytes;
    substrata_transaction ended{};
    ended.time = now;
    ended.start = message.cookie;
    ended.address = message.to;
    ended.site = message.operation;
    ended.detail = message.bytes == 0 ? 1 : (message.bytes - 1) / packet + 1;
    ended.initiator = message.from;
    ended.target = message.to;
    ended.size = message.bytes;
    ended.kind = SUBSTRATA_SEND;
    ended.program = message.program;
    ended.phase = message.phase;
    ended.flags = static_cast<std::uint16_t>(message.flags | SUBSTRATA_FLAG_MODELLED);
    cluster_.completed(message.from, ended);
  }
  const Process& process = processes_[message.to];
  if (!process.waits || process.operation.peer != message.from || process.operation.awaited > there) return;
  resume(message.to, std::max(now, process.since) + kHostReceive);
}

}  // namespace substrata::myrinet
