// Items 8 to 19 of table 4.10: misses by program, line, kind and place, and what they cost (section 3.3).
#include <algorithm>

#include "papers/numachine_blocks.hpp"
#include "papers/numachine_items.hpp"
#include "papers/numachine_runs.hpp"
#include "papers/reproduction.hpp"

namespace substrata::papers {
namespace {

using Truth = substrata_numachine_truth;

constexpr std::uint32_t kOn = 1U << 23;
constexpr std::uint32_t kTransitions = 1U << 10;
constexpr std::uint32_t kSecondaryMisses = 5U << 11;
constexpr std::uint32_t kReceptions = 6U << 11 | 1U << 9 | 1U << 0;
constexpr std::uint32_t kByResponseState = 2U << 20 | 1U << 18 | 1U << 17 | 1U << 16 | 1U << 15;
constexpr std::uint32_t event_bits(std::uint32_t event) { return event << 11; }

std::string keys(const Case& one) { return "radix:keys=" + std::to_string(one.size.amount) + ":radix=64"; }
std::string sharing(const Case& one) { return "true-sharing:rounds=" + std::to_string(one.size.amount / 32); }

Reading share(double counted, double known, const std::string& of) {
  return {ratio(counted, known), digits(counted, 0) + " counted, " + digits(known, 0) + " " + of};
}
template <typename Known>
double sum_known(std::uint32_t processors, const Known& of) {
  double all = 0;
  for (std::uint32_t p = 0; p < processors; ++p) all += static_cast<double>(of(known(p)));
  return all;
}

constexpr char kNoTrigger[] = "trigger=never";
Reading informing(const Case& one) {
  struct Calls {
    bool active;
    std::uint64_t called = 0;
  } calls{one.setting != kNoTrigger};
  reset_numachine();
  substrata_numachine_on_miss(
      [](void* owner, std::uint32_t, const substrata_transaction*) {
        return static_cast<Calls*>(owner)->active ? 1 : 0;
      },
      [](void* owner, std::uint32_t, const substrata_transaction*) { ++static_cast<Calls*>(owner)->called; },
      &calls);
  run_on_numachine(keys(one), one.size.nodes, "", one.seed);
  substrata_numachine_on_miss(nullptr, nullptr, nullptr);
  return share(
      static_cast<double>(calls.called),
      sum_known(one.size.nodes, [](const Truth& t) { return t.misses[1] + t.misses[2] + t.misses[3]; }),
      "misses of data known");
}

// A program without phases has nothing to separate.
constexpr char kNoPhases[] = "program=true-sharing";
Reading by_phase(const Case& one) {
  constexpr int kPhases = 24;
  std::vector<std::string> events{"INSTRUCTIONS"};
  for (int phase = 0; phase < kPhases; ++phase)
    events.push_back("INSTRUCTIONS:phase=" + std::to_string(phase));
  reset_numachine();
  CountedSet set("numachine", events);
  set.start();
  run_on_numachine(one.setting == kNoPhases ? sharing(one) : keys(one), one.size.nodes, "", one.seed);
  const std::vector<long long> counted = set.stop();
  double in_phases = 0;
  int used = 0;
  for (auto part = counted.begin() + 1; part != counted.end(); ++part) {
    in_phases += static_cast<double>(*part);
    used += *part != 0 ? 1 : 0;
  }
  const double held = ratio(in_phases, static_cast<double>(counted[0]));
  return {used > 1 ? held : 0, std::to_string(used) + " phases hold " + digits(held * 100, 2) + " %"};
}

// The register is written before a run; four bits of it come to the memories.
constexpr char kNotWritten[] = "register=not written";
Reading travelling_phase(const Case& one) {
  constexpr std::uint32_t kPhase = 0x1235;
  reset_numachine();
  if (one.setting != kNotWritten) write_all(one.size.nodes, SUBSTRATA_NUMACHINE_PR, kPhase);
  CountedSet set("numachine", {"MEMORY_REQUESTS", "MEMORY_REQUESTS:phase=5"});
  set.start();
  run_on_numachine(sharing(one), one.size.nodes, "", one.seed);
  const std::vector<long long> counted = set.stop();
  return share(static_cast<double>(counted[1]), static_cast<double>(counted[0]), "requests at the memories");
}

constexpr char kSramOff[] = "sram=off";
Reading cache_profile(const Case& one) {
  reset_numachine();
  write_all(one.size.nodes, SUBSTRATA_NUMACHINE_SCM, kSecondaryMisses);
  write_all(one.size.nodes, SUBSTRATA_NUMACHINE_SRAMCE, one.setting == kSramOff ? 0 : 1);
  run_on_numachine(keys(one), one.size.nodes, "cache=65536", one.seed);
  double counted = 0;
  for (std::uint32_t p = 0; p < one.size.nodes; ++p) {
    for (const std::uint32_t misses : read_sram(p)) counted += misses;
  }
  return share(counted, sum_known(one.size.nodes, [](const Truth& t) { return t.misses[2] + t.misses[3]; }),
               "misses known");
}

// In one run: the words that passed zero, and the interrupts.
constexpr char kNotPreloaded[] = "preload=0";
Reading thresholds(const Case& one) {
  constexpr std::uint32_t kThreshold = 3, kNegative = 1U << 31;
  const std::uint32_t preload = one.setting == kNotPreloaded ? 0 : kThreshold;
  reset_numachine();
  const std::uint64_t interrupts = interrupts_beyond(preload, kSecondaryMisses | 1U << 22, keys(one),
                                                     one.size.nodes, "cache=65536", one.seed);
  double lines = 0;
  for (std::uint32_t p = 0; p < one.size.nodes; ++p) {
    for (const std::uint32_t word : read_sram(p)) lines += word < kNegative ? 1 : 0;
  }
  return share(static_cast<double>(interrupts), lines, "lines with 3 misses or more");
}

constexpr char kUpdate[] = "protocol=update";
template <typename Known>
Reading by_counter(const Case& one, std::uint32_t mode, const std::string& parameters, const Known& of) {
  reset_numachine();
  write_all(one.size.nodes, SUBSTRATA_NUMACHINE_GPCM0, kOn | mode);
  write_all(one.size.nodes, SUBSTRATA_NUMACHINE_GPCE, one.setting == kOff ? 0 : 1);
  run_on_numachine(sharing(one), one.size.nodes, parameters, one.seed);
  double counted = 0;
  for (std::uint32_t p = 0; p < one.size.nodes; ++p) counted += read_word(p, SUBSTRATA_NUMACHINE_COUNTERS);
  return share(counted, sum_known(one.size.nodes, of), "known");
}
Reading invalidation_misses(const Case& one) {
  return by_counter(one, event_bits(0xf) | kTransitions,
                    with("warm=1", one.setting == kUpdate ? kUpdate : ""),
                    [](const Truth& t) { return t.misses[2]; });
}
Reading invalidation_hits(const Case& one) {
  return by_counter(one, event_bits(0xe), one.setting == kUpdate ? kUpdate : "",
                    [](const Truth& t) { return t.invalidation_hits; });
}
Reading ownership_misses(const Case& one) {
  return by_counter(one, event_bits(7) | kTransitions, "", [](const Truth& t) { return t.misses[0]; });
}
Reading cancelled_misses(const Case& one) {
  return by_counter(one, event_bits(8) | kTransitions, "", [](const Truth& t) { return t.misses[1]; });
}

// A request is in the memory's FIFO for one cycle by itself, and as many more as it waits.
constexpr char kOneProcessor[] = "processors=1";
Reading memory_queues(const Case& one) {
  reset_numachine();
  CountedSet set("numachine", {"MEMORY_REQUESTS", "MEMORY_QUEUE_CYCLES"});
  const std::uint32_t nodes = one.setting == kOneProcessor ? 1 : one.size.nodes;
  set.start();
  run_on_numachine("hot-spot:rounds=" + std::to_string(one.size.amount / 512), nodes, "", one.seed);
  const std::vector<long long> counted = set.stop();
  double in_fifos = 0, deepest = 0;
  for (std::uint32_t station = 0; station < (nodes + 3) / 4; ++station) {
    substrata_numachine_fifo fifo[4];
    substrata_numachine_fifos(station, fifo);
    in_fifos += static_cast<double>(fifo[0].by_cycle);
    deepest = std::max(deepest, static_cast<double>(fifo[0].maximum));
  }
  // Where nothing waits there is no queue to measure.
  const double waited = static_cast<double>(counted[1]);
  return {waited == 0 ? 0 : ratio(in_fifos, static_cast<double>(counted[0]) + waited),
          digits(in_fifos, 0) + " transaction-cycles, " + digits(static_cast<double>(counted[0]), 0) +
              " requests that waited " + digits(waited, 0) + " cycles, at most " + digits(deepest, 0) +
              " deep"};
}

// What requests wait on the way shows in their latency: of reads of one memory by all, the longest against the
// shortest.
Reading network_queues(const Case& one) {
  reset_numachine();
  const std::uint32_t nodes = one.setting == kOneProcessor ? 1 : one.size.nodes + 8;
  CountedSet set("numachine", {"RING_QUEUE_CYCLES", "REMOTE"});
  set.start();
  run_on_numachine("true-sharing:rounds=" + std::to_string(one.size.amount / 64), nodes, "", one.seed);
  const std::vector<long long> counted = set.stop();
  return {counted[0] > 0 ? 1.0 : 0.0, std::to_string(counted[0]) + " cycles waited for rings in " +
                                          std::to_string(counted[1]) + " remote requests"};
}

constexpr char kNoMask[] = "mask=none";
// By the response state register: the responses with a bit, or those in their own word.
Reading by_response_state(const Case& one, bool locality) {
  reset_numachine();
  const std::uint32_t event = one.setting == kNoMask ? 6U << 11 | kTransitions : kReceptions;
  write_all(one.size.nodes, SUBSTRATA_NUMACHINE_SCM, event | kByResponseState);
  write_all(one.size.nodes, SUBSTRATA_NUMACHINE_SRAMCE, 1);
  run_on_numachine(keys(one), one.size.nodes, "", one.seed);
  double counted[32] = {}, truth[32] = {};
  for (std::uint32_t p = 0; p < one.size.nodes; ++p) {
    const std::vector<std::uint32_t> words = read_sram(p);
    for (std::uint32_t word = 0; word < words.size(); ++word) counted[word >> 11] += words[word];
    for (std::uint32_t rsr = 0; rsr < 32; ++rsr) truth[rsr] += static_cast<double>(known(p).responses[rsr]);
  }
  if (locality) {
    for (std::uint32_t rsr = 0; rsr < 32; ++rsr) {
      const std::uint32_t place = rsr >> 1 & 1U;
      if (place == rsr) continue;
      counted[place] += counted[rsr];
      truth[place] += truth[rsr];
      counted[rsr] = truth[rsr] = 0;
    }
  }
  double same = 0, larger = 0, all = 0;
  for (std::uint32_t rsr = 0; rsr < 32; ++rsr) {
    same += std::min(counted[rsr], truth[rsr]);
    larger += std::max(counted[rsr], truth[rsr]);
    all += truth[rsr];
  }
  return {ratio(same, larger), digits(same, 0) + " of " + digits(all, 0) + " responses"};
}
Reading locality(const Case& one) { return by_response_state(one, true); }
Reading memory_states(const Case& one) { return by_response_state(one, false); }

constexpr char kPrimaryOnly[] = "states=0x61";
Reading miss_cycles(const Case& one) {
  reset_numachine();
  const std::uint32_t states = one.setting == kPrimaryOnly ? 0x61 : 0x63;
  write_all(one.size.nodes, SUBSTRATA_NUMACHINE_GPCM0, kOn | event_bits(2) | states << 16);
  write_all(one.size.nodes, SUBSTRATA_NUMACHINE_GPCE, 1);
  run_on_numachine(keys(one), one.size.nodes, "", one.seed);
  double counted = 0;
  for (std::uint32_t p = 0; p < one.size.nodes; ++p)
    counted += 4.0 * read_word(p, SUBSTRATA_NUMACHINE_COUNTERS);
  return share(counted,
               sum_known(one.size.nodes,
                         [](const Truth& t) { return t.pipeline[0x9] + t.pipeline[0xa] + t.pipeline[0xb]; }),
               "known");
}

// One read of each line of an array, 28 bus cycles or 83 processor cycles each, and instructions after it that the
// processor may execute meanwhile.
constexpr char kNoOverlap[] = "overlap=0";
Reading apparent(const Case& one) {
  constexpr std::uint64_t kMiss = 83;
  const std::uint64_t work = 20 + one.seed * 7, reads = one.size.amount;
  reset_numachine();
  MadeUpProgram program(with("processors=1", one.setting == kNoOverlap ? kNoOverlap : "overlap=40"),
                        {"APPARENT_MISS_CYCLES", "INSTRUCTIONS"});
  for (std::uint64_t i = 0; i < reads; ++i) {
    program.read(i * 64);
    program.compute(work);
  }
  const std::vector<long long> counted = program.end();
  const double amcpi = ratio(static_cast<double>(counted[0]), static_cast<double>(counted[1]));
  const double wanted = static_cast<double>(kMiss - work) / static_cast<double>(work + 1);
  return {ratio(amcpi, wanted), digits(amcpi, 4) + " AMCPI; by the program " + digits(wanted, 4) + ", MCPI " +
                                    digits(static_cast<double>(kMiss) / static_cast<double>(work + 1), 4)};
}

}  // namespace

const std::vector<Measurement> memory_measurements = {{"8", informing},
                                                      {"9", by_phase},
                                                      {"9 travelling", travelling_phase},
                                                      {"10", cache_profile},
                                                      {"11", thresholds},
                                                      {"12", invalidation_misses},
                                                      {"13", invalidation_hits},
                                                      {"14", ownership_misses},
                                                      {"14 cancelled", cancelled_misses},
                                                      {"15 memory", memory_queues},
                                                      {"15 network", network_queues},
                                                      {"16", locality},
                                                      {"17", memory_states},
                                                      {"18", miss_cycles},
                                                      {"19", apparent}};

}  // namespace substrata::papers
