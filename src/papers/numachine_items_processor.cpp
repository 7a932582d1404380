// Items 1 to 7 of table 4.10: instructions, slips, stalls, exceptions, TLB, branches, special hardware (section 3.2).
#include "papers/numachine_blocks.hpp"
#include "papers/numachine_items.hpp"
#include "papers/numachine_runs.hpp"
#include "papers/reproduction.hpp"

namespace substrata::papers {
namespace {

using Truth = substrata_numachine_truth;

constexpr std::uint32_t kOn = 1U << 23;
constexpr std::uint32_t kPipeline = 2U << 11;
constexpr std::uint32_t kReads = 4U << 11 | 1U << 10;
constexpr std::uint32_t kInterrupt = 1U << 15;

std::string keys(const Case& one) { return "radix:keys=" + std::to_string(one.size.amount) + ":radix=64"; }

Reading share(double counted, double known, const std::string& of) {
  return {ratio(counted, known), digits(counted, 0) + " counted, " + digits(known, 0) + " " + of};
}

// A pipeline counter moves once every four events; what is left in its hidden accumulator is lost (section 4.3.2).
template <typename Known>
Reading pipeline(const Case& one, std::uint32_t states, const std::string& parameters, const Known& of) {
  reset_numachine();
  write_all(one.size.nodes, SUBSTRATA_NUMACHINE_GPCM0, kOn | kPipeline | states << 16);
  write_all(one.size.nodes, SUBSTRATA_NUMACHINE_GPCE, 1);
  run_on_numachine(keys(one), one.size.nodes, parameters, one.seed);
  double counted = 0, truth = 0;
  for (std::uint32_t p = 0; p < one.size.nodes; ++p) {
    counted += 4.0 * read_word(p, SUBSTRATA_NUMACHINE_COUNTERS);
    truth += static_cast<double>(of(known(p)));
  }
  return share(counted, truth, "known");
}

constexpr char kNoMemoryInstructions[] = "states=0x46";
Reading instructions(const Case& one) {
  return pipeline(one, one.setting == kNoMemoryInstructions ? 0x46 : 0x47, "mix_branches=150:mix_floats=100",
                  [](const Truth& t) { return t.instructions; });
}

constexpr char kNoSlips[] = "mix_slips=0";
Reading slips(const Case& one) {
  return pipeline(one, 0x70, one.setting == kNoSlips ? "" : "mix_slips=50:mix_float_slips=30",
                  [](const Truth& t) { return t.pipeline[0x7] + t.pipeline[0xf]; });
}

constexpr char kNoBlocks[] = "blocks=none";
// Each block ends in a branch with a NOP behind it, where its profiling store is put.
Reading nops(const Case& one) {
  const BlockProgram blocks(one.size.amount, one.seed);
  reset_numachine();
  write_all(1, SUBSTRATA_NUMACHINE_SRAMCE, 1);
  MadeUpProgram program(with("processors=1:delay=nop", one.setting == kNoBlocks ? kNoBlocks : "blocks=count"),
                        {"INSTRUCTIONS"});
  blocks.run(program);
  program.end();
  double counted = 0;
  for (const std::uint32_t word : read_sram(0)) counted += word;
  return share(counted, static_cast<double>(one.size.amount),
               "branches of the program, with a NOP behind each");
}

constexpr char kNoSecondary[] = "states=0x65";
Reading stalls(const Case& one) {
  return pipeline(one, one.setting == kNoSecondary ? 0x65 : 0x67, "", [](const Truth& t) {
    return t.pipeline[0x9] + t.pipeline[0xa] + t.pipeline[0xb] + t.pipeline[0x6] + t.pipeline[0x8];
  });
}

// Every processor is interrupted once by a counter preloaded for its twentieth read.
constexpr char kNoInterrupt[] = "interrupt=none";
Reading exceptions(const Case& one, std::uint32_t states, std::uint64_t cycles_each) {
  reset_numachine();
  write_all(one.size.nodes, SUBSTRATA_NUMACHINE_GPCM0, kOn | kPipeline | states << 16);
  if (one.setting != kNoInterrupt) {
    write_all(one.size.nodes, SUBSTRATA_NUMACHINE_GPCM0 + 1, kOn | kReads | kInterrupt);
    write_all(one.size.nodes, SUBSTRATA_NUMACHINE_COUNTERS + 1, static_cast<std::uint32_t>(-20));
  }
  write_all(one.size.nodes, SUBSTRATA_NUMACHINE_GPCE, 1);
  run_on_numachine(keys(one), one.size.nodes, "", one.seed);
  double counted = 0;
  for (std::uint32_t p = 0; p < one.size.nodes; ++p)
    counted += 4.0 * read_word(p, SUBSTRATA_NUMACHINE_COUNTERS);
  return share(counted, static_cast<double>(one.size.nodes * cycles_each),
               "cycles of one interrupt a processor");
}
Reading flushing(const Case& one) { return exceptions(one, 0x68, 8); }
Reading restarting(const Case& one) { return exceptions(one, 0x08, 8); }

// One read of each line of an array, page after page: a miss for each pair of pages.
constexpr char kNoTlb[] = "tlb=0";
Reading tlb(const Case& one, bool time) {
  constexpr std::uint64_t kPair = 8192, kLine = 64, kCyclesOfAMiss = 8 + 8 + 10;
  const std::uint64_t pairs = one.size.amount / 64 + one.seed;
  reset_numachine();
  MadeUpProgram program(with("processors=1", one.setting == kNoTlb ? kNoTlb : "tlb=48"),
                        {time ? "TLB_CYCLES" : "TLB_MISSES"});
  for (std::uint64_t address = 0; address < pairs * kPair; address += kLine) program.read(kPair + address);
  const auto counted = static_cast<double>(program.end()[0]);
  return share(
      counted, static_cast<double>(pairs * (time ? kCyclesOfAMiss : 1)),
      time ? "cycles of the misses that the program makes" : "pairs of pages that the program visits");
}
Reading tlb_misses(const Case& one) { return tlb(one, false); }
Reading tlb_time(const Case& one) { return tlb(one, true); }

// A loop goes round many times, again and again: its end is not foreseen, nor its first way round.
constexpr char kNoPredictor[] = "predictor=0";
Reading branches(const Case& one) {
  constexpr std::uint32_t kLoop = 5, kAfter = 6, kRounds = 30;
  const std::uint64_t loops = one.size.amount / 32 + one.seed;
  reset_numachine();
  MadeUpProgram program(
      with("processors=1:delay=nop", one.setting == kNoPredictor ? kNoPredictor : "predictor=64"),
      {"BRANCHES_MISPREDICTED"});
  program.branch(kLoop);
  for (std::uint64_t loop = 0; loop < loops; ++loop) {
    for (std::uint32_t round = 0; round < kRounds; ++round) program.branch(kLoop);
    program.branch(kAfter);
    program.branch(kLoop);
  }
  const auto counted = static_cast<double>(program.end()[0]);
  return share(counted, static_cast<double>(loops + 2),
               "by two bits of trust: the first of each way, each loop's end");
}

constexpr char kOneStation[] = "processors=4";
Reading network_cache(const Case& one) {
  CountedSet set("numachine", {"NETWORK_CACHE_HITS"});
  const std::uint32_t nodes = one.setting == kOneStation ? 4 : one.size.nodes + 4;
  reset_numachine();
  set.start();
  run_on_numachine(keys(one), nodes, "", one.seed);
  const auto counted = static_cast<double>(set.stop()[0]);
  double hits = 0;
  for (std::uint32_t p = 0; p < nodes; ++p) {
    for (int rsr = 16; rsr < 32; ++rsr) hits += static_cast<double>(known(p).responses[rsr]);
  }
  return share(counted, hits, "responses known to come from it");
}

}  // namespace

const std::vector<Measurement> processor_measurements = {
    {"1", instructions},   {"2 slips", slips},        {"2 NOPs", nops},  {"3", stalls},
    {"4 flush", flushing}, {"4 restart", restarting}, {"5", tlb_misses}, {"5 time", tlb_time},
    {"6", branches},       {"7", network_cache}};

}  // namespace substrata::papers
