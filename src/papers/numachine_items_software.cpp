// Items 20 to 23 of table 4.10: timers, and the counting and timing of basic blocks (section 3.4).
#include <algorithm>

#include "papers/numachine_blocks.hpp"
#include "papers/numachine_items.hpp"
#include "papers/numachine_runs.hpp"
#include "papers/reproduction.hpp"

namespace substrata::papers {
namespace {

constexpr std::uint32_t kOn = 1U << 23;
constexpr std::uint32_t kAlways = 1U << 11;

std::string keys(const Case& one) { return "radix:keys=" + std::to_string(one.size.amount) + ":radix=64"; }

constexpr char kNotReset[] = "timestamp=not reset";
Reading timestamp(const Case& one) {
  reset_numachine();
  run_on_numachine("hot-spot:reads=10", 1, "", one.seed);
  std::uint64_t stamp = 0;
  if (one.setting != kNotReset)
    substrata_numachine_read_doubleword(0, SUBSTRATA_NUMACHINE_TIMESTAMP_RESET, &stamp);
  const auto cycles = static_cast<double>(run_on_numachine(keys(one), one.size.nodes, "", one.seed));
  substrata_numachine_read_doubleword(0, SUBSTRATA_NUMACHINE_TIMESTAMP, &stamp);
  return {ratio(static_cast<double>(stamp), cycles),
          std::to_string(stamp) + " bus cycles, the run took " + digits(cycles, 0)};
}

// A counter that counts always, masked by PW: the time of one process, here of one phase after the other.
constexpr char kNoMask[] = "mask=none";
Reading process_time(const Case& one) {
  constexpr std::uint32_t kPhases = 24;
  const std::uint32_t mask = one.setting == kNoMask ? 0 : 1U << 9 | 1U << 7;
  const std::uint32_t nodes = 4;
  double in_phases = 0, all = 0;
  int used = 0;
  // Three counters at a time differ in the card, not in PW, so each phase takes a run.
  for (std::uint32_t phase = 0; phase < kPhases; ++phase) {
    reset_numachine();
    write_all(nodes, SUBSTRATA_NUMACHINE_PW, phase);
    write_all(nodes, SUBSTRATA_NUMACHINE_GPCM0, kOn | kAlways | mask);
    write_all(nodes, SUBSTRATA_NUMACHINE_GPCM0 + 1, kOn | kAlways);
    write_all(nodes, SUBSTRATA_NUMACHINE_GPCE, 1);
    run_on_numachine("radix:keys=" + std::to_string(one.size.amount / 4) + ":radix=64", nodes, "", one.seed);
    const std::uint32_t own = read_word(3, SUBSTRATA_NUMACHINE_COUNTERS);
    in_phases += own;
    all = read_word(3, SUBSTRATA_NUMACHINE_COUNTERS + 1);
    used += own != 0 ? 1 : 0;
  }
  return {ratio(in_phases, all), std::to_string(used) + " phases hold " + digits(in_phases, 0) + " of " +
                                     digits(all, 0) + " cycles of a processor"};
}

// The parts of the counts of all blocks that agree with what the program did.
template <typename Known>
Reading blocks(const Case& one, const std::string& parameters, const Known& of) {
  const BlockProgram program(one.size.amount, one.seed);
  reset_numachine();
  write_all(1, SUBSTRATA_NUMACHINE_SRAMCE, 1);
  MadeUpProgram running(with("processors=1", parameters), {"INSTRUCTIONS"});
  program.run(running);
  running.end();
  const std::vector<std::uint32_t> words = read_sram(0);
  double same = 0, larger = 0;
  for (std::uint32_t block = 1; block <= program.lengths.size(); ++block) {
    const double counted = words[block], wanted = of(program, block);
    same += std::min(counted, wanted);
    larger += std::max(counted, wanted);
  }
  return {ratio(same, larger), digits(same, 0) + " of " + digits(larger, 0) + " in the words of " +
                                   std::to_string(program.lengths.size()) + " blocks"};
}

constexpr char kNoBlocks[] = "blocks=none";
Reading block_counts(const Case& one) {
  return blocks(one, one.setting == kNoBlocks ? kNoBlocks : "blocks=count",
                [](const BlockProgram& program, std::uint32_t block) {
                  return static_cast<double>(program.executions_of(block));
                });
}

// Bus cycles of a block: its instructions, its branch, and five or three that take the time.
constexpr char kCounts[] = "blocks=count";
Reading block_times(const Case& one, const char* parameters, std::uint64_t instructions) {
  constexpr double kBusCycle = 20'000.0 / 6'667;  // in processor cycles
  return blocks(one, one.setting == kCounts ? kCounts : parameters,
                [instructions](const BlockProgram& program, std::uint32_t block) {
                  return static_cast<double>(program.executions_of(block) *
                                             (program.lengths[block - 1] + 1 + instructions)) /
                         kBusCycle;
                });
}
Reading block_times_by_five(const Case& one) { return block_times(one, "blocks=time", 5); }
Reading block_times_by_three(const Case& one) { return block_times(one, "blocks=difference", 3); }

}  // namespace

const std::vector<Measurement> software_measurements = {{"20", timestamp},
                                                        {"21", process_time},
                                                        {"22", block_counts},
                                                        {"23", block_times_by_five},
                                                        {"23 difference", block_times_by_three}};

}  // namespace substrata::papers
