// The substrate `mx`: the names that PAPI's component of Myrinet's MX driver has, answered by modelled interfaces.
#include <substrata/substrate.h>

#include <cstring>
#include <iterator>

#include "base/error.hpp"
#include "counting/counting.hpp"
#include "myrinet/packet_counters.hpp"

namespace {

using namespace substrata;
using myrinet::Choice;
using myrinet::Count;

constexpr counting::Qualifier kQualifiers[] = {
    {"node", "the interface; absent: all together, in a rank of a live MPI program its own", 0, 255}};

// What of an interface the model has; the driver counts 98 things.
constexpr counting::EventDescription kEvents[] = {
    {.name = "BAD_CRC32", .text = "Modelled: corrupt packets, found by their receiver.", .unit = "packets"},
    {.name = "PKT_MISROUTED", .text = "Modelled: packets that came out at another node.", .unit = "packets"},
    {.name = "RAW_SENDS", .text = "Modelled: packets put into the network, each attempt.", .unit = "packets"},
    {.name = "RAW_RECEIVES", .text = "Modelled: packets in the receiving host's memory.", .unit = "packets"},
    {.name = "PACKETS_DROPPED", .text = "Modelled: packets lost, found by their sender.", .unit = "packets"},
};
constexpr Count kCounts[] = {myrinet::kChecksumErrors, myrinet::kMisrouted, myrinet::kPacketsSent,
                             myrinet::kPacketsReceived, myrinet::kDropped};
static_assert(std::size(kEvents) == std::size(kCounts));

class Interfaces final : public counting::Monitor {
 public:
  explicit Interfaces(const Host*) : Monitor(kEvents, kQualifiers) {}

 protected:
  Status bind(const counting::Request& request, counting::Binding* out) override {
    Choice choice;
    choice.node = static_cast<uint32_t>(request.value_or(0, Choice::kAny));
    const counting::Counter* const counter = counters_.counter(choice, kCounts[request.event]);
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

constexpr SubstrateTable kModel =
    counting::table<Interfaces>({.name = "mx",
                                 .summary = "Modelled Myrinet interfaces under the names of PAPI's mx",
                                 .version = "1.0",
                                 .traits = kOnRequest,
                                 .detect = detect,
                                 .event_names = counting::kNamesOf<kEvents>});

Status find_event(Device* device, const char* name, uint32_t* index) noexcept {
  const Status status = kModel.find_event(device, name, index);
  if (status.ok() || status.code != Code::kNoEvent) return status;
  return {Code::kNoEvent, 0,
          "of the 98 counters of Myrinet's driver the model has RAW_SENDS, RAW_RECEIVES, BAD_CRC32, "
          "PKT_MISROUTED and PACKETS_DROPPED"};
}

constexpr SubstrateTable kTable = [] {
  SubstrateTable table = kModel;
  table.find_event = find_event;
  return table;
}();

}  // namespace

SUBSTRATA_PUBLISH(mx, kTable);
