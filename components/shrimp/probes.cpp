// Publishes arrivals and commands.
#include "probes.hpp"

#include <stdexcept>
#include <string>

namespace substrata::shrimp {

Probes::Probes(uint32_t nodes) {
  const auto demand = [](int code) {
    if (code != 0) throw std::runtime_error(substrata_feed_error());
  };
  substrata_source_info source{};
  source.struct_size = sizeof source;
  source.kind = SUBSTRATA_SOURCE_MACHINE;
  source.name = "shrimp";
  source.summary = "the modelled SHRIMP multicomputer";
  source.time_base = SUBSTRATA_TIME_SIMULATED;
  source.ticks_per_second = 1'000'000'000'000;
  demand(substrata_source_add(&source));
  for (uint32_t node = 0; node < nodes; ++node) {
    const std::string name = "shrimp.node" + std::to_string(node) + ".receive";
    substrata_probe_info probe{};
    probe.struct_size = sizeof probe;
    probe.name = name.c_str();
    probe.text =
        "packets at the node's network interface and commands to its monitor; initiator and target are nodes";
    probe.source = "shrimp";
    uint32_t number = 0;
    demand(substrata_probe_add(&probe, &number));
    substrata_publisher* publisher = nullptr;
    demand(substrata_publisher_open(number, 0, &publisher));
    publishers_.emplace_back(publisher);
  }
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
