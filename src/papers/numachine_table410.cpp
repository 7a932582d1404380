// numachine-table410: each of the thesis's 23 recommended measurements, taken, and held against what the
// model knows (Lemieux, table 4.10).
#include <substrata/feed.hpp>

#include <papi.h>

#include <cmath>
#include <functional>
#include <stdexcept>

#include "papers/counted_set.hpp"
#include "papers/numachine_runs.hpp"
#include "papers/reproduction.hpp"
#include "sampler/measuring.hpp"

namespace substrata::papers {
using namespace sampler;
namespace {

constexpr std::uint32_t kProcessors = 8;
constexpr char kWorkload[] = "radix:keys=16384:radix=256";

// Registers (tables 4.4, 4.5).
constexpr std::uint32_t kOn = 1U << 23;
constexpr std::uint32_t kTransitions = 1U << 10;
constexpr std::uint32_t event_bits(std::uint32_t event) { return event << 11; }
constexpr std::uint32_t pipeline(std::uint32_t ps) { return kOn | event_bits(2) | ps << 16; }

void configure(std::initializer_list<std::uint32_t> modes) {
  reset_numachine();
  std::uint32_t number = 0;
  for (const std::uint32_t mode : modes) write_all(kProcessors, SUBSTRATA_NUMACHINE_GPCM0 + number++, mode);
  write_all(kProcessors, SUBSTRATA_NUMACHINE_GPCE, 1);
}
std::uint64_t counter(std::uint32_t processor, std::uint32_t number) {
  return read_word(processor, SUBSTRATA_NUMACHINE_COUNTERS + number);
}

// A pipeline counter moves once every four events; what is left in its hidden accumulator is lost.
struct Compared {
  std::uint64_t counted = 0;
  std::uint64_t known = 0;
  bool equal = true;
  std::string text() const {
    return std::to_string(counted) + " counted, " + std::to_string(known) + " known";
  }
};
template <typename Known>
Compared compare_pipeline(std::uint32_t number, const Known& of) {
  Compared all;
  for (std::uint32_t p = 0; p < kProcessors; ++p) {
    const std::uint64_t counted = counter(p, number);
    const std::uint64_t truth = of(known(p));
    all.equal = all.equal && counted == truth / 4;
    all.counted += counted * 4;
    all.known += truth;
  }
  return all;
}
template <typename Known>
std::uint64_t sum_known(const Known& of) {
  std::uint64_t all = 0;
  for (std::uint32_t p = 0; p < kProcessors; ++p) all += of(known(p));
  return all;
}

using Truth = substrata_numachine_truth;

std::vector<long long> count_run(const std::vector<std::string>& events, const char* parameters = "",
                                 const char* workload = kWorkload) {
  CountedSet set("numachine", events);
  set.start();
  run_on_numachine(workload, kProcessors, parameters);
  return set.stop();
}

// A live program of one thread, as a followed machine sees it: branches at mem.cpu0.accesses.
std::uint64_t count_mispredictions(std::uint64_t branches, std::uint64_t every) {
  const client::feed::Publisher publisher =
      client::feed::Source::generated("reproduce", "a made-up program of branches")
          .publisher("mem.cpu0.accesses", "branches")
          .value();
  client::feed::Following following = client::feed::Following::begin("numachine").value();
  for (std::uint64_t i = 0; i < branches; ++i) {
    substrata_transaction t{};
    t.time = i;
    t.kind = SUBSTRATA_BRANCH;
    t.state = i % every == 0 ? SUBSTRATA_MISS : SUBSTRATA_HIT;
    publisher.publish(t);
  }
  following.end();
  return known(0).branches_mispredicted;
}

class Table {
 public:
  void add(int item, const char* what, const char* paper, bool holds, std::string ours,
           std::string note = {}) {
    claims.push_back({"item " + std::to_string(item) + ": " + what + " can be measured", paper,
                      std::move(ours), holds, std::move(note)});
  }
  std::vector<Observation> claims;
};

void processor_items(Table& table) {
  configure({pipeline(0x47), pipeline(0x70), pipeline(0x67), pipeline(0x62)});
  run_on_numachine(kWorkload, kProcessors, "slip=2");
  const Compared instructions = compare_pipeline(0, [](const Truth& t) { return t.instructions; });
  table.add(1, "dynamic instruction count", "yes: pipeline counters form groups of instruction counts",
            instructions.equal && instructions.known > 0, instructions.text(),
            "running cycles of the pipeline counter, all three groups; one count every four events");
  const Compared slips =
      compare_pipeline(1, [](const Truth& t) { return t.pipeline[0x7] + t.pipeline[0xf]; });
  table.add(2, "cycles lost due to pipeline slips", "yes: pipeline counters can measure slips",
            slips.equal && slips.known > 0, slips.text(),
            "idle cycles PS[4], with stores that wait two cycles for the load before them; no-operations are "
            "counted by basic blocks (item 22)");
  const Compared stalls = compare_pipeline(2, [](const Truth& t) {
    return t.pipeline[0x9] + t.pipeline[0xa] + t.pipeline[0xb] + t.pipeline[0x6] + t.pipeline[0x8];
  });
  table.add(3, "cycles lost due to stalls", "yes: pipeline counters allow flexible grouping of stalls",
            stalls.equal && stalls.known > 0, stalls.text(), "idle cycles PS[0], PS[1], PS[2]");
  const Compared misses = compare_pipeline(3, [](const Truth& t) { return t.pipeline[0xb]; });

  // Every processor is interrupted once by a counter preloaded for its hundredth read.
  configure({pipeline(0x68), pipeline(0x08), kOn | 1U << 15 | event_bits(4) | kTransitions});
  write_all(kProcessors, SUBSTRATA_NUMACHINE_COUNTERS + 2, static_cast<std::uint32_t>(-100));
  run_on_numachine(kWorkload, kProcessors);
  const Compared killed =
      compare_pipeline(0, [](const Truth& t) { return t.pipeline[0xd] + t.pipeline[0xe]; });
  const Compared restart = compare_pipeline(1, [](const Truth& t) { return t.restart_cycles; });
  table.add(4, "pipeline flushing and restarting", "partial: restarts need processor support",
            killed.equal && restart.equal && killed.known > 0 && restart.known > 0,
            "flushing: " + killed.text() + "; restarting: " + restart.text(),
            "the modelled processor shows restarts as state 8; one interrupt a processor");

  long long faults = 0;
  {
    start_library();
    int set = PAPI_NULL;
    if (PAPI_create_eventset(&set) == PAPI_OK && PAPI_add_named_event(set, "perf::PAGE-FAULTS") == PAPI_OK &&
        PAPI_start(set) == PAPI_OK) {
      run_on_numachine(kWorkload, kProcessors);
      PAPI_stop(set, &faults);
    }
    PAPI_cleanup_eventset(set);
    PAPI_destroy_eventset(&set);
  }
  table.add(
      5, "TLB faults", "yes: can be monitored in software", faults > 0,
      std::to_string(faults) + " page faults of the run on this host",
      "in software here too, by the operating system's counter perf::PAGE-FAULTS; the model has no TLB");

  const std::uint64_t mispredicted = count_mispredictions(10'000, 8);
  table.add(6, "branch misprediction", "no: the processor does not predict branches", mispredicted == 1250,
            std::to_string(mispredicted) + " counted of 1250 among 10000 branches",
            "for a live feed that publishes branches; each kills the instruction in its delay slot");

  const std::vector<long long> hits = count_run({"NETWORK_CACHE_HITS", "REMOTE"});
  const std::uint64_t known_hits = sum_known([](const Truth& t) {
    std::uint64_t all = 0;
    for (int rsr = 16; rsr < 32; ++rsr) all += t.responses[rsr];
    return all;
  });
  table.add(7, "special hardware: network cache hits", "yes",
            hits[0] > 0 && static_cast<std::uint64_t>(hits[0]) == known_hits,
            std::to_string(hits[0]) + " of " + std::to_string(hits[1]) + " remote requests");

  struct Calls {
    std::uint64_t asked = 0, called = 0;
  } calls;
  substrata_numachine_on_miss(
      [](void* owner, std::uint32_t, const substrata_transaction*) {
        return static_cast<Calls*>(owner)->asked++ % 10 == 0 ? 1 : 0;
      },
      [](void* owner, std::uint32_t, const substrata_transaction*) { ++static_cast<Calls*>(owner)->called; },
      &calls);
  run_on_numachine(kWorkload, kProcessors);
  substrata_numachine_on_miss(nullptr, nullptr, nullptr);
  table.add(8, "informing memory operations with TRIGGER pin", "no: the processor must have support for this",
            calls.called > 0 && calls.called == (calls.asked + 9) / 10,
            std::to_string(calls.called) + " handler calls of " + std::to_string(calls.asked) + " misses",
            "the trigger was active at every tenth");

  std::vector<std::string> phases{"INSTRUCTIONS"};
  for (int phase = 0; phase < 24; ++phase) phases.push_back("INSTRUCTIONS:phase=" + std::to_string(phase));
  const std::vector<long long> parts = count_run(phases);
  long long in_phases = 0;
  int used = 0;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    in_phases += parts[i];
    used += parts[i] != 0 ? 1 : 0;
  }
  table.add(9, "performance by PhaseID", "yes: varies between 4 and 16 bits",
            in_phases == parts[0] && used > 1,
            std::to_string(used) + " phases hold all " + std::to_string(parts[0]) + " instructions");

  table.add(18, "total miss cycles", "yes: pipeline counters can count all cache miss stall cycles",
            misses.equal && misses.known > 0, misses.text(), "idle cycles PS[1]");
}

void sram_items(Table& table) {
  reset_numachine();
  constexpr std::uint32_t kThreshold = 3;
  write_all(kProcessors, SUBSTRATA_NUMACHINE_SCM, event_bits(5));  // misses by line
  write_all(kProcessors, SUBSTRATA_NUMACHINE_SRAMCE, 1);
  run_on_numachine(kWorkload, kProcessors, "cache=65536");
  std::uint64_t counted = 0;
  std::uint64_t busy_lines = 0;
  for (std::uint32_t p = 0; p < kProcessors; ++p) {
    for (const std::uint32_t misses : read_sram(p)) {
      counted += misses;
      busy_lines += misses >= kThreshold ? 1 : 0;
    }
  }
  const std::uint64_t misses = sum_known([](const Truth& t) { return t.misses[2] + t.misses[3]; });
  table.add(10, "cache activity by line", "yes: the SRAM can count cache misses",
            counted == misses && counted > 0,
            std::to_string(counted) + " misses in the SRAM, " + std::to_string(misses) + " known");

  reset_numachine();
  const std::uint64_t interrupts =
      interrupts_beyond(kThreshold, event_bits(5) | 1U << 22, kWorkload, kProcessors, "cache=65536");
  table.add(11, "cache profile with thresholds", "yes: preload the SRAM, interrupt on overflow",
            interrupts == busy_lines && interrupts > 0,
            std::to_string(interrupts) + " interrupts, " + std::to_string(busy_lines) + " lines with " +
                std::to_string(kThreshold) + " misses or more");

  reset_numachine();
  // RSR chooses the upper five bits of the address, receptions only (section 4.4.5).
  write_all(kProcessors, SUBSTRATA_NUMACHINE_SCM,
            event_bits(6) | 2U << 20 | 1U << 18 | 1U << 17 | 1U << 16 | 1U << 15 | 1U << 9 | 1U << 0);
  write_all(kProcessors, SUBSTRATA_NUMACHINE_SRAMCE, 1);
  const std::vector<long long> places = count_run({"LOCAL", "REMOTE"});
  bool equal = true;
  std::uint64_t remote = 0;
  std::uint64_t local = 0;
  std::uint64_t states = 0;
  for (std::uint32_t p = 0; p < kProcessors; ++p) {
    const std::vector<std::uint32_t> words = read_sram(p);
    const Truth truth = known(p);
    for (std::uint32_t rsr = 0; rsr < 32; ++rsr) {
      std::uint64_t here = 0;
      for (std::uint32_t rest = 0; rest < 2048; ++rest) here += words[rsr << 11 | rest];
      equal = equal && here == truth.responses[rsr];
      ((rsr & 2U) != 0 ? remote : local) += here;
      states += here;
    }
  }
  table.add(
      16, "locality of references", "yes: RSR indicates local or remote",
      static_cast<long long>(local) == places[0] && static_cast<long long>(remote) == places[1] && remote > 0,
      std::to_string(local) + " local and " + std::to_string(remote) + " remote in the SRAM; " +
          std::to_string(places[0]) + " and " + std::to_string(places[1]) + " as events");
  table.add(17, "memory state indicator", "yes: with every response", equal && states > 0,
            std::to_string(states) + " responses by their 32 response states, " +
                (equal ? "each" : "not each") + " as known");

  reset_numachine();
  write_all(1, SUBSTRATA_NUMACHINE_SRAMCE, 1);
  for (std::uint32_t block = 0; block < 15'000; ++block)  // as many basic blocks as SPICE has (section 3.4.2)
    for (std::uint32_t times = 0; times <= block % 3; ++times)
      substrata_numachine_write(0, SUBSTRATA_NUMACHINE_PROFILE + block, 0);
  std::uint64_t blocks = 0;
  for (const std::uint32_t word : read_sram(0)) blocks += word;
  table.add(22, "basic block counts", "yes: the entire 16-bit PhaseID addresses the SRAM", blocks == 30'000,
            std::to_string(blocks) + " executions of 15000 blocks, 30000 made");
  reset_numachine();
  write_all(1, SUBSTRATA_NUMACHINE_SRAMCE, 1);
  std::uint64_t time = 0;
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    substrata_numachine_write(0, SUBSTRATA_NUMACHINE_ACCUMULATE + i % 1000, 7 + i % 5);
    time += 7 + i % 5;
  }
  std::uint64_t accumulated = 0;
  for (const std::uint32_t word : read_sram(0)) accumulated += word;
  table.add(23, "basic block timing", "no: the accumulate function is not implemented", accumulated == time,
            std::to_string(accumulated) + " cycles in the SRAM, " + std::to_string(time) + " stored",
            "by profiling stores with the time as their data (section 3.4.2)");
}

void sharing_items(Table& table) {
  configure({kOn | event_bits(0xf) | kTransitions, kOn | event_bits(0xe), kOn | event_bits(7) | kTransitions,
             kOn | event_bits(8) | kTransitions});
  const std::vector<long long> v = count_run(
      {"INVALIDATION_MISSES", "INVALIDATION_HITS", "OWNERSHIP_MISSES", "OWNERSHIP_MISSES_CANCELLED"}, "",
      "true-sharing:rounds=200");
  std::uint64_t cards[4] = {};
  for (std::uint32_t p = 0; p < kProcessors; ++p)
    for (std::uint32_t i = 0; i < 4; ++i) cards[i] += counter(p, i);
  const auto is = [](long long value, std::uint64_t truth) {
    return value > 0 && static_cast<std::uint64_t>(value) == truth;
  };
  const std::uint64_t invalidation = sum_known([](const Truth& t) { return t.misses[2]; });
  const std::uint64_t hits = sum_known([](const Truth& t) { return t.invalidation_hits; });
  const std::uint64_t own = sum_known([](const Truth& t) { return t.misses[0]; });
  const std::uint64_t cancelled = sum_known([](const Truth& t) { return t.misses[1]; });
  table.add(12, "invalidation misses", "yes: an estimate", is(v[0], invalidation) && cards[0] > 0,
            std::to_string(v[0]) + " by the event, " + std::to_string(cards[0]) +
                " by the card's estimate, " + std::to_string(invalidation) + " known",
            "the event knows tags, the card does not; numachine-estimates has the error by workload");
  table.add(13, "external invalidation hits", "yes: an estimate", is(v[1], hits) && cards[1] > 0,
            std::to_string(v[1]) + " by the event, " + std::to_string(cards[1]) +
                " by the card's estimate, " + std::to_string(hits) + " known");
  table.add(14, "ownership misses", "yes: an estimate",
            is(v[2], own) && is(v[3], cancelled) && cards[2] == own && cards[3] == cancelled,
            std::to_string(v[2]) + " successful and " + std::to_string(v[3]) + " cancelled by the events, " +
                std::to_string(cards[2]) + " and " + std::to_string(cards[3]) + " by the card");

  reset_numachine();
  const std::vector<long long> q =
      count_run({"MEMORY_REQUESTS", "MEMORY_QUEUE_CYCLES", "RING_QUEUE_CYCLES"}, "", "hot-spot:rounds=8");
  std::uint64_t in_table = 0;
  std::uint64_t by_cycle = 0;
  std::uint64_t deepest = 0;
  for (std::uint32_t station = 0; station < kProcessors / 4; ++station) {
    std::uint64_t hit[4][4];
    substrata_numachine_fifo fifo[4];
    substrata_numachine_state_hits(station, hit);
    substrata_numachine_fifos(station, fifo);
    for (const auto& row : hit) in_table += row[0] + row[1] + row[2];
    by_cycle += fifo[0].by_cycle;
    deepest = std::max<std::uint64_t>(deepest, fifo[0].maximum);
  }
  // Each request is one cycle in the queue by itself, and as many more as it waits.
  const auto waited = static_cast<std::uint64_t>(q[0] + q[1]);
  table.add(15, "memory and network queue performance", "no: future monitoring implementation",
            static_cast<std::uint64_t>(q[0]) == in_table && by_cycle == waited && deepest > 1 && q[2] > 0,
            "memory queues: " + std::to_string(q[0]) + " requests, " + std::to_string(q[1]) +
                " cycles waited, at most " + std::to_string(deepest) +
                " deep; rings: " + std::to_string(q[2]) + " cycles waited",
            "the FIFO accumulators of appendix A hold " + std::to_string(by_cycle) + " transaction-cycles, " +
                std::to_string(waited) + " expected");

  const std::vector<long long> apparent =
      count_run({"APPARENT_MISS_CYCLES", "INSTRUCTIONS"}, "overlap=40", "water-spatial");
  const std::uint64_t whole = sum_known([](const Truth& t) { return t.whole_miss_cycles; });
  const std::uint64_t lost = sum_known([](const Truth& t) { return t.apparent_miss_cycles; });
  table.add(19, "apparent miss cycles (AMCPI)", "no: the R4400 has no latency-hiding mechanism",
            is(apparent[0], lost) && lost < whole,
            digits(static_cast<double>(apparent[0]) / static_cast<double>(apparent[1]), 4) + " AMCPI, " +
                digits(static_cast<double>(whole) / static_cast<double>(apparent[1]), 4) + " MCPI",
            "with computation that may go on for 40 bus cycles of a read miss");
}

void timer_items(Table& table) {
  reset_numachine();
  std::uint64_t stamp = 0;
  substrata_numachine_read_doubleword(0, SUBSTRATA_NUMACHINE_TIMESTAMP_RESET, &stamp);
  const std::uint64_t cycles = run_on_numachine(kWorkload, kProcessors);
  substrata_numachine_read_doubleword(0, SUBSTRATA_NUMACHINE_TIMESTAMP, &stamp);
  table.add(20, "time by a timestamp counter", "yes: provided by the R4400",
            stamp >= cycles && stamp <= cycles + 2,
            std::to_string(stamp) + " bus cycles, the run took " + std::to_string(cycles),
            "a 64-bit register of the card, read-and-reset at a second address");

  // A counter that counts always, masked by PW: the time of one process, here of one phase.
  std::uint64_t all = 0;
  std::uint64_t in_phases = 0;
  int phases = 0;
  for (std::uint32_t phase = 0; phase < 24; ++phase) {
    reset_numachine();
    write_all(kProcessors, SUBSTRATA_NUMACHINE_PW, phase);
    write_all(kProcessors, SUBSTRATA_NUMACHINE_GPCM0, kOn | event_bits(1) | 1U << 9 | 1U << 7);
    write_all(kProcessors, SUBSTRATA_NUMACHINE_GPCM0 + 1, kOn | event_bits(1));
    write_all(kProcessors, SUBSTRATA_NUMACHINE_GPCE, 1);
    run_on_numachine("radix:keys=4096:radix=64", kProcessors);
    in_phases += counter(3, 0);
    all = counter(3, 1);
    phases += counter(3, 0) != 0 ? 1 : 0;
  }
  table.add(21, "time of one process", "yes: a general-purpose counter can be used for this",
            in_phases == all && phases > 1,
            std::to_string(phases) + " phases hold all " + std::to_string(all) + " cycles of a processor",
            "one run a phase, PW compared with PhaseID");
}

std::vector<Observation> run_table(const Setting&) {
  Table table;
  processor_items(table);
  sram_items(table);
  sharing_items(table);
  timer_items(table);
  return table.claims;
}

}  // namespace

extern const Reproduction numachine_table410{
    "numachine-table410", "Lemieux, table 4.10: the 23 recommended measurements, taken on the model",
    run_table};

}  // namespace substrata::papers
