// What the modelled cluster is made of: sizes, rates and costs, each with its source.
#pragma once

#include <cstdint>

namespace substrata::myrinet {

// Simulated time in picoseconds, as the workloads'.
using Time = std::uint64_t;
inline constexpr Time kNever = ~Time{0};
inline constexpr Time kMicrosecond = 1'000'000;
inline constexpr Time kSecond = 1'000'000'000'000;
inline constexpr std::int64_t kPicosecondsPerNanosecond = 1000;

// The host's own work: to put a message into the interface's queue, and to find one that it polls for;
// assumption.
inline constexpr Time kHostSend = kMicrosecond;
inline constexpr Time kHostReceive = kMicrosecond;

// What of the firmware's monitor runs (figures 7 to 10 of the paper show each alone).
struct MonitorParts {
  bool sending = true;
  bool receiving = true;
  bool clock = true;
};

// How the interfaces' clocks are kept together (section 2.2).
enum class ClockMode : std::uint8_t {
  kSettled,   // as long after a synchronisation: each node off by a constant, no packets
  kPeriodic,  // global synchronisations from the start of the run on
};

// "Paper" is Liao, Martonosi and Clark, SPDT 1998. Where it gives no number, the parameter is marked as
// fitted to the figure named, all of them microbenchmarks (figures 5, 7, 9, 10), or as an assumption; nothing
// is fitted to an application (figures 6, 11 to 14).
struct ClusterParameters {
  std::uint32_t nodes = 8;            // paper, 2.1
  std::uint32_t packet_bytes = 4096;  // largest packet: paper, 3.3
  std::uint32_t header_bytes = 16;    // of a packet: route, type, length, checksum; assumption
  std::uint32_t stamp_bytes = 16;     // time stamp and program tag of a monitored packet; assumption
  Time link_byte = 6250;              // 160 MB/s, a Myrinet link of 1.28 Gb/s
  Time switch_latency = 550'000;      // one crossbar and two cables: Boden et al., IEEE Micro 1995
  // A worm whose head waits in the switch stops its sender, but for what the slack buffer of the switch's
  // input takes in (STOP and GO of Myrinet's links: Boden et al.); about a hundred bytes; assumption.
  std::uint32_t slack_bytes = 96;
  // Packets that the interface has on their way from the network into host memory; none further leaves the
  // network. Two: one comes while the other is stored; assumption.
  std::uint32_t receive_buffers = 2;
  Time reception = 2'700'000;     // out of the network to the last word in the interface; fitted to the
                                  // 3 to 4 us of figure 5
  Time source_setup = 7'500'000;  // DMA out of host memory, begin; fitted to figure 5
  Time dest_setup = 2'800'000;    // DMA into host memory, begin: paper, 6: about 4 us below 128 bytes
  // 120 MB/s: PCI of 132 MB/s with its pauses; assumption. With the set-up 98 MB/s for 4 KB; the same kind of
  // machine moved 108.4 MB/s from user to user, "98 % of the hardware's" (Dubnicki, Bilas, Li, Philbin,
  // "Design and Implementation of Virtual Memory-Mapped Communication on Myrinet", IPPS 1997), so out of host
  // memory about 110 MB/s.
  Time dma_byte = 8'333;
  bool contention = true;            // off: each packet travels as if alone in the cluster, for comparison
  double memory_slowdown = 2;        // of a DMA while the processor keeps the memory busy; assumption
  std::uint32_t queue_entries = 32;  // of the interface's request queue; assumption
  // The 33 MHz processor of the interface. Together 9 us a packet sent, so that the monitor's share of figure
  // 7 is 10 to 15 % of short packets; the split is an assumption.
  Time poll = 100'000;               // until the main loop notices something, when idle
  Time on_request = 2'000'000;       // a request is taken and its DMA begun
  Time on_fetched = 1'500'000;       // the packet is in the interface: header, insertion begun
  Time on_injected = 5'500'000;      // it has left: report to the host, buffers
  Time on_arrived = 600'000;         // a packet has come: check, DMA begun
  Time on_delivered = 1'500'000;     // it is in host memory: report, buffers
  Time on_clock_packet = 1'000'000;  // a packet of the clock is read and answered
  // The monitor: 1 us to send (figure 10: below 1.5 us), with the receiver's 4.5 us some 5 us one way (figure
  // 9).
  MonitorParts monitor = {};
  Time stamp_sending = 300'000;       // before the insertion
  Time record_sending = 600'000;      // after it
  Time strip_receiving = 300'000;     // before the DMA to the host
  Time record_receiving = 4'200'000;  // after it
  Time clock_upkeep = 100'000;        // of each packet: the node's own correction
  // Histograms in host memory (paper, 6): the processor begins a DMA to the host and sees its end. With
  // dest_setup a DMA below 128 bytes then takes the paper's 4 us.
  Time write_back = 600'000;
  bool histograms_in_host = false;  // also where no shape was configured for it
  // Clocks.
  ClockMode clock = ClockMode::kSettled;
  Time period = 300 * kSecond;   // between global synchronisations: paper, 2.2
  bool correct_drift = true;     // paper, 2.2
  bool stamps_inside = true;     // time stamps inside long operations: paper, 3.2
  bool priority = true;          // of clock packets: paper, 3.2
  std::uint32_t tries = 64;      // queries of a node at most, until one was quick: Cristian 1989
  double drift_ppm = 100;        // each clock is off by up to so much; assumption
  double wander_ppb = 2;         // and that changes by so much within half an hour; assumption
  Time settled_error = 500'000;  // of each node in kSettled, at most
  Time stamp_grain = 200'000;    // between two looks at the clock inside an operation; assumption
  // Faults, in millionths of the packets.
  std::uint32_t corrupt_ppm = 0;
  std::uint32_t drop_ppm = 0;
  std::uint32_t misroute_ppm = 0;
  Time retry = 1'000 * kMicrosecond;  // until a lost packet is sent again; assumption
  Time refusal = 5 * kMicrosecond;    // until a corrupt or misrouted one is; assumption
  std::uint64_t seed = 1;             // of faults and clocks
};

}  // namespace substrata::myrinet
