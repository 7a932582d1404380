// The substrate "myrinet": packets, latencies, faults and clocks of modelled Myrinet interfaces.
#include <substrata/substrate.h>

#include <algorithm>
#include <iterator>

#include "base/error.hpp"
#include "models/counting/counting.hpp"
#include "myrinet/host_store.hpp"
#include "myrinet/machine.hpp"
#include "myrinet/operations.hpp"
#include "myrinet/packet_counters.hpp"

namespace {

using namespace substrata;
using myrinet::Choice;
using myrinet::Count;

enum QualifierIndex : size_t { kNode, kPeer, kProgram, kType, kKind };
constexpr uint64_t kPacketQualifiers = 1u << kNode | 1u << kPeer | 1u << kProgram | 1u << kType;
constexpr uint64_t kClockQualifiers = 1u << kNode;
constexpr uint64_t kOperationQualifiers = 1u << kNode | 1u << kProgram | 1u << kKind;

constexpr counting::Qualifier kQualifiers[] = {
    {"node", "the interface; absent: all together, in a rank of a live MPI program its own", 0,
     myrinet::kMostNodes - 1},
    {"peer", "the packet's other end; absent: any", 0, myrinet::kMostNodes - 1},
    {"program", "program tag; absent: all", 0, 65535},
    {"type",
     "packet type: 0 data, 1 message, 2 page request, 3 page reply, 4 diff, 5 lock, 6 barrier, 7 protocol, 8 "
     "collective, 9 stream; absent: all",
     0, myrinet::kTypes - 1, false,
     "data|message|page-request|page-reply|diff|lock|barrier|protocol|collective|stream"},
    {"kind", "kind of operation, by name or number; absent: all", 0, myrinet::kOperationKinds - 1, false,
     "page-fetch|page-home|lock-acquire|lock-release|barrier|message|broadcast|stream-open|stream-write|"
     "stream-read|stream-close|collective"},
};

constexpr counting::EventDescription packets(const char* name, const char* text, const char* unit) {
  return {.name = name, .text = text, .unit = unit, .qualifiers = kPacketQualifiers};
}

constexpr counting::EventDescription operations(const char* name, const char* text, const char* unit) {
  return {.name = name, .text = text, .unit = unit, .qualifiers = kOperationQualifiers};
}

constexpr counting::EventDescription in_host(const char* name, const char* text, const char* unit) {
  return {.name = name, .text = text, .unit = unit, .qualifiers = kClockQualifiers};
}
constexpr uint32_t kFirstInHost =
    myrinet::kPacketEvents + myrinet::kOperationCounts;  // then myrinet::HostCount

// In the order of myrinet::Count, then of myrinet::OperationCount.
constexpr counting::EventDescription kEvents[] = {
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
    operations(
        "OPERATIONS",
        "Operations of the communication layer that have ended: page fetches, locks, barriers, messages, "
        "broadcasts.",
        "operations"),
    operations("OPERATION_LATENCY_SUM", "Time from the begin to the end of these operations, summed.", "ns"),
    operations("OPERATION_PACKETS", "Packets sent for operations, each attempt of a repeated one.",
               "packets"),
    operations("OPERATION_BYTES", "Bytes of the packets sent for operations.", "bytes"),
    operations("OPERATION_SOURCE_LATENCY_SUM", "SourceLatency of the operations' packets, summed.", "ns"),
    operations("OPERATION_LANAI_LATENCY_SUM", "LANaiLatency of the operations' packets, summed.", "ns"),
    operations("OPERATION_NET_LATENCY_SUM", "NetLatency of the operations' packets, summed.", "ns"),
    operations("OPERATION_DEST_LATENCY_SUM", "DestLatency of the operations' packets, summed.", "ns"),
    in_host("HISTOGRAM_WRITEBACKS", "Lines of histograms in host memory that were written there.", "lines"),
    in_host("HISTOGRAM_WRITEBACKS_FORCED", "Of them, those for which packets had to wait: no line was free.",
            "lines"),
    in_host("TRACE_RECORDS", "Packet records made for a trace in host memory.", "records"),
    in_host("TRACE_DROPPED", "Of them, those for which the host's ring was full.", "records"),
};
static_assert(std::size(kEvents) == kFirstInHost + myrinet::kHostCounts);

class MyrinetMonitor final : public counting::Monitor {
 public:
  explicit MyrinetMonitor(const Host*) : Monitor(kEvents, kQualifiers) {}

 protected:
  Status bind(const counting::Request& request, counting::Binding* out) override {
    const auto value = [&](QualifierIndex which) {
      return static_cast<uint32_t>(request.value_or(which, Choice::kAny));
    };
    if (request.event >= kFirstInHost) {
      const auto what = static_cast<myrinet::HostCount>(request.event - kFirstInHost);
      out->counters = {myrinet::host_counter(std::min(value(kNode), myrinet::kMostNodes), what)};
      return kSuccess;
    }
    if (request.event >= myrinet::kPacketEvents) {
      const myrinet::OperationChoice of{value(kNode), value(kProgram), value(kKind)};
      const counting::Counter* const counted = operations_.counter(
          of, static_cast<myrinet::OperationCount>(request.event - myrinet::kPacketEvents));
      if (counted == nullptr)
        return refuse(Code::kTooMany, "%zu choices of node, program and kind are counted, no more are kept",
                      myrinet::OperationCounters::Choices::kMost);
      out->counters = {counted};
      out->instrument = &operations_;
      return kSuccess;
    }
    Choice choice{value(kNode), value(kPeer), value(kProgram), value(kType)};
    const auto count = static_cast<Count>(request.event);
    const counting::Counter* const counter = counters_.counter(choice, count);
    if (counter == nullptr) {
      return refuse(Code::kTooMany,
                    "%zu choices of node, peer, program and type are counted, no more are kept",
                    myrinet::PacketCounters::Choices::kMost);
    }
    out->counters = {counter};
    out->instrument = &counters_;
    return kSuccess;
  }

 private:
  myrinet::PacketCounters counters_;
  myrinet::OperationCounters operations_;
};

constexpr SubstrateTable kTable = counting::table<MyrinetMonitor, kEvents>(
    {.name = "myrinet",
     .summary = "The firmware monitor of modelled Myrinet interfaces: packets, latencies, faults, clocks"});

}  // namespace

SUBSTRATA_PUBLISH(myrinet, kTable);
