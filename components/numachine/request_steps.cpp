// The steps of a request: from the secondary cache over bus, network cache and rings to its home memory.
#include <algorithm>

#include "numachine/model.hpp"
#include "numachine/requests.hpp"
#include "numachine/traffic.hpp"

namespace substrata::numachine {
namespace {

bool is_valid_state(BlockState state) noexcept {
  return state == BlockState::kLocalValid || state == BlockState::kGlobalValid;
}
bool is_global_state(BlockState state) noexcept {
  return state == BlockState::kGlobalValid || state == BlockState::kGlobalInvalid;
}

}  // namespace

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
    if (c.offset == 0 && !fetch && !c.restarts) {
      slip(c, write, now);
      write ? ++c.stores : ++c.loads;
      now += p_.processor_ps;
    }
    if (is_uncached(c.line)) [[unlikely]] {
      if (!begin_uncached(cpu, now)) return false;
    } else if (!look_up(cpu, now)) {
      return false;
    }
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
      case Stage::kUncached:
        at_memory(cpu, now);
        return false;
      case Stage::kWord:
        complete_uncached(cpu, now);
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
  follow_phase(c, cpu, now);
  c.restarts = false;
  if (p_.shape.split && c.is_fetch) c.line |= kInstructionLine;
  const std::uint64_t index = protocol_.index_of(c.line);
  const Found found = protocol_.find(cpu, c.line, c.is_write);
  ++c.truth.primary_misses;
  show_access(cpu, found, index, now);
  if (found == Found::kHit) {
    const Pipeline state = c.is_fetch ? Pipeline::kInstructionCacheStall : Pipeline::kDataCacheStall;
    charge(c, state, p_.secondary_stall);
    c.stalled += p_.secondary_stall;
    now += p_.secondary_stall * p_.processor_ps;
    if (!c.is_fetch)
      fill_primary(c, c.address, c.is_write || protocol_.find(cpu, c.line, true) == Found::kHit);
    serve_interrupts(c, now);
    return !begin_prefetch(cpu, now);
  }
  begin_request(cpu, found, index, now);
  return false;
}

// What the monitor sees of an access to the secondary cache.
void Model::show_access(std::uint32_t cpu, Found found, std::uint64_t index, Time now) {
  Cpu& c = cpus_[cpu];
  const bool valid = protocol_.state_at(cpu, index) != CacheState::kInvalid;
  c.hit_estimate.access(static_cast<std::uint32_t>(index), valid);
  c.miss_estimate.access(static_cast<std::uint32_t>(index), valid);
  if (!c.card->enabled()) return;
  flush(c);
  bring_card(c, now);
  const bool missed = found == Found::kInvalidation || found == Found::kOther;
  c.card->secondary_access(static_cast<std::uint32_t>(index), c.is_write, missed);
}

// A hint for the line behind the one that was just served, where the program gives such and the cache lacks it. Its
// request takes its time like any other; the processor computes meanwhile, while hits and further misses wait.
bool Model::begin_prefetch(std::uint32_t cpu, Time& now) {
  Cpu& c = cpus_[cpu];
  const std::uint64_t line = c.line + 1;
  if (!is_prefetched(line) || c.is_fetch || is_uncached(line)) [[likely]]
    return false;
  const Found found = protocol_.find(cpu, line, intends_store(line, true));
  if (found == Found::kHit) return false;
  ++c.truth.prefetches;
  c.prefetches = true;
  c.demanded = c.address;
  c.line = line;
  c.address = line << line_shift_;
  c.is_write = false;
  // In a bus cycle after the response, so that the monitor sees two requests.
  now += p_.processor_ps;
  const std::uint64_t index = protocol_.index_of(line);
  show_access(cpu, found, index, now);
  begin_request(cpu, found, index, now);
  return true;
}

// Only the secondary cache has the line. A refused hint is not sent again.
void Model::end_prefetch(Cpu& c, Time now) {
  if (c.is_dropped) {
    ++c.truth.prefetches_dropped;
    if (c.card->enabled()) {
      bring_card(c, now);
      lower_levels(c);
    }
    c.credit = (now - c.issued) / p_.processor_ps;
    c.truth.whole_miss_cycles += c.credit;
    c.stage = Stage::kIdle;
  }
  c.prefetches = c.is_dropped = false;
  c.address = c.demanded;
  c.line = c.address >> line_shift_;
}

// What the cache could not serve goes out.
void Model::begin_request(std::uint32_t cpu, Found found, std::uint64_t index, Time& now) {
  Cpu& c = cpus_[cpu];
  c.type = found == Found::kOwnership      ? MissType::kOwnershipSuccessful
           : found == Found::kInvalidation ? MissType::kInvalidation
                                           : MissType::kOther;
  const bool update = is_updated(c.line);
  const bool intends = !c.is_write && intends_store(c.line, c.prefetches);
  // A load finds its line without ownership only where it is a hint for one.
  c.want = intends ? (found == Found::kOwnership ? Want::kUpgrade : Want::kExclusive)
           : !c.is_write || (update && found != Found::kOwnership) ? Want::kRead
           : found == Found::kOwnership                            ? (update ? Want::kUpdate : Want::kUpgrade)
                                                                   : Want::kExclusive;
  // Its next steps will look at these.
  const LineProfile& line = profile_of(c.line);
  __builtin_prefetch(&line, 1);
  __builtin_prefetch(reinterpret_cast<const char*>(&line) + sizeof line / 2, 1);
  __builtin_prefetch(&c.profile[index], 1);
  rack_.memory(protocol_.home_of(c.line)).expect(protocol_.page_of(Protocol::physical(c.line)), c.station);
  flush_instructions(c, cpu, now);
  c.missed_estimate = false;
  if (c.write_starts > now) c.miss_estimate.write();  // it leaves between this look and the request
  if (c.want == Want::kRead || c.want == Want::kExclusive) {
    c.missed_estimate = c.miss_estimate.read(static_cast<std::uint32_t>(index));
    if (c.missed_estimate) ++c.truth.invalidation_misses_estimated;
  } else {
    c.miss_estimate.write();
  }
  now = whole_cycle(now);
  c.issued = c.exclusive_since = now;
  c.nacks = 0;
  c.was_refused = c.overtaken = c.goes_again = c.locks_network = false;
  c.bus_wait = c.bus_busy = 0;
  c.ring_wait = 0;
  c.supplier = -1;
  if (c.card->enabled()) {
    bring_card(c, now);
    c.card->raise(CounterEvent::kMostRecent);
    if (c.want == Want::kRead) c.card->raise(CounterEvent::kRead);
    if (c.want == Want::kExclusive) c.card->raise(CounterEvent::kReadExclusive);
    if (c.want == Want::kRead || c.want == Want::kExclusive) c.card->raise(CounterEvent::kReadOrExclusive);
    if (c.missed_estimate) c.card->raise(CounterEvent::kInvalidationMiss);
    c.card->request(command_of(c.want), bus_address(c.line, cpu));
  }
  c.stage = Stage::kIssue;
}

void Model::note(QueueMonitor& queue, Time now, Time asked, Time begun, std::uint64_t service,
                 std::uint16_t phase) {
  const std::uint64_t waited = (begun - asked) / p_.bus_ps;
  queue.served(waited, service, phase);
  if (waited != 0) queue.waited(cycle(now), cycle(asked), cycle(begun));
}

// Bus cycles from the time it is asked for.
Time Model::reserve_bus(std::uint32_t station, Time now, Time earliest, std::uint64_t cycles,
                        const Carried& what, std::uint64_t* waited) {
  Station& s = stations_[station];
  const Time asked = whole_cycle(earliest);
  const Time start = s.bus.reserve(now, asked, cycles * p_.bus_ps);
  s.bus_busy += cycles;
  *waited = (start - asked) / p_.bus_ps;
  note(rack_.queues(station).bus, now, asked, start, cycles, what.phase);
  if (p_.traces_buses) [[unlikely]]
    trace_bus(station, now, asked, start, cycles, what);
  return start;
}

// For a request of that processor.
Time Model::take_bus(std::uint32_t station, Time now, Time earliest, std::uint64_t cycles, Cpu& c,
                     std::uint16_t command) {
  std::uint64_t waited = 0;
  const Time start = reserve_bus(station, now, earliest, cycles, carried(c, command), &waited);
  c.bus_busy += static_cast<std::uint32_t>(cycles);
  c.bus_wait += static_cast<std::uint32_t>(waited);
  return start;
}

// Links are slots that move on each cycle; a packet waits until its first link is free, and holds each link
// on its way for a cycle.
Time Model::over_ring(std::uint32_t from, std::uint32_t to, Time now, Time earliest, std::uint64_t packets,
                      std::uint16_t phase, std::uint64_t* waited) {
  const std::uint32_t per_ring = p_.stations_per_ring;
  const std::uint32_t places = per_ring + 1;
  const std::uint32_t rings = (p_.shape.stations + per_ring - 1) / per_ring;
  Time at = whole_cycle(earliest) + p_.ring_interface_cycles * p_.bus_ps;
  const auto travel = [&](std::size_t first, std::uint32_t size, std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t place = begin; place != end; place = (place + 1) % size) {
      const Time start = links_[first + place].reserve(now, at, packets * p_.bus_ps);
      if (waited != nullptr) *waited += (start - at) / p_.bus_ps;
      // The ring that connects the others comes last, and its links belong to no station.
      if (first < std::size_t{rings} * places && place < per_ring) {
        const auto station = static_cast<std::uint32_t>(first / places * per_ring + place);
        if (station < p_.shape.stations) note(rack_.queues(station).link, now, at, start, packets, phase);
      }
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
  // What it wrote before, uncached, leaves before.
  const Time start = take_bus(c.station, now, std::max(now, c.write_left), 1, c, command_of(c.want));
  if (c.was_refused && c.nacks == 1) c.first_retry = now;
  if (c.card->enabled()) {
    bring_card(c, now);
    if (c.was_refused || c.goes_again) c.card->packet(command_of(c.want), bus_address(c.line, cpu), true);
    if (c.was_refused) {
      c.card->pulse(CounterEvent::kNackRetry);
      c.card->raise(CounterEvent::kNackCycles);
    }
    // Up in the cycle of the grant too.
    c.card->charge(CounterEvent::kBusRequest, static_cast<std::uint32_t>((start - now) / p_.bus_ps) + 1);
  }
  c.was_refused = c.goes_again = false;
  c.stage = protocol_.home_of(c.line) == c.station ? Stage::kHome : Stage::kNetworkCache;
  now = start + (1 + p_.fifo_cycles) * p_.bus_ps;
}

// A cancelled ownership miss: the copy was taken away before ownership was reached (section 3.3.2). The
// request goes on as a read exclusive.
bool Model::check_ownership(Cpu& c, std::uint32_t cpu, Time now) {
  if (c.want != Want::kUpgrade || protocol_.holds(cpu, c.line)) return false;
  c.want = Want::kExclusive;
  c.type = MissType::kOwnershipCancelled;
  c.exclusive_since = whole_cycle(now);
  if (c.card->enabled()) {
    bring_card(c, c.exclusive_since);
    c.card->raise(CounterEvent::kReadExclusive);
    c.card->raise(CounterEvent::kReadOrExclusive);
  }
  return true;
}

// A cancelled update: the processor takes another's, which came after it sent its own, and sends that again (section
// 3.3.2).
void Model::turn_back(std::uint32_t cpu, Time returned, Time& now) {
  Cpu& c = cpus_[cpu];
  const auto command = static_cast<std::uint16_t>(command_of(c.want) | kCommandResponse);
  now = take_bus(c.station, now, returned, 1, c, command) + p_.bus_ps;
  if (c.card->enabled()) {
    bring_card(c, now);
    c.card->packet(command, bus_address(c.line, cpu), false);
  }
  c.type = MissType::kOwnershipCancelled;
  c.overtaken = c.locks_network = false;
  c.goes_again = true;
  c.stage = Stage::kIssue;
}

void Model::refuse(std::uint32_t cpu, Time returned, Time& now) {
  Cpu& c = cpus_[cpu];
  ++c.nacks;
  ++profile_of(c.line).nacks;
  const auto command = static_cast<std::uint16_t>(command_of(c.want) | kCommandNack | kCommandResponse);
  const Time back = take_bus(c.station, now, returned, 1, c, command) + p_.bus_ps;
  if (c.card->enabled()) {
    bring_card(c, back);
    c.card->packet(command, bus_address(c.line, cpu), false);
  }
  // Sent again anyway.
  if (c.overtaken) c.type = MissType::kOwnershipCancelled;
  c.overtaken = c.locks_network = false;
  if (c.prefetches) [[unlikely]] {
    c.is_dropped = true;
    c.stage = Stage::kDone;
    now = back;
    return;
  }
  c.was_refused = true;
  c.stage = Stage::kIssue;
  now = back + p_.retry_cycles * p_.bus_ps;
  const Time timed_out = c.issued + kTimeoutCycles * p_.bus_ps;
  if (now < timed_out) return;
  now = std::max(back, timed_out);
  bus_error(c, now);
}

// The processor takes an exception and starts the instruction again (sections 4.3.6 and 4.4.4).
void Model::bus_error(Cpu& c, Time& now) {
  if (c.type == MissType::kOwnershipSuccessful) ++c.truth.ownership_unsuccessful;
  ++c.truth.bus_errors;
  if (c.card->enabled()) {
    bring_card(c, now);
    lower_levels(c);
    c.card->bus_error();
  }
  const std::uint64_t lost = (now - c.issued) / p_.processor_ps;
  c.truth.whole_miss_cycles += lost;
  c.truth.apparent_miss_cycles += lost;
  charge(c, Pipeline::kSecondaryStall, lost);
  c.stalled += lost;
  c.apparent += lost;
  c.stage = Stage::kIdle;
  c.restarts = true;
  take_exception(c, now);
}

void Model::at_network_cache(std::uint32_t cpu, Time& now) {
  Cpu& c = cpus_[cpu];
  Station& s = stations_[c.station];
  const Time begun = s.network_cache.reserve(now, now, p_.lookup_cycles * p_.bus_ps);
  note(rack_.queues(c.station).network_cache, now, now, begun, p_.lookup_cycles, c.phase);
  const Time looked = begun + p_.lookup_cycles * p_.bus_ps;
  // A line that comes to a processor of this station from its home, or from the owner on the station, is locked until
  // it is there.
  const std::uint32_t first = c.station * p_.shape.per_station;
  for (std::uint32_t other = first; other < first + p_.shape.per_station; ++other) {
    if (other != cpu && cpus_[other].locks_network && cpus_[other].line == c.line) {
      refuse(cpu, looked, now);
      return;
    }
  }
  check_ownership(c, cpu, now);
  const Step step = protocol_.at_network_cache(cpu, c.line, c.want);
  c.locks_network = !step.served || step.owner >= 0;
  if (!step.served) {
    now = over_ring(c.station, protocol_.home_of(c.line), now, looked, 1, c.phase, &c.ring_wait);
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
    done = take_bus(c.station, now, done, 1, c, kCommandIntervention | kCommandCacheLine) +
           (1 + p_.intervention_cycles) * p_.bus_ps;
  } else if (step.data) {
    done += p_.memory_cycles * p_.bus_ps;
  }
  const std::uint64_t packets = step.data ? kLinePackets : 1;
  done = take_bus(c.station, now, done, packets, c, response_to(c.want, step.data)) + packets * p_.bus_ps;
  c.stage = Stage::kDone;
  now = done;
}

void Model::change_fifo(std::uint32_t station, const FifoChange& change) {
  auto& changes = stations_[station].changes;
  // Most come after all others. Those of one time stay in the order in which they were made.
  auto place = changes.end();
  const auto first = changes.begin() + static_cast<std::ptrdiff_t>(stations_[station].changed);
  while (place != first && (place - 1)->at > change.at) --place;
  changes.insert(place, change);
}

void Model::apply_changes(std::uint32_t station, Time upto) {
  Station& s = stations_[station];
  MemoryCard& memory = rack_.memory(station);
  for (; s.changed < s.changes.size() && s.changes[s.changed].at <= upto; ++s.changed) {
    const FifoChange& change = s.changes[s.changed];
    (change.outgoing ? memory.outgoing : memory.incoming)
        .change(cycle(change.at), change.transactions, change.packets);
  }
  if (2 * s.changed < s.changes.size()) return;
  s.changes.erase(s.changes.begin(), s.changes.begin() + static_cast<std::ptrdiff_t>(s.changed));
  s.changed = 0;
}

// A block's memory takes what is in its incoming FIFO one after the other. Gives when it begins with this.
Time Model::queue_at_memory(std::uint32_t home, Time now, Time arrived, std::uint64_t packets,
                            std::uint64_t service, std::uint16_t phase) {
  const Time begun = stations_[home].block_memory.reserve(now, arrived, service * p_.bus_ps);
  note(rack_.memory(home).queue, now, arrived, begun, service, phase);
  const auto count = static_cast<std::int32_t>(packets);
  apply_changes(home, now);
  change_fifo(home, {arrived, 1, count, false});
  change_fifo(home, {begun + p_.bus_ps, -1, -count, false});
  return begun;
}

// Through the outgoing FIFO onto the home's bus, where the ring interface is too. Gives when the last packet is there.
Time Model::send_from_memory(std::uint32_t home, Time now, Time ready, std::uint64_t packets, Cpu& c,
                             std::uint16_t command) {
  const Time start = take_bus(home, now, ready, packets, c, command);
  const auto count = static_cast<std::int32_t>(packets);
  change_fifo(home, {ready, 1, count, true});
  change_fifo(home, {start + p_.bus_ps, -1, -count, true});
  return start + packets * p_.bus_ps;
}

void Model::at_home(std::uint32_t cpu, Time& now) {
  Cpu& c = cpus_[cpu];
  const std::uint32_t home = protocol_.home_of(c.line);
  Station& s = stations_[home];
  Protocol::Block& block = protocol_.block(c.line);
  const bool remote = home != c.station;
  Time arrived = whole_cycle(now);
  // From the ring interface over the home's bus.
  if (remote) arrived = take_bus(home, now, now, 1, c, command_of(c.want)) + (1 + p_.fifo_cycles) * p_.bus_ps;
  const bool locked = block.locked_until > now;
  if (locked || c.overtaken) {
    Time returned = arrived + p_.lookup_cycles * p_.bus_ps;
    if (remote) {
      const auto command =
          static_cast<std::uint16_t>(command_of(c.want) | kCommandResponse | (locked ? kCommandNack : 0));
      returned = send_from_memory(home, now, returned, 1, c, command);
      returned = over_ring(home, c.station, now, returned, 1, c.phase, &c.ring_wait);
    }
    locked ? refuse(cpu, returned, now) : turn_back(cpu, returned, now);
    return;
  }
  check_ownership(c, cpu, now);
  MemoryCard& card = rack_.memory(home);
  const Step step = protocol_.at_home(cpu, c.line, c.want);
  const bool from_memory = step.data && step.owner < 0 && step.owner_station < 0;
  const std::uint64_t service = p_.lookup_cycles + (from_memory ? p_.memory_cycles : 0);
  const Time begun = queue_at_memory(home, now, arrived, 1, service, c.phase);
  const std::uint64_t waited = (begun - arrived) / p_.bus_ps;
  Time ready = begun + service * p_.bus_ps;
  ++s.requests;
  card.hit(step.met, type_of(c.want), c.phase);
  card.page_use(protocol_.page_of(Protocol::physical(c.line)), c.station);
  profile_of(c.line).queue_cycles += waited;
  c.met = step.met;
  c.response_state = static_cast<std::uint8_t>(
      (remote ? kResponseRemote : 0) | (is_global_state(step.met) ? kResponseGlobal : 0) |
      (is_valid_state(step.met) ? kResponseValid : 0) | (c.want == Want::kRead ? 0 : kResponseExclusive));
  after_step(step, cpu, now);

  // Where the data or the acknowledgement starts its way back.
  std::uint32_t from = home;
  const std::uint64_t packets = step.data ? kLinePackets : 1;
  constexpr auto kIntervention = static_cast<std::uint16_t>(kCommandIntervention | kCommandCacheLine);
  constexpr auto kGivenUp = static_cast<std::uint16_t>(kIntervention | kCommandResponse | kCommandData);
  if (step.owner_station >= 0) {
    const auto owner_station = static_cast<std::uint32_t>(step.owner_station);
    ready = send_from_memory(home, now, ready, 1, c, kIntervention);
    ready =
        over_ring(home, owner_station, now, ready, 1, c.phase, &c.ring_wait) + p_.lookup_cycles * p_.bus_ps;
    if (step.owner >= 0) {
      ready =
          take_bus(owner_station, now, ready, 1, c, kIntervention) + (1 + p_.intervention_cycles) * p_.bus_ps;
    } else {
      ready += p_.memory_cycles * p_.bus_ps;
    }
    ready = take_bus(owner_station, now, ready, kLinePackets, c, kGivenUp) + kLinePackets * p_.bus_ps;
    from = owner_station;
  } else if (step.owner >= 0) {
    ready = send_from_memory(home, now, ready, 1, c, kIntervention) + p_.intervention_cycles * p_.bus_ps;
    ready = take_bus(home, now, ready, kLinePackets, c, kGivenUp) + kLinePackets * p_.bus_ps;
  }
  // Sequential consistency: ownership only when every copy is gone, an update only when every copy has it.
  const Time looked = begun + p_.lookup_cycles * p_.bus_ps;
  Time agreed = looked;
  const auto notice =
      static_cast<std::uint16_t>(c.want == Want::kUpdate ? kCommandUpdate : kCommandInvalidate);
  if (step.stations != 0) {
    const Time sent = send_from_memory(home, now, looked, 1, c, notice);
    for (std::uint32_t other = 0; other < p_.shape.stations; ++other) {
      if (((step.stations >> other) & 1U) == 0) continue;
      const Time there = over_ring(home, other, now, sent, 1, c.phase, &c.ring_wait);
      agreed = std::max(agreed, take_bus(other, now, there, 1, c, notice) + p_.bus_ps);
    }
  }
  // Copies on the home's own station hear of it there; an intervention says it by itself.
  if (c.want != Want::kRead && step.owner < 0 && step.owner_station < 0 && step.stations == 0 &&
      !protocol_.deliveries().empty())
    agreed = send_from_memory(home, now, looked, 1, c, notice);
  ready = std::max(ready, agreed);
  Time done = ready;
  const std::uint16_t answer = response_to(c.want, step.data);
  if (from == home) done = send_from_memory(home, now, ready, packets, c, answer);
  if (from != c.station) {
    done = over_ring(from, c.station, now, done, packets, c.phase, &c.ring_wait);
    done = take_bus(c.station, now, done, packets, c, answer) + packets * p_.bus_ps;
  }
  // Until other stations have answered, memory can serve no other request for this block.
  const bool long_way = step.owner_station >= 0 || step.owner >= 0 || step.stations != 0;
  protocol_.block(c.line).locked_until = long_way ? done : begun + service * p_.bus_ps;
  s.queue_cycles += waited + c.ring_wait;
  if (substrata_transaction* const slot = s.memory.reserve(); slot != nullptr) {
    describe(*slot, now, c.line, cpu, kind_of(c.want), c.phase & kTravellingPhase);
    slot->detail = pair(waited, c.ring_wait);
    slot->state = feed_state(step.met);
    s.memory.commit();
    ++published_;
  }
  c.stage = Stage::kDone;
  now = done;
}

}  // namespace substrata::numachine
