// Publishes arrivals, commands and uses of the bus.
#include "shrimp/probes.hpp"

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

template <typename Fill>
void Probes::publish(const client::feed::Publisher& publisher, const Fill& fill) noexcept {
  substrata_transaction* const slot = publisher.reserve();
  if (slot == nullptr) return;
  *slot = {};
  fill(*slot);
  publisher.commit();
  ++published_;
}

void Probes::bus(uint32_t node, BusUse use, uint32_t bytes, uint64_t asked, uint64_t begun,
                 uint64_t end) noexcept {
  publish(buses_[node], [&](substrata_transaction& shown) {
    shown.time = end;
    shown.start = begun;
    shown.detail = begun - asked;
    shown.initiator = node;
    shown.target = node;
    shown.size = bytes;
    shown.kind = static_cast<uint16_t>(use);
    shown.flags = SUBSTRATA_FLAG_MODELLED;
  });
}

void Probes::arrived(const Packet& packet) noexcept {
  publish(publishers_[packet.receiver], [&](substrata_transaction& shown) {
    shown.time = packet.time;
    shown.start = packet.stamped;
    shown.address = packet.address;
    shown.detail = packet.detail;
    shown.initiator = packet.sender;
    shown.target = packet.receiver;
    shown.size = packet.size;
    shown.kind = packet.kind;
    shown.state = SUBSTRATA_ARRIVED;
    shown.phase = packet.phase;
    shown.flags = packet.flags;
  });
}

void Probes::command(uint32_t from, uint32_t node, Register which, uint64_t value, uint64_t time,
                     uint16_t phase) noexcept {
  publish(publishers_[node], [&](substrata_transaction& shown) {
    shown.time = time;
    shown.address = static_cast<uint64_t>(which);
    shown.detail = value;
    shown.initiator = from;
    shown.target = node;
    shown.kind = SUBSTRATA_COMMAND;
    shown.phase = phase;
    shown.flags = SUBSTRATA_FLAG_MODELLED;
  });
}

}  // namespace substrata::shrimp
