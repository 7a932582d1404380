// Publishes arrivals, commands and uses of the bus.
#include "probes.hpp"

#include <substrata/feed.hpp>

#include <string>

namespace substrata::shrimp {

Probes::Probes(uint32_t nodes) {
  constexpr auto kSource = client::feed::Source::simulated("shrimp", "the modelled SHRIMP multicomputer");
  for (uint32_t node = 0; node < nodes; ++node) {
    const std::string name = "shrimp.node" + std::to_string(node) + ".receive";
    publishers_.push_back(
        kSource
            .publisher(name.c_str(),
                       "packets at the node's network interface and commands to its monitor; initiator and "
                       "target are nodes")
            .value());
    const std::string bus = "shrimp.node" + std::to_string(node) + ".eisa";
    buses_.push_back(
        kSource.publisher(bus.c_str(), "uses of the node's EISA bus; detail: how long it was waited for")
            .value());
  }
}

void Probes::bus(uint32_t node, BusUse use, uint32_t bytes, uint64_t asked, uint64_t begun,
                 uint64_t end) noexcept {
  substrata_publisher* const publisher = buses_[node].get();
  substrata_transaction* const slot = substrata_reserve(publisher);
  if (slot == nullptr) return;
  *slot = {};
  slot->time = end;
  slot->start = begun;
  slot->detail = begun - asked;
  slot->initiator = node;
  slot->target = node;
  slot->size = bytes;
  slot->kind = static_cast<uint16_t>(use);
  slot->flags = SUBSTRATA_FLAG_MODELLED;
  substrata_commit(publisher);
  ++published_;
}

void Probes::arrived(const Packet& packet) noexcept {
  substrata_publisher* const publisher = publishers_[packet.receiver].get();
  substrata_transaction* const slot = substrata_reserve(publisher);
  if (slot == nullptr) return;
  *slot = {};
  slot->time = packet.time;
  slot->start = packet.stamped;
  slot->address = packet.address;
  slot->detail = packet.detail;
  slot->initiator = packet.sender;
  slot->target = packet.receiver;
  slot->size = packet.size;
  slot->kind = packet.kind;
  slot->state = SUBSTRATA_ARRIVED;
  slot->phase = packet.phase;
  slot->flags = packet.flags;
  substrata_commit(publisher);
  ++published_;
}

void Probes::command(uint32_t from, uint32_t node, Register which, uint64_t value, uint64_t time,
                     uint16_t phase) noexcept {
  substrata_publisher* const publisher = publishers_[node].get();
  substrata_transaction* const slot = substrata_reserve(publisher);
  if (slot == nullptr) return;
  *slot = {};
  slot->time = time;
  slot->address = static_cast<uint64_t>(which);
  slot->detail = value;
  slot->initiator = from;
  slot->target = node;
  slot->kind = SUBSTRATA_COMMAND;
  slot->phase = phase;
  slot->flags = SUBSTRATA_FLAG_MODELLED;
  substrata_commit(publisher);
  ++published_;
}

}  // namespace substrata::shrimp
