// Latencies of the modelled cluster's packets by type and length at once, as an observer without a monitor sees them.
#pragma once

#include <substrata/myrinet.h>
#include <substrata/feed.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <tuple>

namespace substrata::papers {

// Which packets.
struct Lengths {
  unsigned least;  // bytes
  unsigned most;
  // Leaves out the word behind each page, which waits for that page in an idle cluster as well.
  bool like_packets = false;
};

// Of the runs while it lives. Thread-bound.
class PacketLatencies {
 public:
  PacketLatencies();
  // Microseconds over the packets that match; of all programs, or of one. Throws std::runtime_error when none does.
  double average(substrata_myrinet_latency latency, const Lengths& lengths, int program = -1);
  // NetLatency less LANaiLatency, the paper's measure of the network's contention.
  double net_only(const Lengths& lengths, int program = -1);

 private:
  struct Sums {
    std::array<double, SUBSTRATA_MYRINET_LATENCIES> packets{};
    std::array<double, SUBSTRATA_MYRINET_LATENCIES> ps{};
  };
  void take(const substrata_transaction* batch, std::size_t count);

  using Key = std::tuple<unsigned, unsigned, unsigned>;  // program, type, bytes
  std::map<Key, Sums> sums_;
  client::feed::Observer observer_;
};

}  // namespace substrata::papers
