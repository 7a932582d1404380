// shrimp-migration, myrinet-migration: pages move to those who write them, on the monitors' interrupts (Martonosi et
// al., section 4.4, which leaves the trade-off open), and by what the Myrinet monitor sees while the program runs
// (Liao, Martonosi, Clark, section 6, which wishes for it).
#include <algorithm>
#include <iterator>
#include <span>
#include <string>

#include "papers/claims.hpp"
#include "papers/counted_set.hpp"
#include "recording/sampler/measuring.hpp"

namespace substrata::papers {
using namespace sampler;
namespace {

constexpr char kToOther[] = ":migrate_to=other";

struct Machine {
  const char* name;      // of the machine and of the component
  const char* counted;   // its event of packets
  const char* normally;  // when a page moves
  std::size_t programs;  // of those below
};

CountedRun measure(const Machine& machine, const std::string& workload, const Case& one,
                   const std::string& parameters) {
  return counted_run(machine.name, machine.counted, workload, one.size.nodes, parameters, one.seed);
}

struct Program {
  const char* name;
  const char* amount;     // the parameter that counts its data
  std::uint64_t divisor;  // of the size's amount
};
// A size's amount is the points of the FFT.
constexpr Program kPrograms[] = {{"fft", "points", 1},
                                 {"lu", "n", 0},
                                 {"ocean", "n", 0},
                                 {"radix", "keys", 1},
                                 {"water-spatial", "molecules", 128}};

std::string workload_of(const Program& program, std::uint64_t amount) {
  std::uint64_t data = program.divisor == 0 ? 0 : amount / program.divisor;
  // A square matrix with as many elements as the FFT has points.
  if (program.divisor == 0)
    for (data = 1; (data + 1) * (data + 1) <= amount; ++data) continue;
  return std::string(program.name) + ":" + program.amount + "=" + std::to_string(data);
}

// Only a page's writers decide: homes are dealt out at first, which no program would choose.
Readings measure_all(const Machine& machine, const Case& one) {
  start_library();
  Readings found;
  const std::string migration = one.setting.empty() ? machine.normally : one.setting;
  for (const Program& program : std::span(kPrograms).first(machine.programs)) {
    const std::string dealt = std::string(program.name) + "-dealt";
    const std::string best = std::string(program.name) + "-best";
    if (!one.wants(dealt) && !one.wants(best)) continue;
    const std::string workload = workload_of(program, one.size.amount);
    const bool wrong = migration.ends_with(kToOther);
    const CountedRun fixed = measure(machine, workload, one, "homes=round-robin");
    const CountedRun first = measure(machine, workload, one, "homes=first-touch");
    const CountedRun moved = measure(machine, workload, one, "homes=round-robin:" + migration);
    const CountedRun other =
        wrong ? moved : measure(machine, workload, one, "homes=round-robin:" + migration + kToOther);
    const auto text = [](const CountedRun& traffic) {
      return digits(1e3 * traffic.seconds, 1) + " ms, " + std::to_string(traffic.count) + " packets";
    };
    const std::string shown = workload + ": " + text(moved) + "; to the node after " + text(other) +
                              "; dealt out " + text(fixed) + "; first touch " + text(first);
    const double without = std::min(fixed.seconds, other.seconds);
    found[dealt] = {moved.seconds / without, shown};
    found[best] = {moved.seconds / std::min(without, first.seconds), shown};
  }
  return found;
}

// Packets of one size from one sender to one page.
Readings measure_shrimp(const Case& one) {
  return measure_all({"shrimp", "PACKETS", "migrate=16", std::size(kPrograms)}, one);
}
// Diffs of one sender to one page.
Readings measure_myrinet(const Case& one) {
  return measure_all({"myrinet", "PACKETS_SENT", "migrate=2", 3}, one);
}

}  // namespace

extern const Reproduction shrimp_migration =
    stated("shrimp-migration", "Martonosi et al., section 4.4: adaptive page migration", measure_shrimp);

extern const Reproduction myrinet_migration =
    stated("myrinet-migration", "Myrinet monitor, section 6: page migration while the program runs",
           measure_myrinet);

}  // namespace substrata::papers
