// The machine's parts, and what its processors have counted.
#include "numachine/model.hpp"

#include <substrata/feed.hpp>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <stdexcept>

#include "numachine/traffic.hpp"

namespace substrata::numachine {
namespace {

// Slots of a probe point's ring: all rings together stay in a core's second cache, most in its first.
constexpr std::uint32_t kRing = 128;
ProtocolShape shape_of(const Parameters& p) {
  ProtocolShape shape = p.shape;
  // A split cache gives each half to one kind (section 4.2).
  shape.cache_lines = p.cache_bytes / shape.line_bytes;
  shape.network_lines = p.network_bytes / shape.line_bytes;
  return shape;
}

}  // namespace

Time Calendar::reserve(Time now, Time earliest, Time length) {
  // Most often all that was taken is over, or lies before what is asked for.
  if (!taken_.empty() && taken_.back().second <= now) taken_.clear();
  if (taken_.empty() || (taken_.back().second <= earliest && taken_.size() < kMostTaken)) {
    taken_.emplace_back(earliest, earliest + length);
    return earliest;
  }
  auto first = taken_.begin();
  while (first != taken_.end() && first->second <= now) ++first;
  taken_.erase(taken_.begin(), first);
  Time start = earliest;
  auto at = taken_.begin();
  for (; at != taken_.end(); ++at) {
    if (start + length <= at->first) break;
    start = std::max(start, at->second);
  }
  taken_.insert(at, {start, start + length});
  return start;
}

Model::Model(const Parameters& parameters, std::uint16_t program)
    : p_(parameters), program_(program), rack_(Rack::instance()), protocol_(shape_of(parameters)) {
  if (!rack_.occupy()) {
    throw std::runtime_error(
        "another NUMAchine runs in this process, and its monitors' cards are there once; let it end first");
  }
  try {
    base_cycle_ = rack_.cycle() + 1;
    if (p_.warm) protocol_.warm_up();
    line_shift_ = static_cast<unsigned>(std::countr_zero(p_.shape.line_bytes));
    primary_shift_ = static_cast<unsigned>(std::countr_zero(p_.primary_line));
    primary_mask_ = p_.primary_bytes / p_.primary_line - 1;
    cpus_.resize(protocol_.processors());
    for (std::uint32_t cpu = 0; cpu < cpus_.size(); ++cpu) {
      Cpu& c = cpus_[cpu];
      c.primary.assign((primary_mask_ + 1) * 2, kNoPrimary);
      c.station = protocol_.station_of(cpu);
      c.card = &rack_.processor(cpu);
      c.card->set_cache_lines(protocol_.shape().cache_lines);
      c.phase = c.card->phase();
      c.interrupts = c.card->interrupts();
      c.profile.assign(protocol_.shape().cache_lines, 0);
      c.miss_estimate = InvalidationMissEstimate(p_.waits_for_writes);
    }
    if (p_.execution.any()) executions_.assign(cpus_.size(), Execution(p_.execution));
    lines_.reserve(std::size_t{1} << 16);
    stations_.resize(p_.shape.stations);
    // One place on a ring for each station and one for the way up; the last ring connects the others.
    const std::uint32_t rings = (p_.shape.stations + p_.stations_per_ring - 1) / p_.stations_per_ring;
    links_.resize(std::size_t{rings} * (p_.stations_per_ring + 1) + rings);
    open_probes();
    if (rack_.informer().handler != nullptr) {
      informer_ = {.trigger =
                       [](void* owner, std::uint32_t cpu, const substrata_transaction& response) {
                         const auto& own = *static_cast<Rack::Informer*>(owner);
                         return own.trigger == nullptr || own.trigger(own.owner, cpu, &response) != 0;
                       },
                   .handler =
                       [](void* owner, std::uint32_t cpu, const substrata_transaction& response) {
                         const auto& own = *static_cast<Rack::Informer*>(owner);
                         if (own.handler != nullptr) own.handler(own.owner, cpu, &response);
                       },
                   .owner = &rack_.informer()};
    }
  } catch (...) {
    close_probes();
    rack_.vacate();
    throw;
  }
}

Model::~Model() {
  close_probes();
  rack_.vacate();
}

void Model::close_probes() {
  for (Cpu& c : cpus_) c.bus.close();
  for (Station& s : stations_) {
    s.memory.close();
    s.bus_trace.close();
  }
}

void Model::open_probes() {
  const auto open = [](const char* name, const char* text, client::feed::Publisher* out) {
    client::feed::demand(kSource.try_publisher(name, text, kRing, out));
  };
  char name[64];
  for (std::uint32_t cpu = 0; cpu < cpus_.size(); ++cpu) {
    std::snprintf(name, sizeof name, "numachine.st%u.cpu%u.bus", cpus_[cpu].station,
                  cpu % p_.shape.per_station);
    open(name,
         "requests of one processor at their response, invalidations that reach it, its instructions in "
         "between; initiator: the processor, of an invalidation who caused it; target: the home station",
         &cpus_[cpu].bus);
  }
  for (std::uint32_t station = 0; station < stations_.size(); ++station) {
    std::snprintf(name, sizeof name, "numachine.st%u.memory", station);
    open(name, "requests as they meet a block of this memory; initiator: the processor, target: the station",
         &stations_[station].memory);
    if (!p_.traces_buses) continue;
    std::snprintf(name, sizeof name, "numachine.st%u.bus", station);
    open(name,
         "what has the station's bus, at its grant (start: when it was asked for); detail: packets, command "
         "in the "
         "upper half; initiator: the processor whose request it belongs to, target: the home station",
         &stations_[station].bus_trace);
  }
}

// Table 4.1. More than 16 stations share station numbers, more than eight a bit of a mask, as the fields have four
// and eight bits.
std::uint64_t Model::bus_address(std::uint64_t line, std::uint32_t cpu) const noexcept {
  const std::uint32_t home = protocol_.home_of(line);
  return pack(BusAddress{.source_mask = static_cast<std::uint8_t>(1U << (cpus_[cpu].station % 8)),
                         .processor = static_cast<std::uint8_t>(cpu % p_.shape.per_station),
                         .phase = static_cast<std::uint8_t>(cpus_[cpu].phase & kTravellingPhase),
                         .destination_mask = static_cast<std::uint8_t>(1U << (home % 8)),
                         .station = static_cast<std::uint8_t>(home & 0xfU),
                         .magic = 0,
                         .reserved = 0,
                         .physical = static_cast<std::uint32_t>(
                             (Protocol::physical(line) * p_.shape.line_bytes) & 0x0fffffffU)});
}

void Model::charge(Cpu& c, Pipeline state, std::uint64_t cycles) {
  if (cycles == 0) return;
  c.truth.pipeline[static_cast<unsigned>(state)] += cycles;
  if (c.card->enabled()) c.card->pipeline(state, cycles);
}

// Brings what the inner loop counted to the card, before anything changes that gates its counters.
void Model::flush(Cpu& c) {
  Cpu::Unpublished& u = c.unpublished;
  u.any = true;
  u.loads += c.loads;
  u.stores += c.stores;
  u.instructions += c.loads + c.stores + c.computed + c.branches;
  charge_instructions(c);
}

void Model::charge_instructions(Cpu& c) {
  c.truth.loads += c.loads;
  c.truth.stores += c.stores;
  charge(c, Pipeline::kLoad, c.loads);
  charge(c, Pipeline::kStore, c.stores);
  charge(c, Pipeline::kOtherInteger, c.computed);
  charge(c, Pipeline::kBranchTaken, c.branches);
  charge(c, Pipeline::kIntegerSlip, c.slips);
  c.slips = 0;
  c.loads = c.stores = c.computed = c.branches = 0;
}

// What was not hidden by the time of the next miss was lost after all.
void Model::end_overlap(Cpu& c) {
  if (c.credit == 0) return;
  c.truth.apparent_miss_cycles += c.credit;
  c.apparent += c.credit;
  c.stalled += c.credit;
  charge(c, Pipeline::kSecondaryStall, c.credit);
  c.credit = 0;
}

void Model::flush_instructions(Cpu& c, std::uint32_t cpu, Time now) {
  charge_secondary_hits(c);
  end_overlap(c);
  if (substrata_transaction* const slot = c.bus.reserve(); slot != nullptr) {
    *slot = {};
    slot->time = now;
    slot->start = c.apparent;
    slot->address = pair(c.loads, c.stores);
    slot->detail = pair(c.loads + c.stores + c.computed + c.branches, c.stalled);
    slot->initiator = cpu;
    slot->kind = SUBSTRATA_INSTRUCTIONS;
    slot->program = program_;
    slot->phase = c.phase;
    slot->flags = SUBSTRATA_FLAG_MODELLED;
    if (c.unpublished.any) [[unlikely]]
      add_unpublished(c, *slot);
    c.bus.commit();
    ++published_;
  }
  charge_instructions(c);
  if (c.unpublished.any) [[unlikely]]
    c.unpublished = {};
  c.stalled = c.apparent = 0;
}

void Model::add_unpublished(const Cpu& c, substrata_transaction& instructions) noexcept {
  const Cpu::Unpublished& u = c.unpublished;
  instructions.address = pair(c.loads + u.loads, c.stores + u.stores);
  instructions.detail = pair(c.loads + c.stores + c.computed + c.branches + u.instructions, c.stalled);
  instructions.site = pair(u.branches, u.tlb_cycles);
  instructions.target = static_cast<std::uint32_t>(low_of(pair(u.mispredicted, 0)));
  instructions.size = static_cast<std::uint32_t>(low_of(pair(u.tlb_misses, 0)));
}

void Model::set_phase(std::uint32_t cpu, std::uint16_t phase, Time now) {
  Cpu& c = cpus_[cpu];
  flush_instructions(c, cpu, now);
  bring_card(c, now);
  c.card->set_phase(phase);
  c.phase = phase;
}

// A phase that the program wrote into its card's register, or by a profiling store (section 4.4.1).
void Model::follow_phase(Cpu& c, std::uint32_t cpu, Time now) {
  const std::uint16_t phase = c.card->phase();
  if (phase == c.phase) [[likely]]
    return;
  flush_instructions(c, cpu, now);
  c.phase = phase;
}

void Model::branch(std::uint32_t cpu, bool mispredicted, Time& now) {
  Cpu& c = cpus_[cpu];
  ++c.branches;
  ++c.truth.branches;
  ++c.unpublished.branches;
  c.unpublished.any = true;
  now += p_.processor_ps;
  if (!mispredicted) return;
  // The instruction in the delay slot of a wrongly predicted branch is killed (state D).
  flush(c);
  ++c.truth.branches_mispredicted;
  ++c.unpublished.mispredicted;
  charge(c, Pipeline::kBranchDelayKilled, 1);
  c.stalled += 1;
  now += p_.processor_ps;
}

void Model::settle(Time now) {
  for (std::uint32_t cpu = 0; cpu < cpus_.size(); ++cpu) {
    Cpu& c = cpus_[cpu];
    flush_instructions(c, cpu, now);
    probe_invalidation(c, now);
    bring_card(c, now);
  }
  for (std::uint32_t station = 0; station < stations_.size(); ++station) {
    apply_changes(station, now);
    if (p_.traces_buses) publish_traced(stations_[station], now);
    MemoryCard& memory = rack_.memory(station);
    for (FifoDepth* fifo : {&memory.incoming.packets, &memory.incoming.transactions, &memory.outgoing.packets,
                            &memory.outgoing.transactions}) {
      fifo->until(cycle(now));
    }
  }
  rack_.set_cycle(std::max(rack_.cycle(), cycle(now)));
}

// The primary cache holds a subset of the secondary one (inclusion, section 4.1).
void Model::drop_primary(Cpu& c, std::uint64_t line, bool only_writable) noexcept {
  if ((line & kInstructionLine) != 0) return;  // the primary cache of data is modelled
  const std::uint64_t first = line * p_.shape.line_bytes >> primary_shift_;
  const std::uint64_t count = std::max<std::uint64_t>(1, p_.shape.line_bytes >> primary_shift_);
  for (std::uint64_t own = first; own < first + count; ++own) {
    std::uint64_t* const entry = &c.primary[(own & primary_mask_) * 2];
    if (entry[0] != own) continue;
    entry[1] = kNoPrimary;
    if (!only_writable) entry[0] = kNoPrimary;
  }
}

}  // namespace substrata::numachine
