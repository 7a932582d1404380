// The NUMAchine multiprocessor in time: processors, caches, buses, rings and memories around the protocol,
// with the monitors' cards listening.
#pragma once

#include <substrata/feed.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "numachine/execution.hpp"
#include "numachine/invalidation_estimates.hpp"
#include "numachine/parameters.hpp"
#include "numachine/protocol.hpp"
#include "numachine/rack.hpp"
#include "numachine/truth.hpp"

namespace substrata::numachine {

inline constexpr client::feed::Source kSource = client::feed::Source::simulated(
    "numachine", "a NUMAchine multiprocessor: stations, network caches, rings");

// Times at which a resource is taken. A request may come for a time before what is taken already.
class Calendar {
 public:
  // The first time from `earliest` on at which it is free for `length`; takes it. No call asks for a time
  // before `now` any more.
  Time reserve(Time now, Time earliest, Time length);

 private:
  static constexpr std::size_t kMostTaken = 16;  // before what is over is removed
  std::vector<std::pair<Time, Time>> taken_;     // in order, apart
};

// Decides whether a miss handler is called (informing memory operations with TRIGGER pin, section 3.3.3).
struct MissInformer {
  bool (*trigger)(void* owner, std::uint32_t cpu, const substrata_transaction& response) = nullptr;
  void (*handler)(void* owner, std::uint32_t cpu, const substrata_transaction& response) = nullptr;
  void* owner = nullptr;
};

// One machine. Accesses of different processors are reported in the order of time, up to the invalidation window.
// Every call, construction and destruction too, needs a Rack::Use of the calling thread.
class Model {
 public:
  // Throws std::runtime_error when another machine has the rack, or the feed refuses.
  Model(const Parameters& parameters, std::uint16_t program);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const Parameters& parameters() const noexcept { return p_; }
  std::uint32_t processors() const noexcept { return protocol_.processors(); }
  Time window() const noexcept { return p_.invalidate_window * p_.processor_ps; }

  // The access is served by the primary cache: charges one cycle and returns true. Else nothing happens.
  bool quick(std::uint32_t cpu, std::uint64_t address, unsigned size, bool write, Time& now) noexcept {
    Cpu& c = cpus_[cpu];
    const std::uint64_t line = address >> primary_shift_;
    if (c.primary[(line & primary_mask_) * 2 + (write ? 1U : 0U)] != line || c.stage != Stage::kIdle ||
        ((address + size - 1) >> primary_shift_) != line || c.debt != 0) [[unlikely]]
      return false;
    write ? ++c.stores : ++c.loads;
    slip(c, write, now);
    now += p_.processor_ps;
    return true;
  }
  // Plain reads and writes in a row, as long as the processor's caches serve them and time does not pass
  // `horizon`; charges what quick() and step() would. Gives the first that was not served. A record has
  // is_plain(), is_write() and address(); a plain one lies within one line of the primary cache.
  template <typename Record>
  const Record* serve_by_caches(std::uint32_t cpu, const Record* first, const Record* last, Time horizon,
                                Time& now) noexcept {
    Cpu& c = cpus_[cpu];
    if (c.stage != Stage::kIdle || c.debt != 0) return first;
    const bool secondary = secondary_serves_unseen(c);
    const Record* at = first;
    while (at != last && now <= horizon) {
      const Record* const from = at;
      at = serve_by_primary(c, at, last, horizon, now);
      if (p_.slip_cycles != 0 && at != from) continue;  // it served one
      if (at == last || now > horizon || !at->is_plain()) break;
      if (!secondary || !hits_secondary(c, cpu, at->address(), at->is_write(), now)) break;
      ++at;
    }
    return at;
  }
  // Has an access begun that is not done yet?
  bool is_under_way(std::uint32_t cpu) const noexcept {
    return cpus_[cpu].stage != Stage::kIdle || cpus_[cpu].offset != 0 || cpus_[cpu].restarts;
  }
  // Is one of its accesses on the way? Then the caches serve nothing, and it is to be stepped.
  bool is_requesting(std::uint32_t cpu) const noexcept { return cpus_[cpu].stage != Stage::kIdle; }
  // The same for one access of any size and place. False: not served.
  bool serve_by_caches(std::uint32_t cpu, std::uint64_t address, unsigned size, bool write,
                       Time& now) noexcept {
    return quick(cpu, address, size, write, now) ||
           serve_by_secondary(cpus_[cpu], cpu, address, size, write, now);
  }
  // The next step of an access, at `now`, which it moves. True: the access is done. Else to be called again
  // with the same access at the moved time, in the order of all processors' times.
  bool step(std::uint32_t cpu, std::uint64_t address, unsigned size, bool write, bool fetch,
            std::uint64_t site, Time& now);
  // An access that the caches do not serve will be stepped soon. Changes nothing.
  void expect(std::uint32_t cpu, std::uint64_t address) {
    if (!p_.shape.split && cpus_[cpu].stage == Stage::kIdle)
      protocol_.expect(cpu, protocol_.line_of(address));
  }
  void compute(std::uint32_t cpu, std::uint64_t cycles, Time& now) noexcept {
    Cpu& c = cpus_[cpu];
    const std::uint64_t hidden = std::min(cycles, c.credit);
    c.credit -= hidden;
    c.computed += cycles;
    now += (cycles - hidden) * p_.processor_ps;
  }
  // A taken branch: a call or a return.
  void call(std::uint32_t cpu, Time& now) noexcept {
    ++cpus_[cpu].branches;
    now += p_.processor_ps;
  }
  void branch(std::uint32_t cpu, bool mispredicted, Time& now);
  // Do the parameters ask for more detail than an instruction a cycle? Then every access is translated before its first
  // step, and the four below are called where they apply.
  bool has_execution() const noexcept { return !executions_.empty(); }
  void translate(std::uint32_t cpu, std::uint64_t address, unsigned size, Time& now);
  void compute_mix(std::uint32_t cpu, std::uint64_t cycles, Time& now);
  // From the block at `from`, 0: the one that the last branch led to, to that at `block`, 0: not known.
  void branch_to(std::uint32_t cpu, std::uint64_t from, std::uint64_t block, bool mispredicted, Time& now);
  void enter_block(std::uint32_t cpu, std::uint32_t number, Time& now);
  void set_phase(std::uint32_t cpu, std::uint16_t phase, Time now);
  // Lets the cards and the feed catch up; the machine can go on afterwards.
  void settle(Time now);
  void let_others_in() { rack_.let_others_in(); }
  void inform(const MissInformer& informer) noexcept { informer_ = informer; }

  // Up to the last settle.
  const Truth& truth(std::uint32_t cpu) const noexcept { return cpus_[cpu].truth; }
  const LineProfiles& lines() const noexcept { return lines_; }
  // Misses of a processor by line of its secondary cache, ownership and invalidation misses left out.
  const std::vector<std::uint32_t>& profile(std::uint32_t cpu) const noexcept { return cpus_[cpu].profile; }
  Protocol& protocol() noexcept { return protocol_; }
  std::uint64_t bus_busy(std::uint32_t station) const noexcept { return stations_[station].bus_busy; }
  std::uint64_t queue_cycles(std::uint32_t station) const noexcept { return stations_[station].queue_cycles; }
  std::uint64_t requests(std::uint32_t station) const noexcept { return stations_[station].requests; }
  std::uint64_t published() const noexcept { return published_; }

 private:
  static constexpr std::uint64_t kNoPrimary = ~std::uint64_t{0};  // no line's number

  enum class Stage : std::uint8_t { kIdle, kIssue, kNetworkCache, kHome, kDone, kUncached, kWord };
  struct Cpu {
    // The inner loop's.
    std::vector<std::uint64_t> primary;  // the line that may be read, and the one that may be written
    Stage stage = Stage::kIdle;
    std::uint64_t loads = 0, stores = 0, computed = 0, branches = 0, slips = 0;  // since the last flush
    std::uint64_t secondary_hits = 0;  // of those that took no step, since then
    bool after_load = false;
    std::uint64_t debt = 0;    // processor cycles taken by snoops
    std::uint64_t credit = 0;  // processor cycles of the last miss that computation can still hide
    // The request.
    std::uint64_t offset = 0;  // into the access, of the line that is worked on
    std::uint64_t line = 0;
    bool is_fetch = false;
    Want want = Want::kRead;
    MissType type = MissType::kOther;
    bool is_write = false;
    bool missed_estimate = false;
    bool restarts = false;       // after a bus error: it was counted already
    bool was_refused = false;    // since the last time it had the bus
    bool overtaken = false;      // another's update of the line came after its own was sent
    bool goes_again = false;     // the update it was overtaken with
    bool locks_network = false;  // its station's network cache refuses others the line until it is answered
    bool prefetches = false;     // nothing waits for the line
    bool is_dropped = false;     // a hint that was refused
    std::uint64_t demanded = 0;  // the address worked on before the hint
    std::int32_t supplier = -1;  // processor that gave up its dirty line
    std::uint64_t address = 0;
    std::uint64_t site = 0;
    Time issued = 0;
    Time first_retry = 0;
    Time exclusive_since = 0;  // issued, or when an upgrade was cancelled
    std::uint32_t nacks = 0;
    std::uint64_t ring_wait = 0;
    std::uint64_t interrupts = 0;  // of its card, that were served
    std::uint32_t bus_wait = 0, bus_busy = 0;
    std::uint8_t response_state = 0;
    BlockState met = BlockState::kNotIn;
    // An uncached write leaves the processor when it gets the bus; until then the next ones wait behind it.
    Time write_starts = 0, write_left = 0;
    struct Later {
      Time at = 0;
      std::uint32_t packets = 0;  // 0: none
      std::uint16_t command = 0;
      std::uint64_t line = 0;
    };
    Later later;  // what its card sees when that comes
    // Around it.
    std::uint32_t station = 0;
    ProcessorCard* card = nullptr;
    client::feed::Publisher bus;
    std::uint16_t phase = 0;
    // Beside what the inner loop has, since its instructions were published last; cycles are the processor's.
    struct Unpublished {
      std::uint64_t instructions = 0, loads = 0, stores = 0;
      std::uint64_t branches = 0, mispredicted = 0, tlb_misses = 0, tlb_cycles = 0;
      bool any = false;
    };
    Unpublished unpublished;
    std::uint64_t apparent = 0;
    std::uint64_t stalled = 0;
    InvalidationHitEstimate hit_estimate;
    InvalidationMissEstimate miss_estimate;
    Time probe_at = 0;  // of the invalidation that waits for its probe; 0: none
    std::uint64_t probe_index = 0;
    bool probe_valid = false;
    std::vector<std::uint32_t> profile;
    Truth truth;
  };
  struct FifoChange {
    Time at;
    std::int32_t transactions;
    std::int32_t packets;
    bool outgoing;
  };
  struct Station {
    Calendar bus;
    Calendar network_cache;
    Calendar block_memory;
    std::uint64_t bus_busy = 0;
    std::uint64_t queue_cycles = 0;
    std::uint64_t requests = 0;
    client::feed::Publisher memory;
    std::vector<FifoChange> changes;  // in the order of their times
    std::size_t changed = 0;          // the first so many have been applied
    client::feed::Publisher bus_trace;
    std::vector<substrata_transaction> traced;  // to be published, in the order of time
  };
  // What a transaction on a bus or ring says of itself (table 4.1).
  struct Carried {
    std::uint32_t cpu;
    std::uint64_t line;
    std::uint16_t command;
    std::uint16_t phase;
  };

  template <typename Record>
  const Record* serve_by_primary(Cpu& c, const Record* first, const Record* last, Time horizon,
                                 Time& now) noexcept {
    if (c.stage != Stage::kIdle || c.debt != 0) return first;
    const std::uint64_t* const primary = c.primary.data();
    const std::uint64_t mask = primary_mask_;
    const unsigned shift = primary_shift_;
    // Each takes a cycle, so their number is bounded by the horizon; with slips one at a time.
    if (now > horizon) return first;
    const std::uint64_t until_horizon = p_.slip_cycles == 0 ? (horizon - now) / p_.processor_ps + 1 : 1;
    const Record* const end =
        first + std::min<std::uint64_t>(static_cast<std::uint64_t>(last - first), until_horizon);
    std::uint64_t stores = 0;
    const Record* at = first;
    for (; at != end; ++at) {
      const Record record = *at;
      const std::uint64_t write = record.is_write() ? 1 : 0;
      const std::uint64_t line = record.address() >> shift;
      if (primary[(line & mask) * 2 + write] != line || !record.is_plain()) [[unlikely]]
        break;
      stores += write;
    }
    const auto served = static_cast<std::uint64_t>(at - first);
    if (served == 0) return first;
    c.loads += served - stores;
    c.stores += stores;
    now += served * p_.processor_ps;
    if (p_.slip_cycles != 0) {
      slip(c, first->is_write(), now);
    } else {
      c.after_load = !at[-1].is_write();
    }
    return at;
  }
  // May hits in the secondary cache be served without a step: no observer, nothing in between.
  bool secondary_serves_unseen(const Cpu& c) const noexcept {
    return c.stage == Stage::kIdle && c.debt == 0 && c.offset == 0 && c.probe_at == 0 && !p_.shape.split &&
           p_.prefetch_lines == 0 && !c.card->enabled();
  }
  bool serve_by_secondary(Cpu& c, std::uint32_t cpu, std::uint64_t address, unsigned size, bool write,
                          Time& now) noexcept {
    return secondary_serves_unseen(c) &&
           protocol_.line_of(address + size - 1) == protocol_.line_of(address) &&
           hits_secondary(c, cpu, address, write, now);
  }
  // Within one line. False: no hit, and nothing happened.
  bool hits_secondary(Cpu& c, std::uint32_t cpu, std::uint64_t address, bool write, Time& now) noexcept {
    const std::uint64_t line = protocol_.line_of(address);
    const CacheState state = protocol_.state_of(cpu, line);
    const bool writable = state == CacheState::kModified;
    if (!writable && (write || state == CacheState::kInvalid)) return false;
    slip(c, write, now);
    write ? ++c.stores : ++c.loads;
    const auto index = static_cast<std::uint32_t>(protocol_.index_of(line));
    c.hit_estimate.access(index, true);
    c.miss_estimate.access(index, true);
    ++c.secondary_hits;
    now += (1 + p_.secondary_stall) * p_.processor_ps;
    fill_primary(c, address, writable);
    return true;
  }
  // What hits_secondary() counted.
  void charge_secondary_hits(Cpu& c) noexcept {
    c.truth.primary_misses += c.secondary_hits;
    c.truth.pipeline[static_cast<unsigned>(Pipeline::kDataCacheStall)] +=
        c.secondary_hits * p_.secondary_stall;
    c.stalled += c.secondary_hits * p_.secondary_stall;
    c.secondary_hits = 0;
  }
  // A store right after a load is taken to store what was loaded, and waits for it.
  void slip(Cpu& c, bool write, Time& now) const noexcept {
    if (write && c.after_load) {
      c.slips += p_.slip_cycles;
      now += p_.slip_cycles * p_.processor_ps;
    }
    c.after_load = !write;
  }
  std::uint64_t cycle(Time time) const noexcept { return base_cycle_ + time / p_.bus_ps; }
  Time whole_cycle(Time time) const noexcept { return (time + p_.bus_ps - 1) / p_.bus_ps * p_.bus_ps; }
  std::uint64_t bus_address(std::uint64_t line, std::uint32_t cpu) const noexcept;
  void flush(Cpu& c);
  void flush_instructions(Cpu& c, std::uint32_t cpu, Time now);
  static void add_unpublished(const Cpu& c, substrata_transaction& instructions) noexcept;
  void charge_instructions(Cpu& c);
  void execute(Cpu& c, Pipeline state, std::uint64_t instructions);
  std::uint32_t number_of_block(std::uint64_t address);
  void charge(Cpu& c, Pipeline state, std::uint64_t cycles);
  void end_overlap(Cpu& c);

  bool look_up(std::uint32_t cpu, Time& now);
  void show_access(std::uint32_t cpu, Found found, std::uint64_t index, Time now);
  void begin_request(std::uint32_t cpu, Found found, std::uint64_t index, Time& now);
  bool begin_prefetch(std::uint32_t cpu, Time& now);
  void end_prefetch(Cpu& c, Time now);
  void issue(std::uint32_t cpu, Time& now);
  void at_network_cache(std::uint32_t cpu, Time& now);
  void at_home(std::uint32_t cpu, Time& now);
  bool complete(std::uint32_t cpu, Time& now);
  void refuse(std::uint32_t cpu, Time returned, Time& now);
  void turn_back(std::uint32_t cpu, Time returned, Time& now);
  bool check_ownership(Cpu& c, std::uint32_t cpu, Time now);
  // What all that the machine publishes of a line says alike.
  void describe(substrata_transaction& t, Time now, std::uint64_t line, std::uint32_t initiator,
                std::uint16_t kind, std::uint16_t phase) const noexcept {
    t = {};
    t.time = now;
    t.address = Protocol::physical(line) * p_.shape.line_bytes;
    t.initiator = initiator;
    t.target = protocol_.home_of(line);
    t.size = static_cast<std::uint32_t>(p_.shape.line_bytes);
    t.kind = kind;
    t.program = program_;
    t.phase = phase;
    t.flags = SUBSTRATA_FLAG_MODELLED;
  }
  bool is_updated(std::uint64_t line) const noexcept {
    return p_.shape.update != (line - p_.other_first < p_.other_lines);
  }
  // Does a load, or a hint, bring ownership with it?
  bool intends_store(std::uint64_t line, bool is_hint) const noexcept {
    return ((is_hint && p_.prefetches_own) || line - p_.intent_first < p_.intent_lines) && !is_updated(line);
  }
  // Line by line, so that the next one is asked for while this one is worked on.
  bool is_prefetched(std::uint64_t line) const noexcept {
    return line - p_.prefetch_first < p_.prefetch_lines;
  }
  bool is_uncached(std::uint64_t line) const noexcept { return line - p_.uncached_first < p_.uncached_lines; }
  bool begin_uncached(std::uint32_t cpu, Time& now);
  void write_uncached(Cpu& c, std::uint32_t cpu, Time& now);
  void at_memory(std::uint32_t cpu, Time& now);
  void complete_uncached(std::uint32_t cpu, Time& now);
  void publish_uncached(Cpu& c, std::uint32_t cpu, Time now, std::uint16_t kind, std::uint64_t detail);
  void bus_error(Cpu& c, Time& now);
  void lower_levels(Cpu& c);
  Time send_from_memory(std::uint32_t home, Time now, Time ready, std::uint64_t packets, Cpu& c,
                        std::uint16_t command);
  Time queue_at_memory(std::uint32_t home, Time now, Time arrived, std::uint64_t packets,
                       std::uint64_t service, std::uint16_t phase);
  void write_home(const Carried& what, std::uint32_t from, BlockState met, Time now, Time sent);
  void write_back(const Step& step, std::uint32_t cpu, Time now);

  Carried carried(const Cpu& c, std::uint16_t command) const noexcept {
    return {static_cast<std::uint32_t>(&c - cpus_.data()), c.line, command, c.phase};
  }
  Time reserve_bus(std::uint32_t station, Time now, Time earliest, std::uint64_t cycles, const Carried& what,
                   std::uint64_t* waited);
  Time take_bus(std::uint32_t station, Time now, Time earliest, std::uint64_t cycles, Cpu& c,
                std::uint16_t command);
  Time over_ring(std::uint32_t from, std::uint32_t to, Time now, Time earliest, std::uint64_t packets,
                 std::uint16_t phase, std::uint64_t* waited);
  void note(QueueMonitor& queue, Time now, Time asked, Time begun, std::uint64_t service,
            std::uint16_t phase);
  void trace_bus(std::uint32_t station, Time now, Time asked, Time start, std::uint64_t packets,
                 const Carried& what);
  void publish_traced(Station& s, Time upto);
  // Its card, at that time; what it was to see before comes first.
  void bring_card(Cpu& c, Time now) {
    if (c.later.packets != 0 && c.later.at <= now) [[unlikely]]
      show_later(c);
    c.card->at(cycle(now));
  }
  void show_later(Cpu& c);
  void after_step(const Step& step, std::uint32_t cpu, Time now);
  void deliver(const Delivery& delivery, std::uint32_t by, Time now);
  void probe_invalidation(Cpu& c, Time now);
  void fill_primary(Cpu& c, std::uint64_t address, bool writable) noexcept {
    const std::uint64_t line = address >> primary_shift_;
    c.primary[(line & primary_mask_) * 2] = line;
    c.primary[(line & primary_mask_) * 2 + 1] = writable ? line : kNoPrimary;
  }
  void drop_primary(Cpu& c, std::uint64_t line, bool only_writable) noexcept;
  void profile_miss(const Cpu& c, std::uint32_t cpu);
  LineProfile& profile_of(std::uint64_t line);
  void change_fifo(std::uint32_t station, const FifoChange& change);
  void apply_changes(std::uint32_t station, Time upto);
  void publish_request(Cpu& c, std::uint32_t cpu, Time& now, std::uint32_t latency);
  void serve_interrupts(Cpu& c, Time& now);
  void take_exception(Cpu& c, Time& now);
  void follow_phase(Cpu& c, std::uint32_t cpu, Time now);
  void open_probes();
  void close_probes();

  const Parameters p_;
  const std::uint16_t program_;
  Rack& rack_;
  Protocol protocol_;
  std::vector<Cpu> cpus_;
  std::vector<Station> stations_;
  std::vector<Calendar> links_;  // outgoing link of each place on each ring
  LineProfiles lines_;
  std::vector<Execution> executions_;                        // by processor, where there is more detail
  std::unordered_map<std::uint64_t, std::uint32_t> blocks_;  // the numbers of basic blocks, by address
  MissInformer informer_;
  std::uint64_t base_cycle_ = 0;
  unsigned line_shift_ = 6;
  unsigned primary_shift_ = 5;
  std::uint64_t primary_mask_ = 0;
  std::uint64_t scatter_ = 0;
  std::uint64_t published_ = 0;
};

}  // namespace substrata::numachine
