// Walks requests through buses, network caches, rings and memories, one step at a time.
#include "model.hpp"

#include <substrata/feed.hpp>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <stdexcept>

#include "traffic.hpp"

namespace substrata::numachine {
namespace {

// Slots of a probe point's ring: all rings together stay in a core's second cache, most in its first.
constexpr std::uint32_t kRing = 128;
constexpr std::uint64_t kLinePackets = 9;  // a header and 64 bytes on a bus of 8 bytes

std::uint16_t command_of(Want want) noexcept {
  switch (want) {
    case Want::kRead:
      return kCommandRead | kCommandCacheLine;
    case Want::kExclusive:
      return kCommandReadExclusive | kCommandCacheLine;
    case Want::kUpgrade:
      return kCommandUpgrade;
    case Want::kUpdate:
      break;
  }
  return kCommandUpdate;
}

RequestType type_of(Want want) noexcept {
  switch (want) {
    case Want::kRead:
      return RequestType::kRead;
    case Want::kExclusive:
      return RequestType::kReadExclusive;
    case Want::kUpgrade:
    case Want::kUpdate:
      break;
  }
  return RequestType::kUpdate;
}

std::uint16_t kind_of(Want want) noexcept {
  switch (want) {
    case Want::kRead:
      return SUBSTRATA_READ;
    case Want::kExclusive:
      return SUBSTRATA_READ_EXCLUSIVE;
    case Want::kUpgrade:
      return SUBSTRATA_UPGRADE;
    case Want::kUpdate:
      break;
  }
  return SUBSTRATA_UPDATE;
}

bool is_valid_state(BlockState state) noexcept {
  return state == BlockState::kLocalValid || state == BlockState::kGlobalValid;
}
bool is_global_state(BlockState state) noexcept {
  return state == BlockState::kGlobalValid || state == BlockState::kGlobalInvalid;
}

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
      c.phase = c.card->phase();
      c.profile.assign(protocol_.shape().cache_lines, 0);
    }
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
    for (Cpu& c : cpus_) c.bus.close();
    for (Station& s : stations_) s.memory.close();
    rack_.vacate();
    throw;
  }
}

Model::~Model() {
  for (Cpu& c : cpus_) c.bus.close();
  for (Station& s : stations_) s.memory.close();
  rack_.vacate();
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
  }
}

// Table 4.1, what the 40 bits of the address register hold: station and physical address. More than 16
// stations share station numbers, as the field has four bits.
std::uint64_t Model::bus_address(std::uint64_t line, std::uint32_t cpu) const noexcept {
  const std::uint32_t home = protocol_.home_of(line);
  return pack(BusAddress{.source_mask = static_cast<std::uint8_t>(1U << (cpus_[cpu].station % 8)),
                         .processor = static_cast<std::uint8_t>(cpu % p_.shape.per_station),
                         .phase = static_cast<std::uint8_t>(cpus_[cpu].phase & 0xfU),
                         .destination_mask = 0,
                         .station = static_cast<std::uint8_t>(home & 0xfU),
                         .magic = 0,
                         .reserved = 0,
                         .physical = static_cast<std::uint32_t>((line * p_.shape.line_bytes) & 0x0fffffffU)});
}

// ------------------------------------------------------------------------------------------------ processors

void Model::charge(Cpu& c, Pipeline state, std::uint64_t cycles) {
  if (cycles == 0) return;
  c.truth.pipeline[static_cast<unsigned>(state)] += cycles;
  if (c.card->enabled()) c.card->pipeline(state, cycles);
}

// Brings what the inner loop counted to the card, before anything changes that gates its counters.
void Model::flush(Cpu& c) {
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
  substrata_transaction* const slot = c.bus.reserve();
  if (slot == nullptr) {
    flush(c);
    c.stalled = c.apparent = 0;
    return;
  }
  const std::uint64_t instructions = c.loads + c.stores + c.computed + c.branches;
  *slot = {};
  slot->time = now;
  slot->start = c.apparent;
  slot->address = pair(c.loads, c.stores);
  slot->detail = pair(instructions, c.stalled);
  slot->initiator = cpu;
  slot->kind = SUBSTRATA_INSTRUCTIONS;
  slot->program = program_;
  slot->phase = c.phase;
  slot->flags = SUBSTRATA_FLAG_MODELLED;
  c.bus.commit();
  ++published_;
  flush(c);
  c.stalled = c.apparent = 0;
}

void Model::set_phase(std::uint32_t cpu, std::uint16_t phase, Time now) {
  Cpu& c = cpus_[cpu];
  flush_instructions(c, cpu, now);
  c.card->at(cycle(now));
  c.card->set_phase(phase);
  c.phase = phase;
}

void Model::branch(std::uint32_t cpu, bool mispredicted, Time& now) {
  Cpu& c = cpus_[cpu];
  ++c.branches;
  now += p_.processor_ps;
  if (!mispredicted) return;
  // The instruction in the delay slot of a wrongly predicted branch is killed (state D).
  flush(c);
  ++c.truth.branches_mispredicted;
  charge(c, Pipeline::kBranchDelayKilled, 1);
  c.stalled += 1;
  now += p_.processor_ps;
}

void Model::settle(Time now) {
  for (std::uint32_t cpu = 0; cpu < cpus_.size(); ++cpu) {
    Cpu& c = cpus_[cpu];
    flush_instructions(c, cpu, now);
    probe_invalidation(c, now);
    c.card->at(cycle(now));
  }
  for (std::uint32_t station = 0; station < stations_.size(); ++station) {
    apply_changes(station, now);
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
  const std::uint64_t first = line * p_.shape.line_bytes >> primary_shift_;
  const std::uint64_t count = std::max<std::uint64_t>(1, p_.shape.line_bytes >> primary_shift_);
  for (std::uint64_t own = first; own < first + count; ++own) {
    std::uint64_t* const entry = &c.primary[(own & primary_mask_) * 2];
    if (entry[0] != own) continue;
    entry[1] = kNoPrimary;
    if (!only_writable) entry[0] = kNoPrimary;
  }
}

bool Model::step(std::uint32_t cpu, std::uint64_t address, unsigned size, bool write, bool fetch,
                 std::uint64_t site, Time& now) {
  Cpu& c = cpus_[cpu];
  if (c.stage == Stage::kIdle) {
    if (c.debt != 0) {
      charge(c, Pipeline::kMultiprocessorStall, c.debt);
      c.stalled += c.debt;
      now += c.debt * p_.processor_ps;
      c.debt = 0;
    }
    // An access that crosses lines is worked on line by line; it is one instruction.
    const std::uint64_t first = (address + c.offset) >> line_shift_;
    c.line = first;
    c.address = std::max(address, first << line_shift_);
    c.is_write = write;
    c.is_fetch = fetch;
    c.site = site;
    if (c.offset == 0 && !fetch) {
      slip(c, write, now);
      write ? ++c.stores : ++c.loads;
      now += p_.processor_ps;
    }
    if (!look_up(cpu, now)) return false;
  } else {
    switch (c.stage) {
      case Stage::kIssue:
        issue(cpu, now);
        return false;
      case Stage::kNetworkCache:
        at_network_cache(cpu, now);
        return false;
      case Stage::kHome:
        at_home(cpu, now);
        return false;
      case Stage::kDone:
        if (!complete(cpu, now)) return false;
        break;
      case Stage::kIdle:
        break;
    }
  }
  const std::uint64_t next = ((c.address >> line_shift_) + 1) << line_shift_;
  if (next < address + std::max(1U, size)) {
    c.offset = next - address;
    return false;
  }
  c.offset = 0;
  return true;
}

// The secondary cache. True: it served the access. Else a request is being made.
bool Model::look_up(std::uint32_t cpu, Time& now) {
  Cpu& c = cpus_[cpu];
  if (c.probe_at != 0 && c.probe_at <= now) probe_invalidation(c, now);
  // In a split cache the upper half is the instructions'; the model keeps the line's number apart for it.
  if (p_.split) {
    const std::uint64_t half = protocol_.shape().cache_lines / 2;
    c.line = c.line / half * 2 * half + c.line % half + (c.is_fetch ? half : 0);
  }
  const std::uint64_t index = protocol_.index_of(c.line);
  const Found found = protocol_.find(cpu, c.line, c.is_write);
  const bool valid = protocol_.state_at(cpu, index) != CacheState::kInvalid;
  c.hit_estimate.access(static_cast<std::uint32_t>(index), valid);
  c.miss_estimate.access(static_cast<std::uint32_t>(index), valid);
  ++c.truth.primary_misses;
  const bool missed = found == Found::kInvalidation || found == Found::kOther;
  if (c.card->enabled()) {
    flush(c);
    c.card->at(cycle(now));
    c.card->secondary_access(static_cast<std::uint32_t>(index), c.is_write, missed);
  }
  if (found == Found::kHit) {
    const Pipeline state = c.is_fetch ? Pipeline::kInstructionCacheStall : Pipeline::kDataCacheStall;
    charge(c, state, p_.secondary_stall);
    c.stalled += p_.secondary_stall;
    now += p_.secondary_stall * p_.processor_ps;
    if (!p_.split && !c.is_fetch)
      fill_primary(c, c.address, c.is_write || protocol_.find(cpu, c.line, true) == Found::kHit);
    return true;
  }
  c.type = found == Found::kOwnership      ? MissType::kOwnershipSuccessful
           : found == Found::kInvalidation ? MissType::kInvalidation
                                           : MissType::kOther;
  const bool update = p_.shape.update;
  c.want = !c.is_write || (update && found != Found::kOwnership) ? Want::kRead
           : found == Found::kOwnership                          ? (update ? Want::kUpdate : Want::kUpgrade)
                                                                 : Want::kExclusive;
  // Its next steps will look at these.
  const LineProfile& line = profile_of(c.line);
  __builtin_prefetch(&line, 1);
  __builtin_prefetch(reinterpret_cast<const char*>(&line) + sizeof line / 2, 1);
  __builtin_prefetch(&c.profile[index], 1);
  rack_.memory(protocol_.home_of(c.line)).expect(protocol_.page_of(c.line), c.station);
  flush_instructions(c, cpu, now);
  c.missed_estimate = false;
  if (c.want == Want::kRead || c.want == Want::kExclusive) {
    c.missed_estimate = c.miss_estimate.read(static_cast<std::uint32_t>(index));
    if (c.missed_estimate) ++c.truth.invalidation_misses_estimated;
  } else {
    c.miss_estimate.write();
  }
  now = whole_cycle(now);
  c.issued = now;
  c.nacks = 0;
  c.bus_wait = c.bus_busy = 0;
  if (c.card->enabled()) {
    c.card->at(cycle(now));
    c.card->raise(CounterEvent::kMostRecent);
    if (c.want == Want::kRead) c.card->raise(CounterEvent::kRead);
    if (c.want == Want::kExclusive) c.card->raise(CounterEvent::kReadExclusive);
    if (c.want == Want::kRead || c.want == Want::kExclusive) c.card->raise(CounterEvent::kReadOrExclusive);
    if (c.missed_estimate) c.card->raise(CounterEvent::kInvalidationMiss);
    c.card->request(command_of(c.want), bus_address(c.line, cpu));
  }
  c.stage = Stage::kIssue;
  return false;
}

// -------------------------------------------------------------------------------------------------- requests

Time Model::take_bus(std::uint32_t station, Time now, Time earliest, std::uint64_t cycles, Cpu& c) {
  Station& s = stations_[station];
  const Time asked = whole_cycle(earliest);
  const Time start = s.bus.reserve(now, asked, cycles * p_.bus_ps);
  s.bus_busy += cycles;
  c.bus_busy += static_cast<std::uint32_t>(cycles);
  c.bus_wait += static_cast<std::uint32_t>((start - asked) / p_.bus_ps);
  return start;
}

// Links are slots that move on each cycle; a packet waits until its first link is free, and holds each link
// on its way for a cycle.
Time Model::over_ring(std::uint32_t from, std::uint32_t to, Time now, Time earliest, std::uint64_t packets,
                      std::uint64_t* waited) {
  const std::uint32_t per_ring = p_.stations_per_ring;
  const std::uint32_t places = per_ring + 1;
  const std::uint32_t rings = (p_.shape.stations + per_ring - 1) / per_ring;
  Time at = whole_cycle(earliest) + p_.ring_interface_cycles * p_.bus_ps;
  const auto travel = [&](std::size_t first, std::uint32_t size, std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t place = begin; place != end; place = (place + 1) % size) {
      const Time start = links_[first + place].reserve(now, at, packets * p_.bus_ps);
      if (waited != nullptr) *waited += (start - at) / p_.bus_ps;
      at = start + p_.bus_ps;
    }
  };
  const std::uint32_t ring = from / per_ring;
  const std::uint32_t other = to / per_ring;
  if (ring == other) {
    travel(std::size_t{ring} * places, places, from % per_ring, to % per_ring);
  } else {
    travel(std::size_t{ring} * places, places, from % per_ring, per_ring);
    travel(std::size_t{rings} * places, rings, ring, other);
    travel(std::size_t{other} * places, places, per_ring, to % per_ring);
  }
  return at + (packets - 1 + p_.ring_interface_cycles) * p_.bus_ps;
}

void Model::issue(std::uint32_t cpu, Time& now) {
  Cpu& c = cpus_[cpu];
  const Time start = take_bus(c.station, now, now, 1, c);
  if (c.card->enabled()) {
    c.card->at(cycle(now));
    if (start != now) {
      c.card->raise(CounterEvent::kBusRequest);
      c.card->at(cycle(start));
      c.card->lower(CounterEvent::kBusRequest);
    } else {
      c.card->pulse(CounterEvent::kBusRequest);  // granted in the cycle it is asked for
    }
  }
  c.stage = protocol_.home_of(c.line) == c.station ? Stage::kHome : Stage::kNetworkCache;
  now = start + (1 + p_.fifo_cycles) * p_.bus_ps;
}

// A cancelled ownership miss: the copy was taken away before ownership was reached (section 3.3.2). The
// request goes on as a read exclusive.
bool Model::check_ownership(Cpu& c, std::uint32_t cpu) {
  if (c.want != Want::kUpgrade || protocol_.holds(cpu, c.line)) return false;
  c.want = Want::kExclusive;
  c.type = MissType::kOwnershipCancelled;
  return true;
}

void Model::refuse(std::uint32_t cpu, Time returned, Time& now) {
  Cpu& c = cpus_[cpu];
  ++c.nacks;
  ++profile_of(c.line).nacks;
  const Time back = take_bus(c.station, now, returned, 1, c) + p_.bus_ps;
  if (c.nacks == 1) c.first_retry = back;
  if (c.card->enabled()) {
    c.card->at(cycle(back));
    c.card->packet(static_cast<std::uint16_t>(command_of(c.want) | kCommandNack | kCommandResponse),
                   bus_address(c.line, cpu), false);
    c.card->pulse(CounterEvent::kNackRetry);
    c.card->raise(CounterEvent::kNackCycles);
  }
  c.stage = Stage::kIssue;
  now = back + p_.retry_cycles * p_.bus_ps;
  if ((now - c.issued) / p_.bus_ps >= kTimeoutCycles) {
    // Bus error: the processor takes an exception and starts the access again.
    if (c.type == MissType::kOwnershipSuccessful) ++c.truth.ownership_unsuccessful;
    c.issued = now;
  }
}

void Model::at_network_cache(std::uint32_t cpu, Time& now) {
  Cpu& c = cpus_[cpu];
  Station& s = stations_[c.station];
  const Time looked =
      s.network_cache.reserve(now, now, p_.lookup_cycles * p_.bus_ps) + p_.lookup_cycles * p_.bus_ps;
  // A line that a processor of this station requests from its home is locked.
  const std::uint32_t first = c.station * p_.shape.per_station;
  for (std::uint32_t other = first; other < first + p_.shape.per_station; ++other) {
    if (other != cpu && cpus_[other].stage == Stage::kHome && cpus_[other].line == c.line) {
      refuse(cpu, looked, now);
      return;
    }
  }
  check_ownership(c, cpu);
  const Step step = protocol_.at_network_cache(cpu, c.line, c.want);
  if (!step.served) {
    std::uint64_t waited = 0;
    now = over_ring(c.station, protocol_.home_of(c.line), now, looked, 1, &waited);
    stations_[protocol_.home_of(c.line)].queue_cycles += waited;
    c.stage = Stage::kHome;
    return;
  }
  c.met = step.met;
  c.response_state = static_cast<std::uint8_t>(
      kResponseNetworkCache | kResponseRemote | (is_global_state(step.met) ? kResponseGlobal : 0) |
      (is_valid_state(step.met) ? kResponseValid : 0) | (c.want == Want::kRead ? 0 : kResponseExclusive));
  after_step(step, cpu, now);
  Time done = looked;
  if (step.owner >= 0) {
    done = take_bus(c.station, now, done, 1, c) + (1 + p_.intervention_cycles) * p_.bus_ps;
  } else if (step.data) {
    done += p_.memory_cycles * p_.bus_ps;
  }
  const std::uint64_t packets = step.data ? kLinePackets : 1;
  done = take_bus(c.station, now, done, packets, c) + packets * p_.bus_ps;
  c.stage = Stage::kDone;
  now = done;
}

void Model::change_fifo(std::uint32_t station, const FifoChange& change) {
  auto& changes = stations_[station].changes;
  changes.push_back(change);
  // Those of one time stay in the order in which they were made.
  for (std::size_t i = changes.size() - 1; i > 0 && changes[i - 1].at <= change.at; --i)
    std::swap(changes[i - 1], changes[i]);
}

void Model::apply_changes(std::uint32_t station, Time upto) {
  auto& changes = stations_[station].changes;
  MemoryCard& memory = rack_.memory(station);
  while (!changes.empty() && changes.back().at <= upto) {
    const FifoChange change = changes.back();
    changes.pop_back();
    (change.outgoing ? memory.outgoing : memory.incoming)
        .change(cycle(change.at), change.transactions, change.packets);
  }
}

void Model::at_home(std::uint32_t cpu, Time& now) {
  Cpu& c = cpus_[cpu];
  const std::uint32_t home = protocol_.home_of(c.line);
  Station& s = stations_[home];
  Protocol::Block& block = protocol_.block(c.line);
  const bool remote = home != c.station;
  std::uint64_t ring_waited = 0;
  if (block.locked_until > now) {
    Time returned = now + p_.lookup_cycles * p_.bus_ps;
    if (remote) returned = over_ring(home, c.station, now, returned, 1, &ring_waited);
    s.queue_cycles += ring_waited;
    refuse(cpu, returned, now);
    return;
  }
  check_ownership(c, cpu);
  const Time arrived = whole_cycle(now);
  const Time begun = std::max(arrived, s.memory_free);
  const std::uint64_t waited = (begun - arrived) / p_.bus_ps;
  MemoryCard& card = rack_.memory(home);
  const Step step = protocol_.at_home(cpu, c.line, c.want);
  const bool from_memory = step.data && step.owner < 0 && step.owner_station < 0;
  const std::uint64_t service = p_.lookup_cycles + (from_memory ? p_.memory_cycles : 0);
  Time ready = begun + service * p_.bus_ps;
  s.memory_free = ready;
  apply_changes(home, now);
  change_fifo(home, {arrived, 1, 1, false});
  change_fifo(home, {begun + p_.bus_ps, -1, -1, false});
  ++s.requests;
  s.queue_cycles += waited;
  card.hit(step.met, type_of(c.want));
  card.page_use(protocol_.page_of(c.line), c.station);
  {
    LineProfile& line = profile_of(c.line);
    line.queue_cycles += waited;
  }
  c.met = step.met;
  c.response_state = static_cast<std::uint8_t>(
      (remote ? kResponseRemote : 0) | (is_global_state(step.met) ? kResponseGlobal : 0) |
      (is_valid_state(step.met) ? kResponseValid : 0) | (c.want == Want::kRead ? 0 : kResponseExclusive));
  after_step(step, cpu, now);

  // Where the data or the acknowledgement starts its way back.
  std::uint32_t from = home;
  const std::uint64_t packets = step.data ? kLinePackets : 1;
  if (step.owner_station >= 0) {
    const auto owner_station = static_cast<std::uint32_t>(step.owner_station);
    ready = over_ring(home, owner_station, now, ready, 1, &ring_waited) + p_.lookup_cycles * p_.bus_ps;
    if (step.owner >= 0) {
      ready = take_bus(owner_station, now, ready, 1, c) + (1 + p_.intervention_cycles) * p_.bus_ps;
      ready = take_bus(owner_station, now, ready, kLinePackets, c) + kLinePackets * p_.bus_ps;
    } else {
      ready += p_.memory_cycles * p_.bus_ps;
    }
    from = owner_station;
  } else if (step.owner >= 0) {
    ready = take_bus(home, now, ready, 1, c) + (1 + p_.intervention_cycles) * p_.bus_ps;
    ready = take_bus(home, now, ready, kLinePackets, c) + kLinePackets * p_.bus_ps;
  }
  // Sequential consistency: ownership only when every copy is gone, an update only when every copy has it.
  Time agreed = begun + p_.lookup_cycles * p_.bus_ps;
  for (std::uint32_t other = 0; other < p_.shape.stations; ++other) {
    if (((step.stations >> other) & 1U) == 0) continue;
    const Time there = over_ring(home, other, now, begun + p_.lookup_cycles * p_.bus_ps, 1, &ring_waited);
    agreed = std::max(agreed, take_bus(other, now, there, 1, c) + p_.bus_ps);
  }
  if (c.want != Want::kRead && is_global_state(step.met) == false && !protocol_.deliveries().empty())
    agreed = std::max(agreed, take_bus(home, now, agreed, 1, c) + p_.bus_ps);
  ready = std::max(ready, agreed);
  change_fifo(home, {ready, 1, static_cast<std::int8_t>(packets), true});
  Time done = ready;
  if (from != c.station) done = over_ring(from, c.station, now, ready, packets, &ring_waited);
  change_fifo(home, {std::max(ready + p_.bus_ps, ready), -1,
                     static_cast<std::int8_t>(-static_cast<int>(packets)), true});
  done = take_bus(c.station, now, done, packets, c) + packets * p_.bus_ps;
  // Until other stations have answered, memory can serve no other request for this block.
  const bool long_way = step.owner_station >= 0 || step.owner >= 0 || step.stations != 0;
  protocol_.block(c.line).locked_until = long_way ? done : begun + service * p_.bus_ps;
  s.queue_cycles += ring_waited;
  if (substrata_transaction* const slot = s.memory.reserve(); slot != nullptr) {
    *slot = {};
    slot->time = now;
    slot->address = c.line * p_.shape.line_bytes;
    slot->detail = pair(waited, ring_waited);
    slot->initiator = cpu;
    slot->target = home;
    slot->size = static_cast<std::uint32_t>(p_.shape.line_bytes);
    slot->kind = kind_of(c.want);
    slot->state = feed_state(step.met);
    slot->program = program_;
    slot->phase = c.phase;
    slot->flags = SUBSTRATA_FLAG_MODELLED;
    s.memory.commit();
    ++published_;
  }
  c.stage = Stage::kDone;
  now = done;
}

// What a protocol step means to others than the requester, and to its own caches.
void Model::after_step(const Step& step, std::uint32_t cpu, Time now) {
  Cpu& c = cpus_[cpu];
  if (step.owner >= 0) {
    Cpu& owner = cpus_[static_cast<std::uint32_t>(step.owner)];
    drop_primary(owner, c.line, true);
    owner.debt += p_.snoop_stall;
  }
  for (const Delivery& delivery : protocol_.deliveries()) deliver(delivery, cpu, now);
  if (step.evicted != Protocol::kNoLine) {
    drop_primary(c, step.evicted, false);
    if (step.evicted_dirty) {
      ++c.truth.write_backs;
      c.miss_estimate.write();
      // It follows the request out of the processor and takes bus and memory, but nothing waits for it.
      const std::uint32_t home = protocol_.home_of(step.evicted);
      take_bus(c.station, now, now, kLinePackets, c);
      if (home == c.station) {
        MemoryCard& card = rack_.memory(home);
        card.hit(BlockState::kLocalInvalid, RequestType::kWriteBack);
      } else if (protocol_.network_state(c.station, step.evicted) == BlockState::kNotIn) {
        over_ring(c.station, home, now, now, kLinePackets, nullptr);
        rack_.memory(home).hit(BlockState::kGlobalInvalid, RequestType::kWriteBack);
      }
      if (c.card->enabled()) {
        c.card->at(cycle(now));
        c.card->packet(kCommandWriteBack | kCommandCacheLine | kCommandData, bus_address(step.evicted, cpu),
                       true);
      }
      if (substrata_transaction* const slot = c.bus.reserve(); slot != nullptr) {
        *slot = {};
        slot->time = now;
        slot->address = step.evicted * p_.shape.line_bytes;
        slot->initiator = cpu;
        slot->target = home;
        slot->size = static_cast<std::uint32_t>(p_.shape.line_bytes);
        slot->kind = SUBSTRATA_WRITE_BACK;
        slot->state = SUBSTRATA_DIRTY;
        slot->program = program_;
        slot->phase = c.phase;
        slot->flags = SUBSTRATA_FLAG_MODELLED;
        c.bus.commit();
        ++published_;
      }
    }
  }
  if (step.network_evicted != Protocol::kNoLine) {
    const std::uint32_t home = protocol_.home_of(step.network_evicted);
    over_ring(c.station, home, now, now, kLinePackets, nullptr);
    rack_.memory(home).hit(BlockState::kGlobalInvalid, RequestType::kWriteBack);
  }
}

void Model::deliver(const Delivery& delivery, std::uint32_t by, Time now) {
  Cpu& c = cpus_[delivery.cpu];
  const bool update = cpus_[by].want == Want::kUpdate;
  if (delivery.hit) {
    if (!update) drop_primary(c, delivery.line, false);
    c.debt += p_.snoop_stall;
  }
  if (update) return;
  const std::uint64_t index = protocol_.index_of(delivery.line);
  if (c.probe_at != 0) probe_invalidation(c, now);
  c.hit_estimate.external_invalidate(static_cast<std::uint32_t>(index));
  // Served some time within the window; when, is scattered.
  scatter_ = scatter_ * 6364136223846793005U + 1442695040888963407U;
  c.probe_at = now + 1 + (scatter_ >> 33) % (p_.invalidate_window + 1) * p_.processor_ps;
  c.probe_index = index;
  c.probe_valid = delivery.hit;
  if (delivery.hit) {
    ++c.truth.invalidation_hits;
    ++profile_of(delivery.line).invalidations;
  }
  if (c.card->enabled()) {
    flush(c);
    c.card->at(cycle(now));
    c.card->packet(kCommandInvalidate, bus_address(delivery.line, by), false);
  }
  if (substrata_transaction* const slot = c.bus.reserve(); slot != nullptr) {
    *slot = {};
    slot->time = now;
    slot->address = delivery.line * p_.shape.line_bytes;
    slot->initiator = by;
    slot->target = protocol_.home_of(delivery.line);
    slot->size = static_cast<std::uint32_t>(p_.shape.line_bytes);
    slot->kind = SUBSTRATA_INVALIDATE;
    slot->state = delivery.hit ? SUBSTRATA_HIT : SUBSTRATA_MISS;
    slot->program = program_;
    slot->phase = c.phase;
    slot->flags = SUBSTRATA_FLAG_MODELLED;
    c.bus.commit();
    ++published_;
  }
}

// The processor probes its secondary cache for an invalidation. What the line was is what the protocol found
// when the invalidation was ordered; another line may have come to its place since, and then it is that one's
// state.
void Model::probe_invalidation(Cpu& c, Time now) {
  if (c.probe_at == 0) return;
  c.probe_at = 0;
  const auto index = static_cast<std::uint32_t>(c.probe_index);
  const auto cpu = static_cast<std::uint32_t>(&c - cpus_.data());
  const bool other_valid = protocol_.state_at(cpu, c.probe_index) != CacheState::kInvalid;
  c.hit_estimate.access(index, c.probe_valid || other_valid);
  if (!c.probe_valid || !c.hit_estimate.made_invalid(index)) return;
  ++c.truth.invalidation_hits_estimated;
  if (c.card->enabled()) {
    c.card->at(cycle(now));
    c.card->pulse(CounterEvent::kInvalidationHit);
  }
}

void Model::profile_miss(const Cpu& c, std::uint32_t cpu) {
  LineProfile& line = profile_of(c.line);
  switch (c.type) {
    case MissType::kOwnershipSuccessful:
    case MissType::kOwnershipCancelled:
      ++line.ownership_misses;
      break;
    case MissType::kInvalidation:
      ++line.invalidation_misses;
      break;
    case MissType::kOther:
      ++line.other_misses;
      break;
  }
  const std::uint64_t who = std::uint64_t{1} << (cpu % 64);
  line.writes += c.is_write ? 1 : 0;
  (c.is_write ? line.writers : line.readers) |= who;
  line.words[(c.address & (p_.shape.line_bytes - 1)) * line.words.size() >> line_shift_] |= who;
}

LineProfile& Model::profile_of(std::uint64_t line) {
  Protocol::Block& block = protocol_.block(line);
  if (block.profile < 0) {
    block.profile = static_cast<std::int32_t>(lines_.size());
    lines_.emplace_back();
    lines_.back().line = line;
  }
  return lines_[static_cast<std::size_t>(block.profile)];
}

void Model::publish_request(Cpu& c, std::uint32_t cpu, Time now, std::uint32_t latency) {
  substrata_transaction response{};
  response.time = now;
  response.start = c.issued;
  response.address = c.address;
  response.site = c.site;
  response.detail = pack(RequestDetail{
      .latency = latency,
      .nacks = c.nacks,
      .type = c.type,
      .response_state = c.response_state,
      .bus_wait = c.bus_wait,
      .bus_busy = c.bus_busy,
      .nack_cycles = c.nacks == 0 ? 0U : static_cast<std::uint32_t>((now - c.first_retry) / p_.bus_ps)});
  response.initiator = cpu;
  response.target = protocol_.home_of(c.line);
  response.size = static_cast<std::uint32_t>(p_.shape.line_bytes);
  response.kind = kind_of(c.want);
  response.state = feed_state(c.met);
  response.program = program_;
  response.phase = c.phase;
  response.flags = SUBSTRATA_FLAG_MODELLED;
  if (substrata_transaction* const slot = c.bus.reserve(); slot != nullptr) {
    *slot = response;
    c.bus.commit();
    ++published_;
  }
  if (informer_.handler != nullptr && c.type != MissType::kOwnershipSuccessful &&
      (informer_.trigger == nullptr || informer_.trigger(informer_.owner, cpu, response))) {
    ++c.truth.informed;
    c.computed += p_.informing_cycles;
    informer_.handler(informer_.owner, cpu, response);
  }
}

void Model::handle_interrupt(Cpu& c, Time& now) {
  // Instructions in the pipeline are killed, and it refills (item 4 of table 4.10).
  ++c.truth.exceptions;
  charge(c, Pipeline::kExceptionKilled, p_.exception_cycles);
  charge(c, Pipeline::kOtherStall, p_.restart_cycles);
  c.truth.restart_cycles += p_.restart_cycles;
  c.stalled += p_.exception_cycles + p_.restart_cycles;
  now += (p_.exception_cycles + p_.restart_cycles) * p_.processor_ps;
}

bool Model::complete(std::uint32_t cpu, Time& now) {
  Cpu& c = cpus_[cpu];
  Truth& t = c.truth;
  const auto latency = static_cast<std::uint32_t>((now - c.issued) / p_.bus_ps);
  const bool pending_before = c.card->pending_interrupts() != 0;
  if (c.card->enabled()) {
    c.card->at(cycle(now));
    for (const CounterEvent event :
         {CounterEvent::kMostRecent, CounterEvent::kRead, CounterEvent::kReadExclusive,
          CounterEvent::kReadOrExclusive, CounterEvent::kInvalidationMiss, CounterEvent::kNackCycles}) {
      c.card->lower(event);
    }
    c.card->response(
        static_cast<std::uint16_t>(command_of(c.want) | kCommandResponse |
                                   (c.want == Want::kRead || c.want == Want::kExclusive ? kCommandData : 0)),
        bus_address(c.line, cpu), c.type, c.response_state);
    if (c.type == MissType::kOwnershipSuccessful) c.card->charge(CounterEvent::kOwnershipSuccessful, latency);
    if (c.type == MissType::kOwnershipCancelled) c.card->charge(CounterEvent::kOwnershipCancelled, latency);
  }
  profile_miss(c, cpu);
  if (c.type == MissType::kOther) ++c.profile[protocol_.index_of(c.line)];
  ++t.misses[static_cast<unsigned>(c.type)];
  t.miss_cycles[static_cast<unsigned>(c.type)] += latency;
  switch (c.want) {
    case Want::kRead:
      ++t.reads;
      t.read_cycles += latency;
      break;
    case Want::kExclusive:
      ++t.read_exclusives;
      t.read_exclusive_cycles += latency;
      break;
    case Want::kUpgrade:
      ++t.upgrades;
      break;
    case Want::kUpdate:
      ++t.updates;
      break;
  }
  t.nacks += c.nacks;
  if (c.nacks != 0) {
    ++t.nacked_requests;
    t.nack_cycles += (now - c.first_retry) / p_.bus_ps;
  }
  t.bus_wait_cycles += c.bus_wait;
  ++((c.response_state & kResponseRemote) != 0 ? t.remote : t.local);
  if ((c.response_state & kResponseNetworkCache) != 0) ++t.network_cache_hits;
  ++t.responses[c.response_state & 0x1fU];
  // The processor stalls until the response, less what it could do meanwhile.
  const std::uint64_t whole = (now - c.issued) / p_.processor_ps;
  const std::uint64_t hidden =
      c.want == Want::kRead ? std::min(whole, p_.overlap_cycles * p_.bus_ps / p_.processor_ps) : 0;
  t.whole_miss_cycles += whole;
  t.apparent_miss_cycles += whole - hidden;
  charge(c, Pipeline::kSecondaryStall, whole - hidden);
  c.stalled += whole - hidden;
  c.apparent += whole - hidden;
  c.credit = hidden;
  publish_request(c, cpu, now, latency);
  c.stage = Stage::kIdle;
  if (!pending_before && c.card->pending_interrupts() != 0) handle_interrupt(c, now);
  if (c.is_write && c.want == Want::kRead) {
    // Update protocol: the line is there now, its new value must go to everybody.
    look_up(cpu, now);
    return false;
  }
  if (!p_.split && !c.is_fetch)
    fill_primary(c, c.address, c.want == Want::kExclusive || c.want == Want::kUpgrade);
  return true;
}

}  // namespace substrata::numachine
