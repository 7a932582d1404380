// Runs the processes in the order of simulated time.
#include "myrinet/driver.hpp"

#include <algorithm>

#include "myrinet/operations.hpp"

namespace substrata::myrinet {
namespace {

constexpr Time kNotTheLast = kNever;  // cookie of a message's parts before the last

// A longer message is posted in parts, each of whole packets.
constexpr std::uint64_t longest_part(std::uint32_t packet_bytes) noexcept {
  return std::uint64_t{UINT32_MAX} / packet_bytes * packet_bytes;
}

constexpr std::uint64_t packets_of(std::uint64_t bytes, std::uint32_t packet_bytes) noexcept {
  return bytes == 0 ? 1 : (bytes - 1) / packet_bytes + 1;
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
  const std::uint64_t longest = longest_part(cluster_.parameters().packet_bytes);
  std::uint64_t left = operation.bytes;
  const Time begin = operation.called != 0 ? operation.called : now;
  if (operation.type == SUBSTRATA_MYRINET_MESSAGE)
    message.operation = operation_word(SUBSTRATA_MYRINET_MESSAGE_SEND, ++sent_, false);
  else if (operation.collective != 0)
    message.operation = begin_in_collective(operation, node, begin);
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

// The word for the packets of a message of a collective operation, which begins with its first message.
std::uint64_t Driver::begin_in_collective(const ProcessOperation& operation, std::uint32_t node, Time begin) {
  if (operation.collective_messages != 0) {
    const auto [found, is_new] = collectives_.try_emplace(operation.collective);
    Collective& one = found->second;
    if (is_new)
      one = {.begin = begin,
             .left = operation.collective_messages,
             .node = node,
             .program = operation.program,
             .phase = operation.phase,
             .flags = operation.flags};
    one.packets += packets_of(operation.bytes, cluster_.parameters().packet_bytes);
    one.bytes += operation.bytes;
  }
  return operation_word(SUBSTRATA_MYRINET_OTHER_COLLECTIVE, operation.collective, false);
}

void Driver::end_in_collective(const Message& message, Time now) {
  const auto found = collectives_.find(operation_number_of(message.operation));
  if (found == collectives_.end() || --found->second.left != 0) return;
  const Collective& one = found->second;
  substrata_transaction ended{};
  ended.time = now;
  ended.start = one.begin;
  ended.address = found->first;
  ended.site = message.operation;
  ended.detail = one.packets;
  ended.initiator = one.node;
  ended.target = message.to;
  ended.size = static_cast<std::uint32_t>(std::min<std::uint64_t>(one.bytes, UINT32_MAX));
  ended.kind = SUBSTRATA_COLLECTIVE;
  ended.program = one.program;
  ended.phase = one.phase;
  ended.flags = static_cast<std::uint16_t>(one.flags | SUBSTRATA_FLAG_MODELLED);
  cluster_.completed(one.node, ended);
  collectives_.erase(found);
}

void Driver::end_message(const Message& message, Time now) {
  substrata_transaction ended{};
  Cluster::describe(message, ended);
  ended.time = now;
  ended.start = message.cookie;
  ended.address = message.to;
  ended.detail = packets_of(message.bytes, cluster_.parameters().packet_bytes);
  ended.size = message.bytes;
  ended.kind = SUBSTRATA_SEND;
  cluster_.completed(message.from, ended);
}

void Driver::delivered(const Message& message, Time, Time now) {
  if (message.cookie == kNotTheLast) return;
  ++messages_;
  const std::uint64_t there = ++delivered_[std::size_t{message.from} * processes_.size() + message.to];
  if (operation_kind_of(message.operation) == SUBSTRATA_MYRINET_OTHER_COLLECTIVE)
    end_in_collective(message, now);
  else if (message.operation != 0)
    end_message(message, now);
  const Process& process = processes_[message.to];
  if (!process.waits || process.operation.peer != message.from || process.operation.awaited > there) return;
  resume(message.to, std::max(now, process.since) + kHostReceive);
}

}  // namespace substrata::myrinet
