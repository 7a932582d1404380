// The substrate "shrimp": packets, histograms and interrupts of the modelled SHRIMP performance monitors.
#include <substrata/substrate.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

#include "base/guard.hpp"
#include "counting/counting.hpp"
#include "machine.hpp"
#include "rack.hpp"

namespace {

using namespace substrata;
using shrimp::kEveryNode;
using shrimp::rack;

enum QualifierIndex : size_t { kNode, kLatency, kSize, kSender, kCategory, kTag };

constexpr monitor::Qualifier kQualifiers[] = {
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
constexpr monitor::EventDescription kEvents[] = {
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
};
static_assert(std::size(kEvents) - kFirstPlain == uint32_t{shrimp::kCounts} - uint32_t{shrimp::kLatencySum});

// Makes the boards take packets in while an eventset runs.
class Boards final : public monitor::Instrument {
 public:
  Status begin() noexcept override { return rack().begin(); }
  void end() noexcept override { rack().end(); }
};

// The packed mask and value of what a request's qualifiers ask for.
struct Filter {
  uint32_t node;
  uint64_t mask;
  uint64_t value;
};
Filter filter_of(const monitor::Request& request) noexcept {
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

class ShrimpMonitor final : public monitor::Monitor {
 public:
  explicit ShrimpMonitor(const Host*) : Monitor(kEvents, kQualifiers) {}

  // What each set was programmed with, for arm.
  void remember(Set* set, const uint32_t* events, uint32_t count) {
    const std::lock_guard guard(mutex_);
    programmed_[set].assign(events, events + count);
  }
  void forget(Set* set) {
    const std::lock_guard guard(mutex_);
    programmed_.erase(set);
  }
  Status event_of(Set* set, uint32_t position, uint32_t* event) {
    const std::lock_guard guard(mutex_);
    const auto found = programmed_.find(set);
    if (found == programmed_.end() || position >= found->second.size())
      return {Code::kNoEvent, 0, "the eventset has no event at this position"};
    *event = found->second[position];
    return kSuccess;
  }

 protected:
  Status bind(const monitor::Request& request, monitor::Binding* out) override {
    const Filter filter = filter_of(request);
    const monitor::Counter* counter = nullptr;
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
    return kSuccess;
  }

 private:
  Boards boards_;
  std::mutex mutex_;
  std::unordered_map<Set*, std::vector<uint32_t>> programmed_;
};

// A set belongs to the counting module; its monitor is kept here, since the module's slots do not report it.
struct Sets {
  std::mutex mutex;
  std::unordered_map<Set*, ShrimpMonitor*> monitors;
};
Sets& sets() {
  static Sets* const all = new Sets;
  return *all;
}
ShrimpMonitor* monitor_of(Set* set) noexcept {
  const std::lock_guard guard(sets().mutex);
  const auto found = sets().monitors.find(set);
  return found == sets().monitors.end() ? nullptr : found->second;
}

Status create_set(Device* device, Thread* thread, Set** out) noexcept {
  Set* made = nullptr;
  if (const Status refused = monitor::create_set(device, thread, &made); !refused.ok()) return refused;
  const Status entered = guarded([&] {
    const std::lock_guard guard(sets().mutex);
    sets().monitors[made] = static_cast<ShrimpMonitor*>(reinterpret_cast<monitor::Monitor*>(device));
    return kSuccess;
  });
  if (entered.ok())
    *out = made;
  else
    monitor::destroy_set(made);
  return entered;
}

void destroy_set(Set* set) noexcept {
  rack().forget(set);
  if (ShrimpMonitor* const monitor = monitor_of(set)) monitor->forget(set);
  {
    const std::lock_guard guard(sets().mutex);
    sets().monitors.erase(set);
  }
  monitor::destroy_set(set);
}

Status program(Set* set, const uint32_t* events, uint32_t count) noexcept {
  if (const Status refused = monitor::program(set, events, count); !refused.ok()) return refused;
  return guarded([&] {
    if (ShrimpMonitor* const monitor = monitor_of(set)) monitor->remember(set, events, count);
    return kSuccess;
  });
}

Status start(Set* set) noexcept {
  if (const Status refused = monitor::start(set); !refused.ok()) return refused;
  rack().set_running(set, true);
  return kSuccess;
}

Status stop(Set* set) noexcept {
  const Status stopped = monitor::stop(set);
  rack().set_running(set, false);
  return stopped;
}

Status arm(Set* set, uint32_t position, int64_t threshold, uint32_t, const SampleSink* sink) noexcept {
  ShrimpMonitor* const monitor = monitor_of(set);
  if (monitor == nullptr) return {Code::kInvalid, 0, "the eventset is not one of this substrate"};
  if (threshold < 0 || static_cast<uint64_t>(threshold) > shrimp::kWordMost)
    return {Code::kInvalid, 0, "the threshold register has 40 bits, as the histogram's words"};
  return guarded([&]() -> Status {
    uint32_t event = 0;
    if (const Status refused = monitor->event_of(set, position, &event); !refused.ok()) return refused;
    monitor::Request request;
    if (const Status refused = monitor->request_at(event, &request); !refused.ok()) return refused;
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

constexpr SubstrateTable kTable = monitor::table<ShrimpMonitor>(
    {.name = "shrimp",
     .summary =
         "The modelled SHRIMP multicomputer's performance monitors: packets by latency, size, sender, tag",
     .version = "1",
     .traits = kHardwareInterrupt,
     .create_set = create_set,
     .destroy_set = destroy_set,
     .program = program,
     .start = start,
     .stop = stop,
     .arm = arm,
     .disarm = disarm,
     .event_names = monitor::kNamesOf<kEvents>});

// Here, beside the entry point that the library always holds.
SUBSTRATA_AT_LOAD void announce() { shrimp::announce_machine(); }

}  // namespace

SUBSTRATA_PUBLISH(shrimp, kTable);
