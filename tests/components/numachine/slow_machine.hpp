// The NUMAchine once more, slow and obvious: maps of lines, and a set of taken cycles for each bus, link, network cache
// and memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "numachine/model.hpp"

namespace substrata::numachine::test {

inline constexpr std::uint64_t kCacheLines = 16;
inline constexpr std::uint64_t kNetworkLines = 32;
inline constexpr std::uint64_t kPageLines = 64;
inline constexpr std::uint32_t kRing = 4;  // stations of a local ring
inline constexpr std::uint64_t kNone = ~std::uint64_t{0};

// What the cards of one processor must have counted.
struct Counts {
  std::uint64_t reads = 0, read_cycles = 0;
  std::uint64_t exclusives = 0, exclusive_cycles = 0;
  std::uint64_t upgrades = 0, upgrade_cycles = 0;
  std::uint64_t cancelled = 0, cancelled_cycles = 0;
  std::uint64_t retries = 0, retry_cycles = 0, retried = 0, timed_out = 0, bus_wait = 0;
  std::uint64_t transactions = 0, bus_cycles = 0;
  std::array<std::uint64_t, kCacheLines> misses{};
  std::map<unsigned, std::uint64_t> responses;
  std::uint64_t write_backs = 0, invalidated = 0;
  std::uint64_t hints = 0, dropped = 0, hints_for_ownership = 0;
};

// Which lines loads bring with ownership, which are asked for by a hint when the line before is used, and whether all
// hints ask for ownership.
struct Hints {
  struct Lines {
    std::uint64_t first = 0, count = 0;
    bool contain(std::uint64_t line) const { return line >= first && line < first + count; }
  };
  Lines intended, ahead;
  bool exclusive = false;
};

// Knows of each access when it is done, and what the cards must have counted then.
class SlowMachine {
 public:
  explicit SlowMachine(std::uint32_t stations, const Hints& hints = {})
      : counts(stations * 4),
        queue_cycles(stations),
        stations_(stations),
        hints_(hints),
        caches_(stations * 4),
        processors_(stations * 4),
        networks_(stations) {}

  // The next step of a processor's access, at a time in picoseconds, which it moves. True: it was the last.
  bool step(std::uint32_t cpu, std::uint64_t line, bool write, Time& time) {
    Processor& p = processors_[cpu];
    if (p.next == Next::kCache) return look(cpu, line, write, time);
    std::uint64_t now = time / kBus;
    bool done = false;
    switch (p.next) {
      case Next::kBus:
        send(cpu, now);
        break;
      case Next::kNetwork:
        at_network(cpu, now);
        break;
      case Next::kHome:
        at_home(cpu, now);
        break;
      case Next::kAnswer:
        done = answer(cpu, now) || !ask_ahead(cpu, line, time);
        break;
      case Next::kDropped:
        drop(cpu, now);
        done = true;
        break;
      case Next::kCache:
        break;
    }
    time = std::max(time, now * kBus);
    if (p.next == Next::kCache && !done) time += 16 * kClock;  // the exception after a time-out
    return done;
  }
  std::vector<Counts> counts;
  std::vector<std::uint64_t> queue_cycles;  // waited for memories and rings, by home

 private:
  static constexpr Time kBus = 20'000, kClock = 6'667;
  enum class Next { kCache, kBus, kNetwork, kHome, kAnswer, kDropped };
  struct Processor {
    Next next = Next::kCache;
    std::uint64_t line = 0;
    bool own = false;   // it asks for ownership
    bool held = false;  // it has a copy, and lacks ownership
    bool hint = false;
    bool locks = false;  // others of its station are refused the line by their network cache
    bool again = false, refused = false, cancelled = false;
    unsigned rsr = 0;
    std::uint64_t owed = 0;  // processor cycles that others took from it
    std::uint64_t issued = 0, exclusive = 0, retried = 0, nacks = 0, ring_wait = 0, bus_wait = 0;
  };
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

  // Nothing asks for a time before any more.
  void forget(Time before) {
    for (auto& [resource, cycles] : taken_) cycles.erase(cycles.begin(), cycles.lower_bound(before / kBus));
  }
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
  // A station's bus for a request.
  std::uint64_t take_bus(Processor& p, std::uint32_t station, std::uint64_t from, std::uint64_t cycles) {
    const std::uint64_t start = take(bus(station), from, cycles);
    p.bus_wait += start - from;
    return start;
  }
  std::uint64_t links(std::uint64_t ring, std::uint32_t size, std::uint32_t from, std::uint32_t to,
                      std::uint64_t at, std::uint64_t packets) {
    for (; from != to; from = (from + 1) % size) {
      const std::uint64_t start = take({'r', ring * 1000 + from}, at, packets);
      ring_wait_ += start - at;
      at = start + 1;
    }
    return at;
  }
  std::uint64_t ride(Processor& p, std::uint32_t from, std::uint32_t to, std::uint64_t at,
                     std::uint64_t packets) {
    ring_wait_ = 0;
    at = ride(from, to, at, packets);
    p.ring_wait += ring_wait_;
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
    processors_[cpu].owed += entirely ? 12 : 6;
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
      processors_[cpu].owed += 6;
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
      take({'n', station}, sent + 2, 16);
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

  bool look(std::uint32_t cpu, std::uint64_t line, bool write, Time& time) {
    forget(time);
    Processor& p = processors_[cpu];
    const Own& own = caches_[cpu][line % kCacheLines];
    const bool held = own.line == line && own.state != 'I';
    time += (p.owed + (p.again ? 0 : 1)) * kClock;
    if (held && (!write || own.state == 'M')) {
      time += 6 * kClock;
      p = {};
      return !ask_ahead(cpu, line, time);
    }
    p.owed = 0;
    ask(cpu, line, write || hints_.intended.contain(line), held, time);
    return false;
  }
  // The next line, where the program gives a hint for it and the cache does not have it so already.
  bool ask_ahead(std::uint32_t cpu, std::uint64_t used, Time& time) {
    const std::uint64_t line = used + 1;
    if (!hints_.ahead.contain(line)) return false;
    const bool owns = hints_.exclusive || hints_.intended.contain(line);
    const Own& own = caches_[cpu][line % kCacheLines];
    const bool held = own.line == line && own.state != 'I';
    if (held && (!owns || own.state == 'M')) return false;
    time += kClock;
    ask(cpu, line, owns, held, time);
    processors_[cpu].hint = true;
    ++counts[cpu].hints;
    if (held) ++counts[cpu].hints_for_ownership;
    return true;
  }
  void ask(std::uint32_t cpu, std::uint64_t line, bool owns, bool held, Time& time) {
    Processor& p = processors_[cpu];
    time = (time + kBus - 1) / kBus * kBus;
    const std::uint64_t owed = p.owed;
    p = {Next::kBus, line, owns, held};
    p.owed = owed;
    p.issued = p.exclusive = time / kBus;
    if (!held) ++counts[cpu].misses[line % kCacheLines];
  }
  void send(std::uint32_t cpu, std::uint64_t& now) {
    Processor& p = processors_[cpu];
    transaction(counts[cpu], 1);
    if (p.refused) {
      ++counts[cpu].retries;
      if (p.nacks == 1) p.retried = now;
    }
    p.refused = false;
    p.next = cpu / 4 == home_of(p.line) ? Next::kHome : Next::kNetwork;
    now = take_bus(p, cpu / 4, now, 1) + 1 + 2;
  }
  // It asks again 16 cycles after it heard of it; if that is too late it begins again.
  void refuse(std::uint32_t cpu, std::uint64_t returned, std::uint64_t& now) {
    Processor& p = processors_[cpu];
    const std::uint64_t back = take_bus(p, cpu / 4, returned, 1) + 1;
    transaction(counts[cpu], 1);
    if (p.hint) {
      p.locks = false;
      p.next = Next::kDropped;
      now = back;
      return;
    }
    ++p.nacks;
    p.refused = true;
    p.locks = false;
    p.next = Next::kBus;
    now = back + 16;
    if (now < p.issued + 4096) return;
    now = std::max(back, p.issued + 4096);
    count(cpu, now);
    ++counts[cpu].timed_out;
    forget_request(p);
    p.again = true;
  }
  // How long its card had seen it on the way.
  void count(std::uint32_t cpu, std::uint64_t now) {
    Processor& p = processors_[cpu];
    Counts& c = counts[cpu];
    if (!p.own) {
      ++c.reads;
      c.read_cycles += now - p.issued;
    } else if (!p.held) {
      ++c.exclusives;
      c.exclusive_cycles += now - p.exclusive;
    }
    if (p.retried != 0) {
      ++c.retried;
      c.retry_cycles += now - p.retried;
    }
  }
  // A refused hint.
  void drop(std::uint32_t cpu, std::uint64_t now) {
    count(cpu, now);
    ++counts[cpu].dropped;
    forget_request(processors_[cpu]);
  }
  static void forget_request(Processor& p) {
    const std::uint64_t owed = p.owed;
    p = {};
    p.owed = owed;
  }
  // True: it was a hint's.
  bool answer(std::uint32_t cpu, std::uint64_t now) {
    Processor& p = processors_[cpu];
    Counts& c = counts[cpu];
    count(cpu, now);
    if (p.held) ++c.upgrades, c.upgrade_cycles += now - p.issued;
    if (p.cancelled) ++c.cancelled, c.cancelled_cycles += now - p.issued;
    c.bus_wait += p.bus_wait;
    ++c.responses[p.rsr];
    transaction(c, p.held ? 1 : 9);
    const bool hint = p.hint;
    forget_request(p);
    return hint;
  }
  // Is the copy that it wants to own still there?
  void check_copy(std::uint32_t cpu, std::uint64_t now) {
    Processor& p = processors_[cpu];
    if (!p.held || caches_[cpu][p.line % kCacheLines].state != 'I') return;
    p.held = false;
    p.cancelled = true;
    p.exclusive = now;
  }

  void at_network(std::uint32_t cpu, std::uint64_t& now) {
    Processor& p = processors_[cpu];
    const std::uint64_t line = p.line;
    const bool write = p.own;
    const std::uint32_t station = cpu / 4;
    const std::uint64_t before = now;
    const std::uint64_t looked = take({'n', station}, now, 4) + 4;
    for (std::uint32_t other = station * 4; other < station * 4 + 4; ++other) {
      if (other != cpu && processors_[other].locks && processors_[other].line == line)
        return refuse(cpu, looked, now);
    }
    check_copy(cpu, now);
    const bool held = p.held;
    now = looked;
    Remote* const entry = network(station, line);
    const bool goes_home = entry == nullptr || entry->state == 'I' || (write && entry->state == 'V');
    p.locks = goes_home || entry->state == 'D';
    if (goes_home) {
      now = ride(p, station, home_of(line), now, 1);
      p.next = Next::kHome;
      return;
    }
    p.rsr = 2U | (write ? 1U : 0U) | 16U | (entry->state == 'V' ? 8U : 0U) | (entry->state != 'D' ? 4U : 0U);
    std::uint64_t done = now;
    if (entry->state == 'D') {
      const auto owner = static_cast<std::uint32_t>(dirty(station, line));
      give_up(owner, line, write);
      if (!write) entry->known = {owner};
      entry->state = 'L';
      fill(cpu, line, write ? 'M' : 'S', before);
      done = take_bus(p, station, done, 1) + 1 + 8;
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
    now = take_bus(p, station, done, packets) + packets;
    p.next = Next::kAnswer;
  }

  void at_home(std::uint32_t cpu, std::uint64_t& time) {
    Processor& p = processors_[cpu];
    const std::uint64_t line = p.line;
    const bool write = p.own;
    const std::uint32_t station = cpu / 4, home = home_of(line);
    const std::uint64_t before = time;
    std::uint64_t now = time;
    if (station != home) now = take_bus(p, home, now, 1) + 1 + 2;
    if (locked_[line] > before) {
      now += 4;
      if (station != home) now = ride(p, home, station, take_bus(p, home, now, 1) + 1, 1);
      return refuse(cpu, now, time);
    }
    check_copy(cpu, before);
    const bool held = p.held;
    Memory& m = memory_[line];
    p.rsr = (write ? 1U : 0U) | (station != home ? 2U : 0U) | (m.state == 'V' || m.state == 'I' ? 8U : 0U) |
            (m.state == 'L' || m.state == 'V' ? 4U : 0U);
    const bool valid = m.state == 'L' || m.state == 'V';
    const std::uint64_t service = 4 + (valid && !held ? 12 : 0);
    const std::uint64_t begun = take({'m', home}, now, service);
    const std::uint64_t waited = begun - now;
    const std::uint64_t looked = begun + 4;
    int owner_station = -1, owner = -1;
    std::set<std::uint32_t> reported;
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
          if (other != station) reported.insert(other);
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
      ready = ride(p, home, from, take_bus(p, home, ready, 1) + 1, 1) + 4;
      ready = owner >= 0 ? take_bus(p, from, ready, 1) + 1 + 8 : ready + 12;
      ready = take_bus(p, from, ready, 9) + 9;
    } else if (owner >= 0) {
      ready = take_bus(p, home, ready, 1) + 1 + 8;
      ready = take_bus(p, home, ready, 9) + 9;
    }
    std::uint64_t agreed = looked;
    if (!reported.empty()) {
      const std::uint64_t sent = take_bus(p, home, looked, 1) + 1;
      for (const std::uint32_t other : reported)
        agreed = std::max(agreed, take_bus(p, other, ride(p, home, other, sent, 1), 1) + 1);
    } else if (anyone) {
      agreed = take_bus(p, home, looked, 1) + 1;
    }
    ready = std::max(ready, agreed);
    const std::uint64_t packets = held ? 1 : 9;
    if (from == home) ready = take_bus(p, home, ready, packets) + packets;
    if (from != station)
      ready = take_bus(p, station, ride(p, from, station, ready, packets), packets) + packets;
    // No other request for the block until it is read, or until others have answered for it.
    const bool others_answer = owner_station >= 0 || owner >= 0 || !reported.empty();
    locked_[line] = others_answer ? ready : begun + service;
    queue_cycles[home] += waited + p.ring_wait;
    p.next = Next::kAnswer;
    time = ready;
  }

  const std::uint32_t stations_;
  const Hints hints_;
  std::vector<std::array<Own, kCacheLines>> caches_;
  std::vector<Processor> processors_;
  std::vector<std::array<Remote, kNetworkLines>> networks_;
  std::map<std::uint64_t, Memory> memory_;
  std::map<std::uint64_t, std::uint64_t> locked_;      // until when a line's memory refuses others
  std::map<Resource, std::set<std::uint64_t>> taken_;  // cycles
  std::uint64_t ring_wait_ = 0;
};

}  // namespace substrata::numachine::test
