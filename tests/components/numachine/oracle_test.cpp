// The machine and its cards against a second simulator, slow and obvious: maps of lines, and a set of taken cycles for
// each bus, link and memory. Random programs, one access after the other.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "numachine/model.hpp"

namespace substrata::numachine::test {
namespace {

constexpr std::uint64_t kCacheLines = 16;
constexpr std::uint64_t kNetworkLines = 32;
constexpr std::uint64_t kPageLines = 64;
constexpr std::uint32_t kRing = 4;  // stations of a local ring
constexpr std::uint64_t kNone = ~std::uint64_t{0};

// What the cards of one processor must have counted.
struct Counts {
  std::uint64_t reads = 0, read_cycles = 0;
  std::uint64_t exclusives = 0, exclusive_cycles = 0;
  std::uint64_t upgrades = 0, upgrade_cycles = 0;
  std::uint64_t transactions = 0, bus_cycles = 0;
  std::array<std::uint64_t, kCacheLines> misses{};
  std::map<unsigned, std::uint64_t> responses;
  std::uint64_t write_backs = 0, invalidated = 0;
  bool operator==(const Counts&) const = default;
};

class SlowMachine {
 public:
  explicit SlowMachine(std::uint32_t stations)
      : counts(stations * 4), stations_(stations), caches_(stations * 4), networks_(stations) {}

  void access(std::uint32_t cpu, std::uint64_t line, bool write) {
    Own& own = caches_[cpu][line % kCacheLines];
    const bool tag = own.line == line;
    const bool held = tag && own.state != 'I';
    if (held && (!write || own.state == 'M')) return;
    Counts& c = counts[cpu];
    if (!held) ++c.misses[line % kCacheLines];
    const std::uint32_t station = cpu / 4, home = home_of(line);
    taken_.clear();
    transaction(c, 1);
    std::uint64_t now = take(bus(station), 0, 1) + 1 + 2;
    unsigned rsr = (write ? 1U : 0U) | (station != home ? 2U : 0U);
    if (station == home || !at_network(cpu, line, write, held, now, rsr))
      now = at_home(cpu, line, write, held, now, rsr);
    ++c.responses[rsr];
    transaction(c, !write || !held ? 9 : 1);
    std::uint64_t& number = !write ? c.reads : held ? c.upgrades : c.exclusives;
    ++number;
    (!write ? c.read_cycles : held ? c.upgrade_cycles : c.exclusive_cycles) += now;
  }

  std::vector<Counts> counts;

 private:
  struct Own {
    std::uint64_t line = kNone;
    char state = 'I';
  };
  struct Remote {  // of a network cache
    std::uint64_t line = kNone;
    char state = 'N';  // L valid and alone, D dirty at a processor here, V valid as others, I invalid
    std::set<std::uint32_t> known;  // processors that may have copies
  };
  struct Memory {
    char state = 'L';  // L valid here only, D dirty here, V valid and elsewhere, I only on another station
    std::set<std::uint32_t> known;
    std::set<std::uint32_t> stations;  // others that may have copies, or the one that has it
  };
  using Resource = std::pair<char, std::uint64_t>;

  static Resource bus(std::uint32_t station) { return {'b', station}; }
  std::uint32_t home_of(std::uint64_t line) const {
    return static_cast<std::uint32_t>(line / kPageLines % stations_);
  }
  static void transaction(Counts& c, std::uint64_t packets) {
    ++c.transactions;
    c.bus_cycles += packets;
  }
  // The first time from which on it is free for so long.
  std::uint64_t take(Resource of, std::uint64_t from, std::uint64_t cycles) {
    std::set<std::uint64_t>& busy = taken_[of];
    for (std::uint64_t at = from;; ++at) {
      bool free = true;
      for (std::uint64_t i = at; i < at + cycles; ++i) free = free && !busy.contains(i);
      if (!free) continue;
      for (std::uint64_t i = at; i < at + cycles; ++i) busy.insert(i);
      return at;
    }
  }
  std::uint64_t links(std::uint64_t ring, std::uint32_t size, std::uint32_t from, std::uint32_t to,
                      std::uint64_t at, std::uint64_t packets) {
    for (; from != to; from = (from + 1) % size) at = take({'r', ring * 1000 + from}, at, packets) + 1;
    return at;
  }
  std::uint64_t ride(std::uint32_t from, std::uint32_t to, std::uint64_t at, std::uint64_t packets) {
    at += 3;
    const std::uint32_t rings = (stations_ + kRing - 1) / kRing;
    if (from / kRing == to / kRing) {
      at = links(from / kRing, kRing + 1, from % kRing, to % kRing, at, packets);
    } else {
      at = links(from / kRing, kRing + 1, from % kRing, kRing, at, packets);
      at = links(rings, rings, from / kRing, to / kRing, at, packets);
      at = links(to / kRing, kRing + 1, kRing, to % kRing, at, packets);
    }
    return at + packets - 1 + 3;
  }
  void write_home(std::uint64_t line, std::uint32_t from, std::uint64_t at) {
    const std::uint32_t home = home_of(line);
    if (from != home) at = take(bus(home), ride(from, home, at, 9), 9) + 9;
    take({'m', home}, at + 2, 16);
  }
  int dirty(std::uint32_t station, std::uint64_t line) {
    for (std::uint32_t cpu = station * 4; cpu < station * 4 + 4; ++cpu) {
      const Own& own = caches_[cpu][line % kCacheLines];
      if (own.line == line && own.state == 'M') return static_cast<int>(cpu);
    }
    return -1;
  }
  // A processor gives up its dirty line: sees the intervention, sends the line.
  void give_up(std::uint32_t cpu, std::uint64_t line, bool entirely) {
    caches_[cpu][line % kCacheLines].state = entirely ? 'I' : 'S';
    transaction(counts[cpu], 1);
    transaction(counts[cpu], 9);
    if (entirely) {
      transaction(counts[cpu], 1);
      ++counts[cpu].invalidated;
    }
  }
  void invalidate(const std::set<std::uint32_t>& cpus, std::uint64_t line, std::uint32_t except) {
    for (const std::uint32_t cpu : cpus) {
      if (cpu == except) continue;
      transaction(counts[cpu], 1);
      Own& own = caches_[cpu][line % kCacheLines];
      if (own.line != line || own.state == 'I') continue;
      own.state = 'I';
      ++counts[cpu].invalidated;
    }
  }
  static std::set<std::uint32_t> all_of(std::uint32_t station) {
    return {station * 4, station * 4 + 1, station * 4 + 2, station * 4 + 3};
  }
  Remote* network(std::uint32_t station, std::uint64_t line) {
    Remote& entry = networks_[station][line % kNetworkLines];
    return entry.line == line && entry.state != 'N' ? &entry : nullptr;
  }
  // The line comes into a processor's cache; a dirty one leaves it at that time.
  void fill(std::uint32_t cpu, std::uint64_t line, char state, std::uint64_t now) {
    Own& own = caches_[cpu][line % kCacheLines];
    const Own old = own;
    own = {line, state};
    if (old.line == kNone || old.line == line || old.state != 'M') return;
    ++counts[cpu].write_backs;
    transaction(counts[cpu], 9);
    const std::uint32_t station = cpu / 4;
    const std::uint64_t sent = take(bus(station), now, 9) + 9;
    Remote* const entry = home_of(old.line) != station ? network(station, old.line) : nullptr;
    if (entry != nullptr) {
      entry->state = 'L';
      entry->known.clear();
      return;
    }
    memory_[old.line] = {};
    write_home(old.line, station, sent);
  }
  Remote& allocate(std::uint32_t station, std::uint64_t line, std::uint64_t* back) {
    Remote& entry = networks_[station][line % kNetworkLines];
    if (entry.line == line && entry.state != 'N') return entry;
    if (entry.state == 'L') {
      memory_[entry.line].state = 'V';
      *back = entry.line;
    }
    entry = {line, 'N', all_of(station)};
    return entry;
  }

  bool at_network(std::uint32_t cpu, std::uint64_t line, bool write, bool held, std::uint64_t& now,
                  unsigned& rsr) {
    const std::uint32_t station = cpu / 4;
    const std::uint64_t before = now;
    now += 4;
    Remote* const entry = network(station, line);
    if (entry == nullptr || entry->state == 'I' || (write && entry->state == 'V')) {
      now = ride(station, home_of(line), now, 1);
      return false;
    }
    rsr |= 16U | (entry->state == 'V' ? 8U : 0U) | (entry->state != 'D' ? 4U : 0U);
    std::uint64_t done = now;
    if (entry->state == 'D') {
      const auto owner = static_cast<std::uint32_t>(dirty(station, line));
      give_up(owner, line, write);
      if (!write) entry->known = {owner};
      entry->state = 'L';
      fill(cpu, line, write ? 'M' : 'S', before);
      done = take(bus(station), done, 1) + 1 + 8;
    } else {
      if (write) invalidate(entry->known, line, cpu);
      fill(cpu, line, write ? 'M' : 'S', before);
      if (!held) done += 12;
    }
    if (write) {
      entry->state = 'D';
      entry->known = {cpu};
    } else {
      entry->known.insert(cpu);
    }
    const std::uint64_t packets = held ? 1 : 9;
    now = take(bus(station), done, packets) + packets;
    return true;
  }

  std::uint64_t at_home(std::uint32_t cpu, std::uint64_t line, bool write, bool held, std::uint64_t now,
                        unsigned& rsr) {
    const std::uint32_t station = cpu / 4, home = home_of(line);
    const std::uint64_t before = now;
    if (station != home) now = take(bus(home), now, 1) + 1 + 2;
    Memory& m = memory_[line];
    rsr |= (m.state == 'V' || m.state == 'I' ? 8U : 0U) | (m.state == 'L' || m.state == 'V' ? 4U : 0U);
    const bool valid = m.state == 'L' || m.state == 'V';
    const std::uint64_t service = 4 + (valid && !held ? 12 : 0);
    const std::uint64_t begun = take({'m', home}, now, service);
    const std::uint64_t looked = begun + 4;
    int owner_station = -1, owner = -1;
    std::set<std::uint32_t> told;
    bool anyone = false;
    if (m.state == 'D') {
      owner = dirty(home, line);
      give_up(static_cast<std::uint32_t>(owner), line, write);
      m.known = {static_cast<std::uint32_t>(owner)};
      m.state = 'L';
    } else if (m.state == 'I') {
      owner_station = static_cast<int>(*m.stations.begin());
      Remote* const entry = network(*m.stations.begin(), line);
      if (entry != nullptr && entry->state == 'L') {
        if (write) invalidate(entry->known, line, cpu);
      } else {
        owner = dirty(*m.stations.begin(), line);
        give_up(static_cast<std::uint32_t>(owner), line, write);
        if (entry != nullptr) entry->known = {static_cast<std::uint32_t>(owner)};
      }
      if (entry != nullptr) entry->state = write ? 'I' : 'V';
      m.state = 'V';
      m.known.clear();
    } else if (write) {
      std::set<std::uint32_t> who = m.known;
      who.erase(cpu);
      anyone = !who.empty();
      invalidate(m.known, line, cpu);
      if (m.state == 'V') {
        for (const std::uint32_t other : m.stations) {
          Remote* const entry = network(other, line);
          const std::set<std::uint32_t> there = entry != nullptr ? entry->known : all_of(other);
          for (const std::uint32_t one : there) anyone = anyone || one != cpu;
          invalidate(there, line, cpu);
          if (entry != nullptr) entry->state = 'I';
          if (other != station) told.insert(other);
        }
      }
    }
    std::uint64_t back = kNone;
    if (write) {
      m.state = station == home ? 'D' : 'I';
      m.known.clear();
      m.stations.clear();
      if (station == home) {
        m.known = {cpu};
      } else {
        m.stations = {station};
        Remote& entry = allocate(station, line, &back);
        entry.state = 'D';
        entry.known = {cpu};
      }
    } else if (station == home) {
      m.known.insert(cpu);
    } else {
      m.state = 'V';
      m.stations.insert(station);
      Remote& entry = allocate(station, line, &back);
      entry.state = 'V';
      entry.known.insert(cpu);
    }
    fill(cpu, line, write ? 'M' : 'S', before);
    if (back != kNone) write_home(back, station, before);

    std::uint64_t ready = begun + service;
    std::uint32_t from = home;
    if (owner_station >= 0) {
      from = static_cast<std::uint32_t>(owner_station);
      ready = ride(home, from, take(bus(home), ready, 1) + 1, 1) + 4;
      ready = owner >= 0 ? take(bus(from), ready, 1) + 1 + 8 : ready + 12;
      ready = take(bus(from), ready, 9) + 9;
    } else if (owner >= 0) {
      ready = take(bus(home), ready, 1) + 1 + 8;
      ready = take(bus(home), ready, 9) + 9;
    }
    std::uint64_t agreed = looked;
    if (!told.empty()) {
      const std::uint64_t sent = take(bus(home), looked, 1) + 1;
      for (const std::uint32_t other : told)
        agreed = std::max(agreed, take(bus(other), ride(home, other, sent, 1), 1) + 1);
    } else if (anyone) {
      agreed = take(bus(home), looked, 1) + 1;
    }
    ready = std::max(ready, agreed);
    const std::uint64_t packets = held ? 1 : 9;
    if (from == home) ready = take(bus(home), ready, packets) + packets;
    if (from != station) ready = take(bus(station), ride(from, station, ready, packets), packets) + packets;
    return ready;
  }

  const std::uint32_t stations_;
  std::vector<std::array<Own, kCacheLines>> caches_;
  std::vector<std::array<Remote, kNetworkLines>> networks_;
  std::map<std::uint64_t, Memory> memory_;
  std::map<Resource, std::set<std::uint64_t>> taken_;  // cycles, in the access under way
};

std::uint32_t counter(std::uint32_t cpu, unsigned number) {
  std::uint32_t value = 0;
  Rack::instance().processor(cpu).read(kCounters + number, &value);
  return value;
}

struct Event {
  CounterEvent event;
  bool transitions;
  std::uint64_t Counts::*wanted;
};
constexpr Event kEvents[] = {{CounterEvent::kRead, false, &Counts::read_cycles},
                             {CounterEvent::kRead, true, &Counts::reads},
                             {CounterEvent::kReadExclusive, false, &Counts::exclusive_cycles},
                             {CounterEvent::kReadExclusive, true, &Counts::exclusives},
                             {CounterEvent::kOwnershipSuccessful, false, &Counts::upgrade_cycles},
                             {CounterEvent::kOwnershipSuccessful, true, &Counts::upgrades},
                             {CounterEvent::kBusActivity, false, &Counts::bus_cycles},
                             {CounterEvent::kBusActivity, true, &Counts::transactions}};

// The same program with each four events.
void compare(std::uint32_t processors, unsigned first_event) {
  const Rack::Use use(Rack::instance());
  Rack::instance().reset();
  Parameters p;
  p.shape.stations = (processors + 3) / 4;
  p.cache_bytes = kCacheLines * 64;
  p.network_bytes = kNetworkLines * 64;
  p.primary_bytes = p.cache_bytes;
  Model model(p, 0);
  SlowMachine slow(p.shape.stations);
  for (std::uint32_t cpu = 0; cpu < processors; ++cpu) {
    ProcessorCard& card = Rack::instance().processor(cpu);
    for (unsigned i = 0; i < 4; ++i) {
      const Event& event = kEvents[first_event + i];
      card.write(kCounterMode0 + i, kCounterOn | static_cast<std::uint32_t>(event.event) << kEventShift |
                                        (event.transitions ? kTransitions : 0U));
    }
    card.write(kSramMode, static_cast<std::uint32_t>(SramEvent::kSecondaryMiss) << kEventShift);
    card.write(kCounterEnable, 1);
    card.write(kSramEnable, 1);
  }
  std::mt19937_64 random(processors);
  Time now = 0;
  for (int i = 0; i < 4000; ++i) {
    const auto cpu = static_cast<std::uint32_t>(random() % processors);
    const std::uint64_t r = random();
    // A few lines that many want, on many homes, and some that fall on one place of every cache.
    const std::uint64_t line = r % 12 * kPageLines + r / 12 % 3 + (r / 64 % 4) * kCacheLines;
    const bool write = r / 1024 % 3 == 0;
    now += 100'000 * Parameters::bus_ps;  // all is over
    while (!model.step(cpu, line * 64, 8, write, false, 0, now)) {
    }
    slow.access(cpu, line, write);
  }
  model.settle(now + Parameters::bus_ps * 100'000);
  for (std::uint32_t cpu = 0; cpu < processors; ++cpu) {
    const Counts& wanted = slow.counts[cpu];
    for (unsigned i = 0; i < 4; ++i)
      ASSERT_EQ(counter(cpu, i), wanted.*kEvents[first_event + i].wanted)
          << processors << " processors, processor " << cpu << ", event " << first_event + i;
    for (std::uint32_t line = 0; line < kCacheLines; ++line)
      ASSERT_EQ(Rack::instance().processor(cpu).sram(line), wanted.misses[line]) << cpu << " line " << line;
    const Truth& truth = model.truth(cpu);
    for (unsigned rsr = 0; rsr < 32; ++rsr) {
      const auto found = wanted.responses.find(rsr);
      ASSERT_EQ(truth.responses[rsr], found == wanted.responses.end() ? 0 : found->second)
          << cpu << " " << rsr;
    }
    ASSERT_EQ(truth.write_backs, wanted.write_backs) << cpu;
    ASSERT_EQ(truth.invalidation_hits, wanted.invalidated) << cpu;
  }
}

class Oracle : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Oracle, CountsRequestsAndTheirLatenciesAsTheCardsDo) {
  compare(GetParam(), 0);
  compare(GetParam(), 4);
}

INSTANTIATE_TEST_SUITE_P(Processors, Oracle, testing::Values(1, 2, 4, 7, 16, 40, 64, 128, 256));

}  // namespace
}  // namespace substrata::numachine::test
