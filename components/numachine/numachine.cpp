// The substrate "numachine": what the monitors of the modelled machine count, as events.
#include <substrata/substrate.h>

#include <iterator>
#include <memory>

#include "base/guard.hpp"
#include "models/counting/counting.hpp"
#include "numachine/instrument.hpp"
#include "numachine/live.hpp"
#include "numachine/machine.hpp"

namespace {

using namespace substrata;
using numachine::Instrument;
using numachine::Selection;

enum QualifierIndex : size_t { kCpu, kStation, kPhase, kAddress, kNumber };

constexpr counting::Qualifier kQualifiers[] = {
    {"cpu", "one processor; absent: all together (GPC: processor 0)", 0, numachine::kMostProcessors - 1},
    {"station", "the processors, or the memory, of one station; absent: all", 0,
     numachine::kMostStations - 1},
    {"phase", "one phase (PhaseID, a region's number); absent: all", 0, 65535},
    {"addr", "addresses LO-HI in bytes; absent: all", 0, ~uint64_t{0}, true},
    {"n", "which general-purpose counter; absent: 0", 0, 3},
};
constexpr uint64_t kWhere = 1U << kCpu | 1U << kStation | 1U << kPhase;
constexpr uint64_t kWhereAndWhat = kWhere | 1U << kAddress;

constexpr counting::EventDescription event(const char* name, const char* text, const char* unit,
                                           uint64_t qualifiers = kWhereAndWhat) {
  return {.name = name, .text = text, .unit = unit, .qualifiers = qualifiers};
}

// In the order of numachine::Count, then GPC.
constexpr counting::EventDescription kEvents[] = {
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
    event("TLB_MISSES", "Accesses to pages that the processor's TLB did not map (parameter tlb).", "misses",
          kWhere),
    event("TLB_CYCLES", "Processor cycles from these to the access: exception and handler.", "cycles",
          kWhere),
    event("BRANCHES", "Branches that a followed program published.", "instructions", kWhere),
    event("BRANCHES_MISPREDICTED",
          "Those mispredicted, by the program's word or the predictor's (parameter predictor).",
          "instructions", kWhere),
    event("UNCACHED_READS",
          "Words read from data that are not cached (parameters uncached_from, uncached_to).", "requests"),
    event("UNCACHED_WRITES", "Words written to such data.", "requests"),
    event("UNCACHED_CYCLES", "Bus cycles from those reads to their responses.", "cycles"),
    {.name = "GPC",
     .text = "A general-purpose counter of a processor card, as its registers configure it.",
     .unit = "",
     .kind = ValueKind::kGauge,
     .width_bits = 32,
     .qualifiers = 1U << kCpu | 1U << kNumber},
};
static_assert(std::size(kEvents) == numachine::kCounts + 1);

class NumachineMonitor final : public counting::Monitor {
 public:
  explicit NumachineMonitor(const Host*) : Monitor(kEvents, kQualifiers) {}
  Instrument& instrument() noexcept { return instrument_; }
  // The counter of an event of the catalogue; null for a gauge.
  const counting::Counter* counter_at(uint32_t index) {
    counting::Request request;
    if (!request_at(index, &request).ok() || request.event == numachine::kCounts) return nullptr;
    return &instrument_.counters(selection_of(request))[request.event];
  }

  std::unique_ptr<counting::CountingSet> make_set() override;

 protected:
  Status bind(const counting::Request& request, counting::Binding* out) override {
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
  static Selection selection_of(const counting::Request& request) {
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

// A set with counter interrupts, which the instrument keeps by the set.
class NumachineSet final : public counting::CountingSet {
 public:
  using CountingSet::CountingSet;
  ~NumachineSet() override { instrument().remove_alarms(this, ~uint64_t{0}); }

  NumachineMonitor& owner() const noexcept { return static_cast<NumachineMonitor&>(monitor()); }
  Instrument& instrument() const noexcept { return owner().instrument(); }

 protected:
  void catch_up() noexcept override { numachine::drain_live(); }
  void after_program() noexcept override { instrument().remove_alarms(this, ~uint64_t{0}); }
  void after_switch(bool running) noexcept override { instrument().run_alarms(this, running); }
};
NumachineSet& set_of(Set* set) noexcept { return counting::set_of<NumachineSet>(set); }

std::unique_ptr<counting::CountingSet> NumachineMonitor::make_set() {
  return std::make_unique<NumachineSet>(*this);
}

Status arm(Set* set, uint32_t position, int64_t threshold, uint32_t, const SampleSink* sink) noexcept {
  NumachineSet& self = set_of(set);
  if (position >= self.programmed().size() || position >= 64 || threshold <= 0 || sink == nullptr)
    return {Code::kInvalid, 0, "the event or the threshold for the counter interrupt is out of range"};
  return guarded([&]() -> Status {
    const counting::Counter* const counter = self.owner().counter_at(self.programmed()[position]);
    if (counter == nullptr)
      return {
          Code::kInvalid, 0,
          "GPC is a register and not a count; preload it and enable its interrupt by substrata/numachine.h"};
    self.instrument().add_alarm({.counter = counter,
                                 .threshold = static_cast<uint64_t>(threshold),
                                 .next = counter->value() + static_cast<uint64_t>(threshold),
                                 .mask = uint64_t{1} << position,
                                 .sink = *sink,
                                 .owner = &self,
                                 .running = false});
    return kSuccess;
  });
}

Status disarm(Set* set, uint32_t position) noexcept {
  NumachineSet& self = set_of(set);
  if (position >= 64) return {Code::kInvalid, 0, "there is no such event in the set"};
  self.instrument().remove_alarms(&self, uint64_t{1} << position);
  return kSuccess;
}

constexpr SubstrateTable kTable = counting::table<NumachineMonitor, kEvents>(
    {.name = "numachine",
     .summary = "The performance monitors of a modelled NUMAchine multiprocessor",
     .traits = kHardwareInterrupt,
     .arm = arm,
     .disarm = disarm});

}  // namespace

SUBSTRATA_PUBLISH(numachine, kTable);
