// The substrate `mx`: the names that PAPI's component of Myrinet's MX driver has, answered by modelled interfaces.
#include <substrata/substrate.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "base/error.hpp"
#include "models/counting/counting.hpp"
#include "myrinet/packet_counters.hpp"

namespace {

using namespace substrata;
using myrinet::Choice;
using myrinet::Count;

constexpr counting::Qualifier kQualifiers[] = {
    {"node", "the interface; absent: all together, in a rank of a live MPI program its own", 0, 255}};

// The driver's counters, in PAPI's order. The model has a few of them; the others, which are of the firmware's
// protocols and of its host's resources, are there by name.
struct Counted {
  counting::EventDescription event;
  Count count = myrinet::kBytesLost;  // not asked for where the model has none
};

constexpr Counted counted(const char* name, const char* text, Count count) {
  return {{.name = name, .text = text, .unit = "packets"}, count};
}
constexpr Counted known(const char* name) {
  return {{.name = name,
           .text = "A counter of the driver's firmware that the modelled interfaces have no counterpart of.",
           .why = "the modelled interfaces have no such counter: of the 98 of Myrinet's driver they have "
                  "RAW_SENDS, RAW_RECEIVES, BAD_CRC32, PKT_MISROUTED and PACKETS_DROPPED"}};
}

constexpr Counted kCounters[] = {
    known("LANAI_UPTIME"),
    known("COUNTERS_UPTIME"),
    known("BAD_CRC8"),
    counted("BAD_CRC32", "Modelled: corrupt packets, found by their receiver.", myrinet::kChecksumErrors),
    known("UNSTRIPPED_ROUTE"),
    known("PKT_DESC_INVALID"),
    known("RECV_PKT_ERRORS"),
    counted("PKT_MISROUTED", "Modelled: packets that came out at another node.", myrinet::kMisrouted),
    known("DATA_SRC_UNKNOWN"),
    known("DATA_BAD_ENDPT"),
    known("DATA_ENDPT_CLOSED"),
    known("DATA_BAD_SESSION"),
    known("PUSH_BAD_WINDOW"),
    known("PUSH_DUPLICATE"),
    known("PUSH_OBSOLETE"),
    known("PUSH_RACE_DRIVER"),
    known("PUSH_BAD_SEND_HANDLE_MAGIC"),
    known("PUSH_BAD_SRC_MAGIC"),
    known("PULL_OBSOLETE"),
    known("PULL_NOTIFY_OBSOLETE"),
    known("PULL_RACE_DRIVER"),
    known("ACK_BAD_TYPE"),
    known("ACK_BAD_MAGIC"),
    known("ACK_RESEND_RACE"),
    known("LATE_ACK"),
    known("ACK_NACK_FRAMES_IN_PIPE"),
    known("NACK_BAD_ENDPT"),
    known("NACK_ENDPT_CLOSED"),
    known("NACK_BAD_SESSION"),
    known("NACK_BAD_RDMAWIN"),
    known("NACK_EVENTQ_FULL"),
    known("SEND_BAD_RDMAWIN"),
    known("CONNECT_TIMEOUT"),
    known("CONNECT_SRC_UNKNOWN"),
    known("QUERY_BAD_MAGIC"),
    known("QUERY_TIMED_OUT"),
    known("QUERY_SRC_UNKNOWN"),
    counted("RAW_SENDS", "Modelled: packets put into the network, each attempt.", myrinet::kPacketsSent),
    counted("RAW_RECEIVES", "Modelled: packets in the receiving host's memory.", myrinet::kPacketsReceived),
    known("RAW_OVERSIZED_PACKETS"),
    known("RAW_RECV_OVERRUN"),
    known("RAW_DISABLED"),
    known("CONNECT_SEND"),
    known("CONNECT_RECV"),
    known("ACK_SEND"),
    known("ACK_RECV"),
    known("PUSH_SEND"),
    known("PUSH_RECV"),
    known("QUERY_SEND"),
    known("QUERY_RECV"),
    known("REPLY_SEND"),
    known("REPLY_RECV"),
    known("QUERY_UNKNOWN"),
    known("DATA_SEND_NULL"),
    known("DATA_SEND_SMALL"),
    known("DATA_SEND_MEDIUM"),
    known("DATA_SEND_RNDV"),
    known("DATA_SEND_PULL"),
    known("DATA_RECV_NULL"),
    known("DATA_RECV_SMALL_INLINE"),
    known("DATA_RECV_SMALL_COPY"),
    known("DATA_RECV_MEDIUM"),
    known("DATA_RECV_RNDV"),
    known("DATA_RECV_PULL"),
    known("ETHER_SEND_UNICAST_CNT"),
    known("ETHER_SEND_MULTICAST_CNT"),
    known("ETHER_RECV_SMALL_CNT"),
    known("ETHER_RECV_BIG_CNT"),
    known("ETHER_OVERRUN"),
    known("ETHER_OVERSIZED"),
    known("DATA_RECV_NO_CREDITS"),
    known("PACKETS_RECENT"),
    counted("PACKETS_DROPPED", "Modelled: packets lost, found by their sender.", myrinet::kDropped),
    known("MAPPER_ROUTES_UPDATE"),
    known("ROUTE_DISPERSION"),
    known("OUT_OF_SEND_HANDLES"),
    known("OUT_OF_PULL_HANDLES"),
    known("OUT_OF_PUSH_HANDLES"),
    known("MEDIUM_CONT_RACE"),
    known("CMD_TYPE_UNKNOWN"),
    known("UREQ_TYPE_UNKNOWN"),
    known("INTERRUPTS_OVERRUN"),
    known("WAITING_FOR_INTERRUPT_DMA"),
    known("WAITING_FOR_INTERRUPT_ACK"),
    known("WAITING_FOR_INTERRUPT_TIMER"),
    known("SLABS_RECYCLING"),
    known("SLABS_PRESSURE"),
    known("SLABS_STARVATION"),
    known("OUT_OF_RDMA_HANDLES"),
    known("EVENTQ_FULL"),
    known("BUFFER_DROP"),
    known("MEMORY_DROP"),
    known("HARDWARE_FLOW_CONTROL"),
    known("SIMULATED_PACKETS_LOST"),
    known("LOGGING_FRAMES_DUMPED"),
    known("WAKE_INTERRUPTS"),
    known("AVERTED_WAKEUP_RACE"),
    known("DMA_METADATA_RACE"),
};
constexpr auto kEvents = [] {
  std::array<counting::EventDescription, std::size(kCounters)> events{};
  for (size_t i = 0; i < events.size(); ++i) events[i] = kCounters[i].event;
  return events;
}();

class Interfaces final : public counting::Monitor {
 public:
  explicit Interfaces(const Host*) : Monitor(kEvents, kQualifiers) {}

 protected:
  Status bind(const counting::Request& request, counting::Binding* out) override {
    Choice choice;
    choice.node = static_cast<uint32_t>(request.value_or(0, Choice::kAny));
    const counting::Counter* const counter = counters_.counter(choice, kCounters[request.event].count);
    if (counter == nullptr) return refuse(Code::kTooMany, "no more interfaces can be counted one by one");
    out->counters = {counter};
    out->instrument = &counters_;
    return kSuccess;
  }

 private:
  myrinet::PacketCounters counters_;
};

Status detect(const Host* host) noexcept {
  const char* const asked = host->setting == nullptr ? nullptr : host->setting(host->context, "SUBSTRATA_MX");
  if (asked != nullptr && std::strcmp(asked, "1") == 0) return kSuccess;
  return {Code::kDisabled, 0,
          "modelled interfaces, no Myrinet hardware: off unless asked for; set SUBSTRATA_MX=1 to have PAPI's "
          "names for "
          "them (the substrate myrinet has the same and more under its own)"};
}

constexpr SubstrateTable kTable = counting::table<Interfaces, kEvents>(
    {.name = "mx",
     .summary = "Modelled Myrinet interfaces under the names of PAPI's mx",
     .version = "1.0",
     .traits = kOnRequest,
     .detect = detect});

}  // namespace

SUBSTRATA_PUBLISH(mx, kTable);
