// The substrate "myrinet": packets, latencies, faults and clocks of modelled Myrinet interfaces.
#include <substrata/substrate.h>

#include <iterator>

#include "machine.hpp"
#include "monitor/counting.hpp"
#include "packet_counters.hpp"

namespace {

using namespace substrata;
using myrinet::Choice;
using myrinet::Count;

enum QualifierIndex : size_t { kNode, kPeer, kProgram, kType };
constexpr uint64_t kPacketQualifiers = 1u << kNode | 1u << kPeer | 1u << kProgram | 1u << kType;
constexpr uint64_t kClockQualifiers = 1u << kNode;

constexpr monitor::Qualifier kQualifiers[] = {
    {"node", "the interface; absent: all together, in a rank of a live MPI program its own", 0,
     myrinet::kMostNodes - 1},
    {"peer", "the packet's other end; absent: any", 0, myrinet::kMostNodes - 1},
    {"program", "program tag; absent: all", 0, 65535},
    {"type",
     "packet type: 0 data, 1 message, 2 page request, 3 page reply, 4 diff, 5 lock, 6 barrier, 7 protocol, 8 "
     "collective; absent: all",
     0, myrinet::kTypes - 1},
};

constexpr monitor::EventDescription packets(const char* name, const char* text, const char* unit) {
  return {.name = name, .text = text, .unit = unit, .qualifiers = kPacketQualifiers};
}

// In the order of myrinet::Count.
constexpr monitor::EventDescription kEvents[] = {
    packets("PACKETS_SENT", "Packets put into the network, each attempt of a repeated one.", "packets"),
    packets("PACKETS_RECEIVED", "Packets brought whole into the receiving host's memory.", "packets"),
    packets("BYTES_SENT", "Bytes of the packets sent, headers not counted.", "bytes"),
    packets("BYTES_RECEIVED", "Bytes of the packets received.", "bytes"),
    packets("SOURCE_LATENCY_SUM",
            "Time from the request in the interface's queue to the end of the DMA into its memory, summed.",
            "ns"),
    packets("LANAI_LATENCY_SUM",
            "Time from there to the end of the insertion into the network, summed; a repeated packet counts "
            "each attempt.",
            "ns"),
    packets("NET_LATENCY_SUM",
            "Time from the start of transport to the last word at the receiver, by the two nodes' clocks, "
            "summed.",
            "ns"),
    packets("DEST_LATENCY_SUM",
            "Time from the last word to the end of the DMA into the host's memory, summed.", "ns"),
    packets("CHECKSUM_ERRORS", "Corrupt packets, found by the receiver.", "packets"),
    packets("DROPPED", "Packets lost, found by the sender when no answer came.", "packets"),
    packets("MISROUTED", "Packets for another node, found where they came out.", "packets"),
    {.name = "CLOCK_ERROR_MAX",
     .text = "Largest error of the global clock against node 0, seen at a synchronisation since the monitor "
             "first observed one.",
     .unit = "ns",
     .kind = ValueKind::kGauge,
     .qualifiers = kClockQualifiers},
    {.name = "SYNC_ROUNDS",
     .text = "Global synchronisations of the clocks.",
     .unit = "rounds",
     .qualifiers = 0},
};
static_assert(std::size(kEvents) == myrinet::kCounts);

class MyrinetMonitor final : public monitor::Monitor {
 public:
  explicit MyrinetMonitor(const Host*) : Monitor(kEvents, kQualifiers) {}

 protected:
  Status bind(const monitor::Request& request, monitor::Binding* out) override {
    const auto value = [&](QualifierIndex which) {
      return static_cast<uint32_t>(request.value_or(which, Choice::kAny));
    };
    Choice choice{value(kNode), value(kPeer), value(kProgram), value(kType)};
    const auto count = static_cast<Count>(request.event);
    const monitor::Counter* const counter = counters_.counter(choice, count);
    if (counter == nullptr) {
      return monitor::refuse(Code::kTooMany, 0,
                             "%zu choices of node, peer, program and type are counted, no more are kept",
                             myrinet::PacketCounters::kMostChoices);
    }
    out->counters = {counter};
    out->instrument = &counters_;
    return kSuccess;
  }

 private:
  myrinet::PacketCounters counters_;
};

constexpr SubstrateTable kTable = monitor::table<MyrinetMonitor>(
    {.name = "myrinet",
     .summary = "The firmware monitor of modelled Myrinet interfaces: packets, latencies, faults, clocks",
     .version = "1"});

// Here, beside the entry point that the library always holds.
SUBSTRATA_AT_LOAD void announce() { myrinet::announce_machine(); }

}  // namespace

SUBSTRATA_ENTRY substrata_entry_myrinet(const substrata::Host* host,
                                        substrata::SubstrateTable* out) noexcept {
  return substrata::publish(kTable, host, out);
}
