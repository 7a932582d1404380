// The way of a packet from one SHRIMP node to another: EISA buses, network interfaces, mesh.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace substrata::shrimp {

using Picoseconds = uint64_t;

// Where a figure has no source it is our round number.
struct PortParameters {
  Picoseconds cycle = 16'667;         // 60 MHz Pentium (SHRIMP paper, section 3.5)
  uint32_t burst = 224;               // bytes until the EISA bus is given back (section 4.1)
  Picoseconds gap = 625'000;          // least time between two packets at a node (section 3.1)
  Picoseconds eisa_byte = 30'303;     // 33 MB/s, the burst rate of the EISA bus
  Picoseconds arbitration = 500'000;  // to get the bus; ours
  Picoseconds mesh_byte =
      5'714;                 // 175 MB/s, a link of the Paragon mesh (Traylor and Dunning, Hot Chips 1992)
  Picoseconds hop = 40'000;  // through one router (the same)
  Picoseconds interface = 1'000'000;  // through both network interfaces; ours
};

// When the ports of all nodes are free again. What goes from one node to another keeps its order. A node has one EISA
// bus for what leaves it, what arrives and its processor's commands; it serves them in the order in which they ask.
// Thread-compatible.
class Ports {
 public:
  Ports(const PortParameters& parameters, uint32_t nodes)
      : p_(parameters), bus_(nodes), injection_(nodes), next_taken_(nodes) {
    while (width_ * width_ < nodes) ++width_;
  }
  const PortParameters& parameters() const noexcept { return p_; }

  // A burst leaves memory by deliberate update: when it is in the interface and stamped.
  Picoseconds read_out(uint32_t from, uint32_t bytes, Picoseconds now) noexcept {
    return hold(from, burst_time(bytes), now);
  }
  Picoseconds burst_time(uint32_t bytes) const noexcept { return p_.arbitration + p_.eisa_byte * bytes; }
  // The processor's write to a register of its monitor: when it has been made.
  Picoseconds write_register(uint32_t node, Picoseconds takes, Picoseconds now) noexcept {
    return hold(node, takes, now);
  }
  // A stamped packet goes through the mesh: when its last byte is at the other interface.
  Picoseconds cross(uint32_t from, uint32_t to, uint32_t bytes, Picoseconds stamped) noexcept {
    injection_[from] = std::max(injection_[from], stamped) + p_.mesh_byte * bytes;
    return injection_[from] + p_.interface + p_.hop * hops(from, to);
  }
  // The receiving interface takes it, when it can: the time the monitor sees. `delivered` gets when it is in
  // memory.
  Picoseconds take_in(uint32_t to, uint32_t bytes, Picoseconds now, Picoseconds* delivered) noexcept {
    const Picoseconds taken = std::max({now, bus_[to], next_taken_[to]});
    *delivered = hold(to, burst_time(bytes), taken);
    next_taken_[to] = taken + p_.gap;
    return taken;
  }
  uint32_t hops(uint32_t from, uint32_t to) const noexcept {
    const auto apart = [](uint32_t a, uint32_t b) { return a > b ? a - b : b - a; };
    return 1 + apart(from % width_, to % width_) + apart(from / width_, to / width_);
  }

 private:
  Picoseconds hold(uint32_t node, Picoseconds takes, Picoseconds now) noexcept {
    bus_[node] = std::max(bus_[node], now) + takes;
    return bus_[node];
  }
  PortParameters p_;
  uint32_t width_ = 1;
  std::vector<Picoseconds> bus_;  // free from then on
  std::vector<Picoseconds> injection_;
  std::vector<Picoseconds> next_taken_;  // packets are a least time apart
};

}  // namespace substrata::shrimp
