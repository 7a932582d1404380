// numachine-overheads: what a program loses to its sequential part, to the timing of basic blocks, to miss handlers and
// to the wrong protocol, and what hints and weak consistency save of ownership misses (Lemieux, sections 3.1.6, 3.3.1,
// 3.3.2 and 3.4.2, figures 3.1 to 3.3).
#include <algorithm>
#include <ostream>

#include "papers/claims.hpp"
#include "papers/numachine_blocks.hpp"
#include "papers/numachine_runs.hpp"
#include "papers/plot.hpp"
#include "papers/reproduction.hpp"

namespace substrata::papers {
namespace {

constexpr char kLinear[] = "speedup=linear";
constexpr char kNoBlocks[] = "blocks=none";
constexpr char kSlowHandler[] = "handler=1000";
constexpr char kInvalidate[] = "protocol=invalidate";
constexpr char kNoHints[] = "intent_to=0";
constexpr char kSequential[] = "consistency=sequential";
constexpr char kHints[] = "intent_to=281474976710656";  // of all data
constexpr char kWeak[] = "consistency=weak";

// A part that one processor executes and eight as long that all share; bus cycles. 1 : 4 on two processors, as in the
// example of section 3.1.6.
double time_of(std::uint32_t processors, std::uint64_t instructions, bool parallel) {
  constexpr std::uint64_t kShares = 8;
  reset_numachine();
  std::uint64_t stamp = 0;
  substrata_numachine_read_doubleword(0, SUBSTRATA_NUMACHINE_TIMESTAMP_RESET, &stamp);
  ParallelProgram program(processors);
  program.compute(0, instructions);
  program.barrier();
  if (parallel) {
    for (std::uint32_t thread = 0; thread < processors; ++thread)
      program.compute(thread, instructions * kShares / processors);
    program.barrier();
  }
  program.end();
  substrata_numachine_read_doubleword(0, SUBSTRATA_NUMACHINE_TIMESTAMP, &stamp);
  return static_cast<double>(stamp);
}

struct Amdahl {
  double two, measured, predicted, linear;
};
Amdahl amdahl_of(std::uint32_t processors, std::uint64_t instructions) {
  const double sequential = time_of(2, instructions, false);
  const double two = time_of(2, instructions, true);
  return {two, time_of(processors, instructions, true), sequential + (two - sequential) * 2 / processors,
          two * 2 / processors};
}
Reading amdahl(const Case& one) {
  const Amdahl a = amdahl_of(one.size.nodes, one.size.amount * 100 + one.seed * 1000);
  return {a.measured / (one.setting == kLinear ? a.linear : a.predicted),
          digits(5 * a.measured / a.two, 3) + " s on " + std::to_string(one.size.nodes) +
              " where two processors take 5 s; by the parts' times " + digits(5 * a.predicted / a.two, 3) +
              " s, by linear speedup " + digits(5 * a.linear / a.two, 3) + " s"};
}

double instructions_of(const BlockProgram& blocks, const std::string& profile) {
  reset_numachine();
  MadeUpProgram program(with("processors=1", profile), {"INSTRUCTIONS"});
  blocks.run(program);
  return static_cast<double>(program.end()[0]);
}
Reading timing(const Case& one, const char* profile) {
  const BlockProgram blocks(one.size.amount, one.seed);
  const double plain = instructions_of(blocks, kNoBlocks);
  const double timed = instructions_of(blocks, one.setting == kNoBlocks ? kNoBlocks : profile);
  const double more = timed - plain;
  return {more / static_cast<double>(one.size.amount),
          digits(more / plain * 100, 1) + " % more instructions, for blocks of " +
              digits(plain / static_cast<double>(one.size.amount), 1)};
}

struct Program {
  const char* name;
  const char* workload;  // its size follows
  std::uint64_t least;   // at amount 2048; grows with it
};
constexpr Program kApplications[] = {{"fft", "fft:points=", 1024},
                                     {"radix", "radix:radix=64:keys=", 4096},
                                     {"lu", "lu:n=", 64},
                                     {"ocean", "ocean:n=", 34},
                                     {"water-spatial", "water-spatial:molecules=", 216}};

// A setting of the machine; those of the mutants are not.
std::string swept(const Case& one) {
  const bool is_mutant = one.setting == kSlowHandler || one.setting == kInvalidate ||
                         one.setting == kNoHints || one.setting == kSequential;
  return is_mutant ? "" : one.setting;
}

std::string workload_of(const Program& program, const Case& one) {
  const bool doubles = program.least == 1024 || program.least == 4096;
  return program.workload + std::to_string(doubles ? program.least * one.size.amount / 2048 : program.least);
}

double slowdown(const Program& program, const Case& one) {
  const std::string workload = workload_of(program, one);
  const auto run = [&](const std::string& parameters) {
    return static_cast<double>(run_on_numachine(workload, one.size.nodes, parameters, one.seed));
  };
  reset_numachine();
  const double plain = run(swept(one));
  substrata_numachine_on_miss(
      nullptr, [](void*, std::uint32_t, const substrata_transaction*) {}, nullptr);
  const double informed = run(one.setting == kSlowHandler ? kSlowHandler : swept(one));
  substrata_numachine_on_miss(nullptr, nullptr, nullptr);
  return informed / plain;
}
Reading handlers(const Case& one) {
  double within = 0;
  std::string all;
  for (const Program& program : kApplications) {
    const double by = slowdown(program, one);
    within += by <= 1.3 ? 1 : 0;
    all += (all.empty() ? "" : ", ") + std::string(program.name) + " " + digits((by - 1) * 100, 1) + " %";
  }
  return {within / static_cast<double>(std::size(kApplications)), all};
}

struct Shared {
  double time, invalidation, ownership, ownership_cycles, stores;
};
Shared shared(const std::string& workload, const Case& one, const std::string& parameters) {
  reset_numachine();
  Shared all{};
  all.time = static_cast<double>(run_on_numachine(workload, one.size.nodes, parameters, one.seed));
  for (std::uint32_t p = 0; p < one.size.nodes; ++p) {
    const substrata_numachine_truth truth = known(p);
    all.invalidation += static_cast<double>(truth.misses[2]);
    // Cancelled ones too (section 4.4.4: the total is the sum).
    all.ownership += static_cast<double>(truth.misses[0] + truth.misses[1]);
    all.ownership_cycles += static_cast<double>(truth.miss_cycles[0]);
    all.stores += static_cast<double>(truth.stores);
  }
  return all;
}
std::string update_or(const Case& one) {
  return one.setting == kInvalidate ? kInvalidate : "protocol=update";
}
std::string rounds(const char* workload, const Case& one) {
  return std::string(workload) + ":rounds=" + std::to_string(one.size.amount / 64);
}
Reading compared(const char* workload, const Case& one) {
  const Shared update = shared(rounds(workload, one), one, with(update_or(one), swept(one)));
  const Shared invalidate = shared(rounds(workload, one), one, swept(one));
  return {update.time / invalidate.time, digits(update.time, 0) + " bus cycles with updates, " +
                                             digits(invalidate.time, 0) + " with invalidations"};
}
Reading no_invalidation(const Case& one) {
  const Shared update = shared(rounds("true-sharing", one), one, update_or(one));
  return {update.invalidation, digits(update.invalidation, 0) + " invalidation misses"};
}
Reading every_write(const Case& one) {
  const Shared update = shared(rounds("true-sharing", one), one, update_or(one));
  return {ratio(update.ownership, update.stores),
          digits(update.ownership, 0) + " ownership misses, " + digits(update.stores, 0) + " writes"};
}

// Loads of all data say that a store is likely.
Reading hints(const Case& one) {
  const Shared plain = shared(rounds("migratory", one), one, swept(one));
  const Shared hinted =
      shared(rounds("migratory", one), one, with(one.setting == kNoHints ? kNoHints : kHints, swept(one)));
  return {hinted.time / plain.time, digits(hinted.time, 0) + " bus cycles and " +
                                        digits(hinted.ownership, 0) + " ownership misses with hints, " +
                                        digits(plain.time, 0) + " and " + digits(plain.ownership, 0) +
                                        " without"};
}
// What all processors together save when no write waits for ownership, by the latency of their ownership misses.
double saved(const Program& program, const Case& one) {
  const std::string workload = workload_of(program, one);
  const Shared sequential = shared(workload, one, swept(one));
  const Shared weak =
      shared(workload, one, with(one.setting == kSequential ? kSequential : kWeak, swept(one)));
  return ratio((sequential.time - weak.time) * one.size.nodes, sequential.ownership_cycles);
}
Reading ownership(const Case& one) {
  double most = 0;
  std::string all;
  for (const Program& program : kApplications) {
    const double by = saved(program, one);
    most = std::max(most, by);
    all += (all.empty() ? "" : ", ") + std::string(program.name) + " " + digits(by, 2);
  }
  return {most, all};
}

Readings measure(const Case& one) {
  Readings found;
  if (one.wants("amdahl")) found["amdahl"] = amdahl(one);
  if (one.wants("five")) found["five"] = timing(one, "blocks=time");
  if (one.wants("three")) found["three"] = timing(one, "blocks=difference");
  if (one.wants("handler")) found["handler"] = handlers(one);
  if (one.wants("true sharing")) found["true sharing"] = compared("true-sharing", one);
  if (one.wants("migratory")) found["migratory"] = compared("migratory", one);
  if (one.wants("no invalidation")) found["no invalidation"] = no_invalidation(one);
  if (one.wants("every write")) found["every write"] = every_write(one);
  if (one.wants("hints")) found["hints"] = hints(one);
  if (one.wants("ownership")) found["ownership"] = ownership(one);
  return found;
}

void figures(const Setting& setting) {
  const std::uint64_t amount = setting.paper_size ? 16384 : 2048;
  Series ideal{"linear", {}}, bound{"by the parts' times", {}},
      run{"runs of the model", {}, Series::Style::kImpulses};
  for (const std::uint32_t processors : {2U, 4U, 8U, 12U, 16U}) {
    const Amdahl a = amdahl_of(processors, amount * 100);
    ideal.points.emplace_back(processors, processors / 2.0);
    bound.points.emplace_back(processors, a.two / a.predicted);
    run.points.emplace_back(processors, a.two / a.measured);
  }
  setting.write("numachine-amdahl.svg", [&](std::ostream& file) {
    write_panels(file, "Figure 3.1: speedup against two processors, a fifth of their time sequential",
                 {panel("", {"processors"}, {"speedup against two"}, {ideal, bound, run})}, 1);
  });
  Series five{"five instructions (figure 3.2)", {}}, three{"three (figure 3.3)", {}};
  const BlockProgram random(amount, 1);
  for (const std::uint64_t length : {2U, 4U, 6U, 8U, 12U, 16U, 24U, 32U, 48U, 64U}) {
    BlockProgram blocks = random;
    std::fill(blocks.lengths.begin(), blocks.lengths.end(), length - 1);
    const double plain = instructions_of(blocks, kNoBlocks);
    five.points.emplace_back(length, (instructions_of(blocks, "blocks=time") / plain - 1) * 100);
    three.points.emplace_back(length, (instructions_of(blocks, "blocks=difference") / plain - 1) * 100);
  }
  setting.write("numachine-block-timing.svg", [&](std::ostream& file) {
    write_panels(file, "Figures 3.2 and 3.3: instructions that time basic blocks",
                 {panel("", {"instructions of a block"}, {"% more instructions"}, {five, three})}, 1);
  });
  Series slower{"", {}, Series::Style::kBars}, limit{"30 %", {}, Series::Style::kPaper};
  Series update{"", {}, Series::Style::kBars}, equal{"as fast", {}, Series::Style::kPaper};
  Series weak{"", {}, Series::Style::kBars}, bound_by{"all of it", {}, Series::Style::kPaper};
  const Case one{{"", setting.paper_size ? std::uint64_t{8192} : std::uint64_t{2048}, 16}, 1, "", {}};
  std::string applications, patterns;
  for (const Program& program : kApplications) {
    const auto at = static_cast<double>(slower.points.size() + 1);
    slower.points.emplace_back(at, (slowdown(program, one) - 1) * 100);
    limit.points.emplace_back(at, 30);
    weak.points.emplace_back(at, saved(program, one));
    bound_by.points.emplace_back(at, 1);
    applications += (applications.empty() ? "" : ", ") + std::string(program.name);
  }
  for (const char* workload :
       {"true-sharing", "false-sharing", "producer-consumer", "migratory", "hot-spot"}) {
    const auto at = static_cast<double>(update.points.size() + 1);
    update.points.emplace_back(at, compared(workload, one).value);
    equal.points.emplace_back(at, 1);
    patterns += (patterns.empty() ? "" : ", ") + std::string(workload);
  }
  setting.write("numachine-handlers.svg", [&](std::ostream& file) {
    write_panels(file, "Section 3.3.1: a miss handler of ten cycles",
                 {panel("", {applications, false, 0.0, 6.0}, {"% more time", false, 0.0}, {slower, limit})},
                 1);
  });
  setting.write("numachine-ownership.svg", [&](std::ostream& file) {
    write_panels(file, "Section 3.3.2: weak consistency, and the latency of ownership misses as its bound",
                 {panel("", {applications, false, 0.0, 6.0},
                        {"time saved by the latency of ownership misses", false, 0.0}, {weak, bound_by})},
                 1);
  });
  setting.write("numachine-update.svg", [&](std::ostream& file) {
    write_panels(file, "Section 3.3.2: updates against invalidations",
                 {panel("", {patterns, false, 0.0, 6.0},
                        {"time with updates by time with invalidations", false, 0.0}, {update, equal})},
                 1);
  });
}

}  // namespace

extern const Reproduction numachine_overheads =
    stated("numachine-overheads",
           "Lemieux, figures 3.1 to 3.3, sections 3.3.1 and 3.3.2: "
           "sequential parts, block timing, handlers, updates, ownership",
           measure, figures);

}  // namespace substrata::papers
