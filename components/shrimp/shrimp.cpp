// The substrate "shrimp": packets, histograms and interrupts of the modelled SHRIMP performance monitors.
#include <substrata/substrate.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <new>

#include "base/guard.hpp"
#include "models/counting/counting.hpp"
#include "shrimp/machine.hpp"
#include "shrimp/rack.hpp"

namespace {

using namespace substrata;
using shrimp::kEveryNode;
using shrimp::rack;

enum QualifierIndex : size_t { kNode, kLatency, kSize, kSender, kCategory, kTag };

constexpr counting::Qualifier kQualifiers[] = {
    {"node", "the receiving node; absent: all", 0, shrimp::kNodes - 1},
    {"latency", "20 bits, 100 ns before the shift; absent: all", 0, 0xfffff},
    {"size", "bytes, 12 bits; absent: all", 0, 0xfff},
    {"sender", "the sending node; absent: all", 0, 0xff},
    {"category", "the category register, 4 bits; absent: all", 0, 0xf},
    {"tag", "the page's tag, 4 bits; absent: all", 0, 0xf},
};
constexpr uint64_t bit(size_t qualifier) { return uint64_t{1} << qualifier; }
constexpr uint64_t kOfPackets = bit(kNode) | bit(kSender) | bit(kCategory) | bit(kTag);
constexpr uint64_t kOfBins = kOfPackets | bit(kLatency) | bit(kSize);
constexpr uint32_t kFlags = kEventModelled | kEventScopeNode;

enum EventIndex : uint32_t { kPackets, kBytes, kBin, kFirstPlain };
// Behind BIN in the order of shrimp::Count.
constexpr counting::EventDescription kEvents[] = {
    {"PACKETS", "Packets that arrived while the monitor ran.", "packets", ValueKind::kCount, 64, kFlags,
     kOfPackets},
    {"BYTES", "Their bytes.", "bytes", ValueKind::kCount, 64, kFlags, kOfPackets},
    {"BIN", "Increments of the histogram's words that match, at the resolution of the multiplexer.",
     "packets", ValueKind::kBin, 64, kFlags, kOfBins},
    {"LATENCY_SUM", "Sum of the packets' latencies, unshifted and unlimited.", "100 ns", ValueKind::kCount,
     64, kFlags, bit(kNode)},
    {"INTERRUPTS", "Increments that went above the threshold.", "interrupts", ValueKind::kCount, 64, kFlags,
     bit(kNode)},
    {"TRACE_ENTRIES", "Entries written to the trace.", "entries", ValueKind::kCount, 64, kFlags, bit(kNode)},
    {"COMMANDS", "Commands carried out, local and remote ones.", "commands", ValueKind::kCount, 64, kFlags,
     bit(kNode)},
    {"LOST", "Trace entries lost to a full memory, and packets to nodes without a monitor.", "packets",
     ValueKind::kCount, 64, kFlags, bit(kNode)},
    {"EISA_USES", "Uses of the EISA bus: bursts out of memory, packets into it, commands of its processor.",
     "uses", ValueKind::kCount, 64, kFlags, bit(kNode)},
    {"EISA_BYTES", "Bytes that these moved.", "bytes", ValueKind::kCount, 64, kFlags, bit(kNode)},
    {"EISA_BUSY", "Time in which the EISA bus was used, arbitration included.", "ps", ValueKind::kCount, 64,
     kFlags, bit(kNode)},
    {"EISA_WAIT", "Time that uses of the EISA bus waited for it, summed.", "ps", ValueKind::kCount, 64,
     kFlags, bit(kNode)},
};
static_assert(std::size(kEvents) - kFirstPlain == uint32_t{shrimp::kCounts} - uint32_t{shrimp::kLatencySum});

// Makes the boards take packets in while an eventset runs.
class Boards final : public counting::Instrument {
 public:
  Status begin() noexcept override { return rack().begin(); }
  void end() noexcept override { rack().end(); }
};

// Makes the uses of the EISA buses counted.
class Buses final : public counting::Instrument {
 public:
  Status begin() noexcept override { return rack().begin_buses(); }
  void end() noexcept override { rack().end_buses(); }
};

// The packed mask and value of what a request's qualifiers ask for.
struct Filter {
  uint32_t node;
  uint64_t mask;
  uint64_t value;
};
Filter filter_of(const counting::Request& request) noexcept {
  const auto wanted = [&](size_t qualifier) { return request.qualifiers[qualifier]; };
  const auto part = [&](size_t qualifier, uint64_t whole) -> uint64_t {
    return wanted(qualifier).given ? whole : 0;
  };
  const auto value = [&](size_t qualifier) -> uint64_t { return wanted(qualifier).low; };
  const auto packed = [](uint64_t latency, uint64_t size, uint64_t sender, uint64_t tag, uint64_t category) {
    return shrimp::pack({static_cast<uint32_t>(latency), static_cast<uint16_t>(size),
                         static_cast<uint8_t>(sender), static_cast<uint8_t>(tag),
                         static_cast<uint8_t>(category)});
  };
  return {wanted(kNode).given ? static_cast<uint32_t>(value(kNode)) : kEveryNode,
          packed(part(kLatency, 0xfffff), part(kSize, 0xfff), part(kSender, 0xff), part(kTag, 0xf),
                 part(kCategory, 0xf)),
          packed(value(kLatency), value(kSize), value(kSender), value(kTag), value(kCategory))};
}

// Its armed events are the rack's, by the set's handle.
class ShrimpSet final : public counting::CountingSet {
 public:
  using CountingSet::CountingSet;
  ~ShrimpSet() override { rack().forget(handle()); }

 protected:
  void after_switch(bool running) noexcept override { rack().set_running(handle(), running); }
};

class ShrimpMonitor final : public counting::Monitor {
 public:
  explicit ShrimpMonitor(const Host*) : Monitor(kEvents, kQualifiers) {}

  std::unique_ptr<counting::CountingSet> make_set() override { return std::make_unique<ShrimpSet>(*this); }

 protected:
  Status bind(const counting::Request& request, counting::Binding* out) override {
    const Filter filter = filter_of(request);
    const counting::Counter* counter = nullptr;
    if (request.event == kBin || filter.mask != 0) {
      const shrimp::Watch& watch =
          rack().watch(filter.node, request.event == kBin, filter.mask, filter.value);
      counter = request.event == kBytes ? &watch.bytes : &watch.packets;
    } else {
      const auto which =
          request.event == kPackets ? shrimp::kPackets
          : request.event == kBytes
              ? shrimp::kBytes
              : static_cast<shrimp::Count>(request.event - kFirstPlain + uint32_t{shrimp::kLatencySum});
      counter = &rack().counter(filter.node, which);
    }
    out->counters = {counter};
    out->instrument = &boards_;
    if (request.event >= kFirstBus) out->instrument = &buses_;
    return kSuccess;
  }

 private:
  static constexpr uint32_t kFirstBus =
      kFirstPlain + (uint32_t{shrimp::kBusUses} - uint32_t{shrimp::kLatencySum});
  Boards boards_;
  Buses buses_;
};

Status arm(Set* set, uint32_t position, int64_t threshold, uint32_t, const SampleSink* sink) noexcept {
  const counting::CountingSet& self = counting::set_of(set);
  if (threshold < 0 || static_cast<uint64_t>(threshold) > shrimp::kWordMost)
    return {Code::kInvalid, 0, "the threshold register has 40 bits, as the histogram's words"};
  if (position >= self.programmed().size())
    return {Code::kNoEvent, 0, "the eventset has no event at this position"};
  return guarded([&]() -> Status {
    counting::Request request;
    if (const Status refused = self.monitor().request_at(self.programmed()[position], &request);
        !refused.ok())
      return refused;
    const Filter filter = filter_of(request);
    rack().arm({.set = set,
                .position = position,
                .node = filter.node,
                .mask = filter.mask,
                .value = filter.value,
                .sink = *sink},
               static_cast<uint64_t>(threshold));
    return kSuccess;
  });
}

Status disarm(Set* set, uint32_t position) noexcept {
  rack().disarm(set, position);
  return kSuccess;
}

constexpr SubstrateTable kTable = counting::table<ShrimpMonitor, kEvents>(
    {.name = "shrimp",
     .summary =
         "The modelled SHRIMP multicomputer's performance monitors: packets by latency, size, sender, tag",
     .traits = kHardwareInterrupt,
     .arm = arm,
     .disarm = disarm});

}  // namespace

SUBSTRATA_PUBLISH(shrimp, kTable);
