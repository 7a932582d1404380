// Accesses to data that is not cached, word by word; and the board that traces what has the buses.
#include <algorithm>

#include "numachine/model.hpp"
#include "numachine/requests.hpp"
#include "numachine/traffic.hpp"

// Source: Lemieux's thesis, sections 3.3.2 (data marked as uncached), 3.2.4 (their stalls) and 5.2 (the board). The
// write buffer holds one word, ours.
namespace substrata::numachine {
namespace {

constexpr std::uint16_t kReadWord = kCommandRead | kCommandUncached;
constexpr std::uint16_t kWriteWord = kCommandUncached | kCommandData;
constexpr std::uint16_t kWord = kReadWord | kCommandResponse | kCommandData;
constexpr std::uint32_t kWordBytes = 8;

// What the board calls a packet, by the most particular bit of its command.
std::uint16_t kind_of_command(std::uint16_t command) noexcept {
  struct Named {
    std::uint16_t bit, kind;
  };
  constexpr Named kNamed[] = {
      {kCommandNack, SUBSTRATA_NACK},
      {kCommandWriteBack, SUBSTRATA_WRITE_BACK},
      {kCommandResponse, SUBSTRATA_RESPONSE},
      {kCommandIntervention, SUBSTRATA_INTERVENTION},
      {kCommandInvalidate, SUBSTRATA_INVALIDATE},
      {kCommandReadExclusive, SUBSTRATA_READ_EXCLUSIVE},
      {kCommandUpgrade, SUBSTRATA_UPGRADE},
      {kCommandUpdate, SUBSTRATA_UPDATE},
      {kCommandRead, SUBSTRATA_READ},
  };
  for (const Named& one : kNamed) {
    if ((command & one.bit) != 0) return one.kind;
  }
  return SUBSTRATA_WRITE;
}

}  // namespace

// True: it is done as far as the processor is concerned.
bool Model::begin_uncached(std::uint32_t cpu, Time& now) {
  Cpu& c = cpus_[cpu];
  follow_phase(c, cpu, now);
  c.restarts = false;
  flush_instructions(c, cpu, now);
  now = whole_cycle(now);
  c.bus_wait = c.bus_busy = 0;
  c.ring_wait = 0;
  if (c.is_write) {
    write_uncached(c, cpu, now);
    return true;
  }
  c.miss_estimate.uncached_read();
  c.issued = now;
  const Time start = take_bus(c.station, now, std::max(now, c.write_left), 1, c, kReadWord);
  if (c.card->enabled()) {
    bring_card(c, now);
    c.card->raise(CounterEvent::kMostRecent);
    c.card->charge(CounterEvent::kBusRequest, static_cast<std::uint32_t>((start - now) / p_.bus_ps) + 1);
    c.card->request(kReadWord, bus_address(c.line, cpu));
  }
  c.stage = Stage::kUncached;
  now = start + (1 + p_.fifo_cycles) * p_.bus_ps;
  return false;
}

// Into the write buffer; a word that is there still must leave first. Nothing waits until it is written.
void Model::write_uncached(Cpu& c, std::uint32_t cpu, Time& now) {
  if (c.write_starts > now) {
    const std::uint64_t stall = (c.write_starts - now) / p_.processor_ps;
    charge(c, Pipeline::kOtherStall, stall);
    c.stalled += stall;
    now = c.write_starts;
  }
  const std::uint32_t home = protocol_.home_of(c.line);
  const Carried what = carried(c, kWriteWord);
  std::uint64_t waited = 0;
  const Time start = reserve_bus(c.station, now, std::max(now, c.write_left), kWordPackets, what, &waited);
  c.write_starts = start;
  c.write_left = start + kWordPackets * p_.bus_ps;
  Time at = c.write_left;
  if (home != c.station) {
    std::uint64_t there = 0;
    at = over_ring(c.station, home, now, at, kWordPackets, c.phase, nullptr);
    at = reserve_bus(home, now, at, kWordPackets, what, &there) + kWordPackets * p_.bus_ps;
  }
  queue_at_memory(home, now, at + p_.fifo_cycles * p_.bus_ps, kWordPackets, p_.memory_cycles, c.phase);
  ++c.truth.uncached_writes;
  if (c.card->enabled()) {
    bring_card(c, now);
    c.card->charge(CounterEvent::kBusRequest, static_cast<std::uint32_t>(waited) + 1);
    c.later = {start, static_cast<std::uint32_t>(kWordPackets), kWriteWord, c.line};
  }
  publish_uncached(c, cpu, now, kUncachedWrite, 0);
}

void Model::show_later(Cpu& c) {
  c.card->at(cycle(c.later.at));
  c.card->packet(c.later.command, bus_address(c.later.line, static_cast<std::uint32_t>(&c - cpus_.data())),
                 true, c.later.packets);
  c.later.packets = 0;
}

void Model::at_memory(std::uint32_t cpu, Time& now) {
  Cpu& c = cpus_[cpu];
  const std::uint32_t home = protocol_.home_of(c.line);
  Time at = whole_cycle(now);
  if (home != c.station) {
    at = over_ring(c.station, home, now, at, 1, c.phase, &c.ring_wait);
    at = take_bus(home, now, at, 1, c, kReadWord) + (1 + p_.fifo_cycles) * p_.bus_ps;
  }
  at = queue_at_memory(home, now, at, 1, p_.memory_cycles, c.phase) + p_.memory_cycles * p_.bus_ps;
  at = send_from_memory(home, now, at, kWordPackets, c, kWord);
  if (home != c.station) {
    at = over_ring(home, c.station, now, at, kWordPackets, c.phase, &c.ring_wait);
    at = take_bus(c.station, now, at, kWordPackets, c, kWord) + kWordPackets * p_.bus_ps;
  }
  c.stage = Stage::kWord;
  now = at;
}

void Model::complete_uncached(std::uint32_t cpu, Time& now) {
  Cpu& c = cpus_[cpu];
  const bool remote = protocol_.home_of(c.line) != c.station;
  const std::uint64_t latency = (now - c.issued) / p_.bus_ps;
  if (c.card->enabled()) {
    bring_card(c, now);
    c.card->lower(CounterEvent::kMostRecent);
    c.card->response(kWord, bus_address(c.line, cpu), MissType::kOther,
                     static_cast<std::uint8_t>(kResponseValid | (remote ? kResponseRemote : 0)),
                     kWordPackets);
  }
  ++c.truth.uncached_reads;
  c.truth.uncached_cycles += latency;
  const std::uint64_t stall = (now - c.issued) / p_.processor_ps;
  charge(c, Pipeline::kOtherStall, stall);
  c.stalled += stall;
  publish_uncached(c, cpu, now, kUncachedRead, latency);
  c.stage = Stage::kIdle;
  serve_interrupts(c, now);
}

void Model::publish_uncached(Cpu& c, std::uint32_t cpu, Time now, std::uint16_t kind, std::uint64_t detail) {
  substrata_transaction* const slot = c.bus.reserve();
  if (slot == nullptr) return;
  describe(*slot, now, c.line, cpu, kind, c.phase);
  slot->address = c.address;
  slot->site = c.site;
  slot->detail = detail;
  slot->size = kWordBytes;
  c.bus.commit();
  ++published_;
}

void Model::trace_bus(std::uint32_t station, Time now, Time asked, Time start, std::uint64_t packets,
                      const Carried& what) {
  Station& s = stations_[station];
  publish_traced(s, now > window() ? now - window() : 0);
  substrata_transaction t;
  describe(t, start, what.line, what.cpu, kind_of_command(what.command), what.phase & kTravellingPhase);
  t.start = asked;
  t.detail = pair(packets, what.command);
  const auto after = [](Time time, const substrata_transaction& other) { return time < other.time; };
  s.traced.insert(std::upper_bound(s.traced.begin(), s.traced.end(), start, after), t);
}

// Those granted by then; none comes before them any more.
void Model::publish_traced(Station& s, Time upto) {
  auto next = s.traced.begin();
  for (; next != s.traced.end() && next->time <= upto; ++next) {
    substrata_transaction* const slot = s.bus_trace.reserve();
    if (slot == nullptr) continue;
    *slot = *next;
    s.bus_trace.commit();
    ++published_;
  }
  s.traced.erase(s.traced.begin(), next);
}

}  // namespace substrata::numachine
