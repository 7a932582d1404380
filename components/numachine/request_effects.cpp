// What the steps of a request mean to other processors, to the monitors' cards and to the feed, and how it ends.
#include <algorithm>

#include "numachine/model.hpp"
#include "numachine/requests.hpp"
#include "numachine/traffic.hpp"

namespace substrata::numachine {

// What a protocol step means to others than the requester, and to its own caches.
void Model::after_step(const Step& step, std::uint32_t cpu, Time now) {
  Cpu& c = cpus_[cpu];
  if (step.owner >= 0) {
    Cpu& owner = cpus_[static_cast<std::uint32_t>(step.owner)];
    drop_primary(owner, c.line, true);
    owner.debt += p_.snoop_stall;
    c.supplier = step.owner;
    if (owner.card->enabled()) {
      bring_card(owner, now);
      owner.card->packet(kCommandIntervention | kCommandCacheLine, bus_address(c.line, cpu), false);
    }
  }
  for (const Delivery& delivery : protocol_.deliveries()) deliver(delivery, cpu, now);
  if (step.evicted != Protocol::kNoLine) {
    drop_primary(c, step.evicted, false);
    if (step.evicted_dirty) write_back(step, cpu, now);
  }
  if (step.network_evicted != Protocol::kNoLine)
    write_home({cpu, step.network_evicted, kWrittenBack, 0}, c.station, step.network_evicted_met, now, now);
}

// A dirty line follows the request out of the processor; nothing waits for it.
void Model::write_back(const Step& step, std::uint32_t cpu, Time now) {
  Cpu& c = cpus_[cpu];
  ++c.truth.write_backs;
  c.miss_estimate.write();
  std::uint64_t waited = 0;
  const Carried what{cpu, step.evicted, kWrittenBack, c.phase};
  const Time start = reserve_bus(c.station, now, now, kLinePackets, what, &waited);
  const Time sent = start + kLinePackets * p_.bus_ps;
  if (step.evicted_met != BlockState::kNotIn) {
    write_home(what, c.station, step.evicted_met, now, sent);
  } else {
    stations_[c.station].network_cache.reserve(now, sent + p_.fifo_cycles * p_.bus_ps,
                                               (p_.lookup_cycles + p_.memory_cycles) * p_.bus_ps);
  }
  if (c.card->enabled()) {
    bring_card(c, now);
    c.card->packet(kWrittenBack, bus_address(step.evicted, cpu), true, kLinePackets);
    c.card->charge(CounterEvent::kBusRequest, static_cast<std::uint32_t>(waited) + 1);
  }
  substrata_transaction* const slot = c.bus.reserve();
  if (slot == nullptr) return;
  describe(*slot, now, step.evicted, cpu, SUBSTRATA_WRITE_BACK, c.phase);
  slot->state = SUBSTRATA_DIRTY;
  c.bus.commit();
  ++published_;
}

// A line goes home from a station, of which it has left the bus if that is its home: over the rings and the home's
// bus into the memory's FIFO, and is written.
void Model::write_home(const Carried& what, std::uint32_t from, BlockState met, Time now, Time sent) {
  const std::uint32_t home = protocol_.home_of(what.line);
  Time at = sent;
  if (home != from) {
    at = over_ring(from, home, now, sent, kLinePackets, what.phase, nullptr);
    std::uint64_t waited = 0;
    at = reserve_bus(home, now, at, kLinePackets, what, &waited) + kLinePackets * p_.bus_ps;
  }
  const Time arrived = at + p_.fifo_cycles * p_.bus_ps;
  const std::uint64_t service = p_.lookup_cycles + p_.memory_cycles;
  queue_at_memory(home, now, arrived, kLinePackets, service, what.phase);
  rack_.memory(home).hit(met, RequestType::kWriteBack, what.phase);
}

void Model::deliver(const Delivery& delivery, std::uint32_t by, Time now) {
  Cpu& c = cpus_[delivery.cpu];
  const bool update = cpus_[by].want == Want::kUpdate;
  if (delivery.hit) {
    if (!update) drop_primary(c, delivery.line, false);
    c.debt += p_.snoop_stall;
  }
  if (update) {
    // Its own update of the line is on the way, or was refused and is sent again anyway.
    const bool sent = c.stage == Stage::kNetworkCache || c.stage == Stage::kHome;
    if (delivery.hit && c.want == Want::kUpdate && c.line == delivery.line) {
      c.overtaken = c.overtaken || sent;
      if (c.stage == Stage::kIssue && c.was_refused) c.type = MissType::kOwnershipCancelled;
    }
    return;
  }
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
    bring_card(c, now);
    c.card->packet(kCommandInvalidate, bus_address(delivery.line, by), false);
  }
  if (substrata_transaction* const slot = c.bus.reserve(); slot != nullptr) {
    describe(*slot, now, delivery.line, by, SUBSTRATA_INVALIDATE, c.phase);
    slot->state = delivery.hit ? SUBSTRATA_HIT : SUBSTRATA_MISS;
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
    bring_card(c, now);
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
  // Loads and hints that bring ownership take copies away as stores do.
  const bool writes = c.is_write || c.want != Want::kRead;
  line.writes += writes ? 1 : 0;
  (writes ? line.writers : line.readers) |= who;
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

void Model::publish_request(Cpu& c, std::uint32_t cpu, Time& now, std::uint32_t latency) {
  substrata_transaction response;
  describe(response, now, c.line, cpu, kind_of(c.want), c.phase);
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
  response.state = feed_state(c.met);
  if (substrata_transaction* const slot = c.bus.reserve(); slot != nullptr) {
    *slot = response;
    c.bus.commit();
    ++published_;
  }
  if (informer_.handler != nullptr && !c.prefetches && c.type != MissType::kOwnershipSuccessful &&
      (informer_.trigger == nullptr || informer_.trigger(informer_.owner, cpu, response))) {
    ++c.truth.informed;
    c.computed += p_.informing_cycles;
    now += p_.informing_cycles * p_.processor_ps;
    informer_.handler(informer_.owner, cpu, response);
  }
}

// Those of its card that came since, acknowledged or not. The processor takes them between two instructions.
void Model::serve_interrupts(Cpu& c, Time& now) {
  // Not those that serving them raises.
  const std::uint64_t all = c.card->interrupts();
  for (; c.interrupts != all; ++c.interrupts) take_exception(c, now);
}

// Instructions in the pipeline are killed, and it refills (item 4 of table 4.10).
void Model::take_exception(Cpu& c, Time& now) {
  ++c.truth.exceptions;
  charge(c, Pipeline::kExceptionKilled, p_.exception_cycles);
  charge(c, Pipeline::kOtherStall, p_.restart_cycles);
  c.truth.restart_cycles += p_.restart_cycles;
  c.stalled += p_.exception_cycles + p_.restart_cycles;
  now += (p_.exception_cycles + p_.restart_cycles) * p_.processor_ps;
}

void Model::lower_levels(Cpu& c) {
  for (const CounterEvent event :
       {CounterEvent::kMostRecent, CounterEvent::kRead, CounterEvent::kReadExclusive,
        CounterEvent::kReadOrExclusive, CounterEvent::kInvalidationMiss, CounterEvent::kNackCycles}) {
    c.card->lower(event);
  }
}

bool Model::complete(std::uint32_t cpu, Time& now) {
  Cpu& c = cpus_[cpu];
  c.locks_network = false;
  if (c.is_dropped) [[unlikely]] {
    end_prefetch(c, now);
    return true;
  }
  Truth& t = c.truth;
  const auto latency = static_cast<std::uint32_t>((now - c.issued) / p_.bus_ps);
  if (c.card->enabled()) {
    bring_card(c, now);
    lower_levels(c);
    const bool data = c.want == Want::kRead || c.want == Want::kExclusive;
    c.card->response(
        static_cast<std::uint16_t>(command_of(c.want) | kCommandResponse | (data ? kCommandData : 0)),
        bus_address(c.line, cpu), c.type, c.response_state, data ? kLinePackets : 1);
    if (c.type == MissType::kOwnershipSuccessful) c.card->charge(CounterEvent::kOwnershipSuccessful, latency);
    if (c.type == MissType::kOwnershipCancelled) c.card->charge(CounterEvent::kOwnershipCancelled, latency);
  }
  // What the owner of the dirty line sent.
  if (c.supplier >= 0) {
    ProcessorCard& owner = *cpus_[static_cast<std::uint32_t>(c.supplier)].card;
    if (owner.enabled()) {
      bring_card(cpus_[static_cast<std::uint32_t>(c.supplier)], now);
      owner.packet(kCommandIntervention | kCommandCacheLine | kCommandResponse | kCommandData,
                   bus_address(c.line, cpu), true, kLinePackets);
    }
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
      t.read_exclusive_cycles += (now - c.exclusive_since) / p_.bus_ps;
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
  const bool owns = c.want == Want::kUpgrade || c.want == Want::kUpdate;
  const std::uint64_t most = c.prefetches || (p_.weak_consistency && owns) ? whole
                             : c.want == Want::kRead ? p_.overlap_cycles * p_.bus_ps / p_.processor_ps
                                                     : 0;
  const std::uint64_t hidden = std::min(whole, most);
  t.whole_miss_cycles += whole;
  t.apparent_miss_cycles += whole - hidden;
  charge(c, Pipeline::kSecondaryStall, whole - hidden);
  c.stalled += whole - hidden;
  c.apparent += whole - hidden;
  c.credit = hidden;
  publish_request(c, cpu, now, latency);
  c.stage = Stage::kIdle;
  serve_interrupts(c, now);
  if (c.prefetches) [[unlikely]] {
    end_prefetch(c, now);
    return true;
  }
  if (c.is_write && c.want == Want::kRead) {
    // Update protocol: the line is there now, its new value must go to all processors.
    look_up(cpu, now);
    return false;
  }
  if (!c.is_fetch) fill_primary(c, c.address, c.want == Want::kExclusive || c.want == Want::kUpgrade);
  return !begin_prefetch(cpu, now);
}

}  // namespace substrata::numachine
