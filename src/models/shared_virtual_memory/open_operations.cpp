// Opens and closes operations of the communication layer.
#include "models/shared_virtual_memory/open_operations.hpp"

#include <algorithm>

namespace substrata::svm {

using workloads::LayerKind;

void OpenOperations::begin(ProcessId nodes, Network& network) {
  network_ = &network;
  nodes_.assign(nodes, Node{});
}

std::uint32_t OpenOperations::make(ProcessId node, LayerKind kind, std::uint64_t about, Time now) {
  std::uint32_t index = static_cast<std::uint32_t>(open_.size());
  if (free_.empty()) {
    open_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
    open_[index] = Open{};
  }
  LayerOperation& made = open_[index].operation;
  made.kind = kind;
  made.node = node;
  made.number = ++nodes_[node].operations;
  made.about = about;
  made.begin = now;
  made.end = now;
  return index;
}

void OpenOperations::end(std::uint32_t index, Time now) {
  LayerOperation& done = open_[index].operation;
  done.end = std::max(done.end, now);
  network_->completed(done);
  free_.push_back(index);
}

void OpenOperations::open(ProcessId node, LayerKind kind, std::uint64_t about, Time now) {
  nodes_[node].waits_for = make(node, kind, about, now);
}

void OpenOperations::close(ProcessId node, Time now) {
  std::uint32_t& index = nodes_[node].waits_for;
  if (index == kNone) return;
  end(index, now);
  index = kNone;
}

void OpenOperations::enter(ProcessId node, LayerKind kind, Time now) {
  nodes_[node].inside.push_back(make(node, kind, 0, now));
}

void OpenOperations::leave(ProcessId node, Time now) {
  std::vector<std::uint32_t>& inside = nodes_[node].inside;
  if (inside.empty()) return;
  const std::uint32_t index = inside.back();
  inside.pop_back();
  Open& left = open_[index];
  left.operation.end = std::max(left.operation.end, now);
  left.left = true;
  if (left.under_way == 0) end(index, now);
}

void OpenOperations::sent(ProcessId from, ProcessId to, workloads::MessageNumber number, Time now) {
  Node& node = nodes_[from];
  std::uint32_t index = kNone;
  if (node.inside.empty()) {
    index = make(from, LayerKind::kMessage, to, now);
    open_[index].left = true;
  } else {
    index = node.inside.back();
  }
  const bool awaited = ends_with_delivery(open_[index].operation.kind);
  if (awaited) ++open_[index].under_way;
  messages_.emplace(number, Message{index, awaited});
}

void OpenOperations::delivered(workloads::MessageNumber number, Time now) {
  const auto found = messages_.find(number);
  if (found == messages_.end()) return;
  const Message message = found->second;
  messages_.erase(found);
  if (!message.awaited) return;
  Open& part = open_[message.operation];
  part.operation.end = std::max(part.operation.end, now);
  if (--part.under_way == 0 && part.left) end(message.operation, now);
}

LayerOperation* OpenOperations::of(const Packet& packet) noexcept {
  std::uint32_t index = kNone;
  switch (packet.kind) {
    case PacketKind::kLockRequest:
    case PacketKind::kLockRelease:
    case PacketKind::kBarrierArrive:
    case PacketKind::kHomeRequest:
    case PacketKind::kPageRequest:
    case PacketKind::kDiff:
    case PacketKind::kUpdateMark:
      index = nodes_[packet.from].waits_for;
      break;
    case PacketKind::kLockGrant:  // the receiver waits for these
    case PacketKind::kBarrierRelease:
    case PacketKind::kHomeReply:
    case PacketKind::kPageReply:
      index = nodes_[packet.to].waits_for;
      break;
    case PacketKind::kUser: {
      const auto found = messages_.find(packet.number);
      if (found != messages_.end()) index = found->second.operation;
      break;
    }
    case PacketKind::kPageMove:
    case PacketKind::kUpdate:
      break;
  }
  return index == kNone ? nullptr : &open_[index].operation;
}

}  // namespace substrata::svm
