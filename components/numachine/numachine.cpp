// The substrate "numachine": what the monitors of the modelled machine count, as events.
#include <substrata/substrate.h>

#include <iterator>
#include <new>
#include <vector>

#include "counting/counting.hpp"
#include "instrument.hpp"
#include "live.hpp"
#include "machine.hpp"

namespace {

using namespace substrata;
using numachine::Instrument;
using numachine::Selection;

enum QualifierIndex : size_t { kCpu, kStation, kPhase, kAddress, kNumber };

constexpr monitor::Qualifier kQualifiers[] = {
    {"cpu", "one processor; absent: all together (GPC: processor 0)", 0, numachine::kMostProcessors - 1},
    {"station", "the processors, or the memory, of one station; absent: all", 0,
     numachine::kMostStations - 1},
    {"phase", "one phase (PhaseID, a region's number); absent: all", 0, 65535},
    {"addr", "addresses LO-HI in bytes; absent: all", 0, ~uint64_t{0}, true},
    {"n", "which general-purpose counter; absent: 0", 0, 3},
};
constexpr uint64_t kWhere = 1U << kCpu | 1U << kStation | 1U << kPhase;
constexpr uint64_t kWhereAndWhat = kWhere | 1U << kAddress;

constexpr monitor::EventDescription event(const char* name, const char* text, const char* unit,
                                          uint64_t qualifiers = kWhereAndWhat) {
  return {.name = name, .text = text, .unit = unit, .qualifiers = qualifiers};
}

// In the order of numachine::Count, then GPC.
constexpr monitor::EventDescription kEvents[] = {
    event("READS", "Cache line reads, at their response.", "requests"),
    event("READ_EXCLUSIVES", "Cache line reads with ownership, at their response.", "requests"),
    event("UPGRADES", "Requests for ownership without data (invalidate protocol).", "requests"),
    event("UPDATES", "Writes sent to all holders of a line (update protocol).", "requests"),
    event("OWNERSHIP_MISSES", "Writes to present data that lacked ownership and got it.", "misses"),
    event("OWNERSHIP_MISSES_CANCELLED",
          "Ownership misses that lost their copy to another processor's request first.", "misses"),
    event("INVALIDATION_MISSES", "Misses on lines that were invalidated from outside and not replaced since.",
          "misses"),
    event("OTHER_MISSES", "Compulsory, capacity and conflict misses.", "misses"),
    event("MISS_CYCLES", "Bus cycles from requests to their responses, all kinds.", "cycles"),
    event("OWNERSHIP_MISS_CYCLES", "Bus cycles of successful ownership misses.", "cycles"),
    event("INVALIDATION_MISS_CYCLES", "Bus cycles of invalidation misses.", "cycles"),
    event("INVALIDATIONS", "Invalidations from outside that reached processors.", "invalidations"),
    event("INVALIDATION_HITS", "Those that found the line.", "invalidations"),
    event("NACKS", "Negative acknowledgements; a request may get several.", "responses"),
    event("NACKED_REQUESTS", "Requests with at least one negative acknowledgement.", "requests"),
    event("NACK_CYCLES", "Bus cycles from the first retry to the response.", "cycles"),
    event("BUS_BUSY", "Bus cycles that requests and their responses took on station buses.", "cycles"),
    event("BUS_WAIT_CYCLES", "Bus cycles that they waited for a grant.", "cycles"),
    event("WRITE_BACKS", "Dirty lines that processors gave up.", "lines"),
    event("LOCAL", "Requests for memory of the processor's own station.", "requests"),
    event("REMOTE", "Requests for another station's memory.", "requests"),
    event("NETWORK_CACHE_HITS", "Remote requests that the station's network cache served.", "requests"),
    event("INSTRUCTIONS", "Instructions: accesses, and one for each cycle of computation.", "instructions",
          kWhere),
    event("LOADS", "Load instructions.", "instructions", kWhere),
    event("STORES", "Store instructions.", "instructions", kWhere),
    event("STALL_CYCLES", "Processor cycles without an instruction: caches, memory, snoops, exceptions.",
          "cycles", kWhere),
    event("APPARENT_MISS_CYCLES", "Processor cycles lost to misses after what computation hid of them.",
          "cycles", kWhere),
    event("MEMORY_REQUESTS", "Requests that memories served.", "requests"),
    event("MEMORY_QUEUE_CYCLES", "Bus cycles that requests waited for a busy memory.", "cycles"),
    event("RING_QUEUE_CYCLES", "Bus cycles that packets of those requests waited for a free slot on a ring.",
          "cycles"),
    event("QUEUE_CYCLES", "Both together.", "cycles"),
    event("HITS_LV", "Requests that met their block at memory in state local valid.", "requests"),
    event("HITS_LI", "... in state local invalid: a processor of the home station has it dirty.", "requests"),
    event("HITS_GV", "... in state global valid.", "requests"),
    event("HITS_GI", "... in state global invalid: another station has it dirty.", "requests"),
    {.name = "GPC",
     .text = "A general-purpose counter of a processor card, as its registers configure it.",
     .unit = "",
     .kind = ValueKind::kGauge,
     .width_bits = 32,
     .qualifiers = 1U << kCpu | 1U << kNumber},
};
static_assert(std::size(kEvents) == numachine::kCounts + 1);

class NumachineMonitor final : public monitor::Monitor {
 public:
  explicit NumachineMonitor(const Host*) : Monitor(kEvents, kQualifiers) {}
  Instrument& instrument() noexcept { return instrument_; }
  // The counter of an event of the catalogue; null for a gauge.
  const monitor::Counter* counter_at(uint32_t index) {
    monitor::Request request;
    if (!request_at(index, &request).ok() || request.event == numachine::kCounts) return nullptr;
    return &instrument_.counters(selection_of(request))[request.event];
  }

 protected:
  Status bind(const monitor::Request& request, monitor::Binding* out) override {
    if (request.event == numachine::kCounts) {
      out->counters = {
          &numachine::Rack::instance().counter(static_cast<uint32_t>(request.value_or(kCpu, 0)),
                                               static_cast<unsigned>(request.value_or(kNumber, 0)))};
      return kSuccess;
    }
    out->counters = {&instrument_.counters(selection_of(request))[request.event]};
    out->instrument = &instrument_;
    return kSuccess;
  }

 private:
  static Selection selection_of(const monitor::Request& request) {
    Selection selection;
    const auto& q = request.qualifiers;
    if (q[kCpu].given) selection.cpu = static_cast<int64_t>(q[kCpu].low);
    if (q[kStation].given) selection.station = static_cast<int64_t>(q[kStation].low);
    if (q[kPhase].given) selection.phase = static_cast<int64_t>(q[kPhase].low);
    if (q[kAddress].given) {
      selection.low = q[kAddress].low;
      selection.high = q[kAddress].high;
    }
    return selection;
  }

  Instrument instrument_;
};

NumachineMonitor& monitor_of(Device* device) noexcept { return *reinterpret_cast<NumachineMonitor*>(device); }

// An eventset: the monitor room's, with the list of its events for alarms.
struct NumachineSet {
  NumachineMonitor* monitor;
  Set* counting;
  std::vector<uint32_t> events;
};
NumachineSet& set_of(Set* set) noexcept { return *reinterpret_cast<NumachineSet*>(set); }

Status create_set(Device* device, Thread* thread, Set** out) noexcept {
  auto* const set = new (std::nothrow) NumachineSet{&monitor_of(device), nullptr, {}};
  if (set == nullptr) return {Code::kNoMemory, 0, "no memory for the eventset"};
  if (const Status refused = monitor::create_set(device, thread, &set->counting); !refused.ok()) {
    delete set;
    return refused;
  }
  *out = reinterpret_cast<Set*>(set);
  return kSuccess;
}

void destroy_set(Set* set) noexcept {
  NumachineSet* const self = &set_of(set);
  self->monitor->instrument().remove_alarms(self, ~uint64_t{0});
  monitor::destroy_set(self->counting);
  delete self;
}

Status program(Set* set, const uint32_t* events, uint32_t count) noexcept {
  NumachineSet& self = set_of(set);
  try {
    std::vector<uint32_t> wanted(events, events + count);
    if (const Status refused = monitor::program(self.counting, events, count); !refused.ok()) return refused;
    self.monitor->instrument().remove_alarms(&self, ~uint64_t{0});
    self.events.swap(wanted);
    return kSuccess;
  } catch (...) {
    return {Code::kNoMemory, 0, "no memory for the eventset"};
  }
}

Status start(Set* set) noexcept {
  NumachineSet& self = set_of(set);
  numachine::drain_live();
  if (const Status refused = monitor::start(self.counting); !refused.ok()) return refused;
  self.monitor->instrument().run_alarms(&self, true);
  return kSuccess;
}

Status stop(Set* set) noexcept {
  NumachineSet& self = set_of(set);
  numachine::drain_live();
  const Status stopped = monitor::stop(self.counting);
  self.monitor->instrument().run_alarms(&self, false);
  return stopped;
}

Status read(Set* set, int64_t* values) noexcept {
  numachine::drain_live();
  return monitor::read(set_of(set).counting, values);
}

Status reset(Set* set) noexcept {
  numachine::drain_live();
  return monitor::reset(set_of(set).counting);
}

Status write(Set* set, const int64_t* values) noexcept {
  numachine::drain_live();
  return monitor::write(set_of(set).counting, values);
}

Status arm(Set* set, uint32_t position, int64_t threshold, uint32_t, const SampleSink* sink) noexcept {
  NumachineSet& self = set_of(set);
  if (position >= self.events.size() || position >= 64 || threshold <= 0 || sink == nullptr)
    return {Code::kInvalid, 0, "the event or the threshold for the counter interrupt is out of range"};
  try {
    const monitor::Counter* const counter = self.monitor->counter_at(self.events[position]);
    if (counter == nullptr)
      return {
          Code::kInvalid, 0,
          "GPC is a register and not a count; preload it and enable its interrupt by substrata/numachine.h"};
    self.monitor->instrument().add_alarm({.counter = counter,
                                          .threshold = static_cast<uint64_t>(threshold),
                                          .next = counter->value() + static_cast<uint64_t>(threshold),
                                          .mask = uint64_t{1} << position,
                                          .sink = *sink,
                                          .owner = &self,
                                          .running = false});
    return kSuccess;
  } catch (...) {
    return {Code::kNoMemory, 0, "no memory for the counter interrupt"};
  }
}

Status disarm(Set* set, uint32_t position) noexcept {
  NumachineSet& self = set_of(set);
  if (position >= 64) return {Code::kInvalid, 0, "there is no such event in the set"};
  self.monitor->instrument().remove_alarms(&self, uint64_t{1} << position);
  return kSuccess;
}

constexpr SubstrateTable kTable = monitor::table<NumachineMonitor>(
    {.name = "numachine",
     .summary = "The performance monitors of a modelled NUMAchine multiprocessor",
     .version = "1",
     .traits = kHardwareInterrupt,
     .create_set = create_set,
     .destroy_set = destroy_set,
     .program = program,
     .start = start,
     .stop = stop,
     .read = read,
     .reset = reset,
     .write = write,
     .arm = arm,
     .disarm = disarm});

}  // namespace

SUBSTRATA_PUBLISH(numachine, kTable);
