// Turns arrivals of packets into transactions of the feed.
#include "models/shared_virtual_memory/node_probes.hpp"

#include <substrata/feed.hpp>

namespace substrata::svm {

std::uint16_t transaction_kind(PacketKind kind) noexcept {
  switch (kind) {
    case PacketKind::kLockRequest:
    case PacketKind::kLockGrant:
      return SUBSTRATA_LOCK;
    case PacketKind::kLockRelease:
      return SUBSTRATA_UNLOCK;
    case PacketKind::kBarrierArrive:
    case PacketKind::kBarrierRelease:
      return SUBSTRATA_BARRIER;
    case PacketKind::kHomeRequest:
    case PacketKind::kHomeReply:
    case PacketKind::kUpdateMark:
      return SUBSTRATA_RESPONSE;
    case PacketKind::kPageRequest:
      return SUBSTRATA_PAGE_FETCH;
    case PacketKind::kPageReply:
      return SUBSTRATA_PAGE_REPLY;
    case PacketKind::kPageMove:
      return SUBSTRATA_PAGE_MIGRATE;
    case PacketKind::kDiff:
      return SUBSTRATA_DIFF;
    case PacketKind::kUpdate:
      return SUBSTRATA_AUTOMATIC_UPDATE;
    case PacketKind::kUser:
      return SUBSTRATA_RECEIVE;
  }
  return SUBSTRATA_KIND_NONE;
}

std::uint16_t transaction_flags(PacketKind kind) noexcept {
  switch (kind) {
    case PacketKind::kUser:
      return SUBSTRATA_FLAG_MODELLED;
    case PacketKind::kLockRequest:
    case PacketKind::kLockGrant:
    case PacketKind::kLockRelease:
    case PacketKind::kBarrierArrive:
    case PacketKind::kBarrierRelease:
      return SUBSTRATA_FLAG_MODELLED | SUBSTRATA_FLAG_INTERNAL | SUBSTRATA_FLAG_SYNCHRONISING;
    default:
      return SUBSTRATA_FLAG_MODELLED | SUBSTRATA_FLAG_INTERNAL;
  }
}

NodeProbes::NodeProbes(const std::string& machine, Engine& engine) : phases_(engine) {
  const auto source = client::feed::Source::simulated(
      machine.c_str(), "shared virtual memory on a network without contention, a model");
  for (ProcessId node = 0; node < engine.processes(); ++node) {
    const std::string name = machine + ".node" + std::to_string(node) + ".receive";
    publishers_.push_back(
        source.publisher(name.c_str(), "packets that arrive at the node; initiator and target are nodes")
            .value());
  }
}

void NodeProbes::arrived(const Packet& packet, Time sent, Time now, std::uint16_t phase) {
  substrata_publisher* publisher = publishers_[packet.to].get();
  substrata_transaction* slot = substrata_reserve(publisher);
  if (slot == nullptr) return;
  *slot = {};
  slot->time = now;
  slot->start = sent;
  slot->address = packet.address;
  slot->detail = packet.number;
  slot->initiator = packet.from;
  slot->target = packet.to;
  slot->size = packet.bytes;
  slot->kind = transaction_kind(packet.kind);
  slot->state = SUBSTRATA_ARRIVED;
  slot->phase = phase;
  slot->flags = transaction_flags(packet.kind);
  substrata_commit(publisher);
  ++published_;
}

}  // namespace substrata::svm
