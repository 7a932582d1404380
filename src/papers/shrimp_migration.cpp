// shrimp-migration: pages move to those who write them, on the monitors' interrupts (Martonosi et al.,
// section 4.4, which leaves the trade-off open).
#include <ostream>

#include "papers/counted_set.hpp"
#include "papers/reproduction.hpp"
#include "papers/shrimp_runs.hpp"
#include "sampler/measuring.hpp"

namespace substrata::papers {
using namespace sampler;
namespace {

constexpr std::uint32_t kNodes = 16;
constexpr const char* kThreshold = "16";  // packets of one size from one sender to one page

struct Traffic {
  double seconds = 0;
  long long packets = 0;
  long long bytes = 0;
};

Traffic measure(const std::string& workload, const std::string& migrate) {
  Traffic found;
  CountedSet set("shrimp", {"PACKETS", "BYTES"});
  set.start();
  found.seconds = run_on_shrimp(workload, kNodes, "homes=round-robin:migrate=" + migrate);
  const std::vector<long long> values = set.stop();
  found.packets = values[0];
  found.bytes = values[1];
  return found;
}

std::string change(double before, double after) {
  const double percent = 100 * (after / before - 1);
  return (percent > 0 ? "+" : "") + digits(percent, 1) + " %";
}

struct Program {
  const char* workload;
  bool has_main_writers;
  bool time_falls;  // what is claimed of it besides its traffic
};

std::vector<Claim> run_migration(const Setting& setting) {
  start_library();
  constexpr Program kPrograms[] = {{"lu", true, true},
                                   {"fft:points=65536", true, true},
                                   {"ocean", true, false},
                                   {"radix", false, false},
                                   {"water-spatial", false, false}};
  std::vector<Claim> claims;
  std::string table = "program,migration,seconds,packets,bytes\n";
  bool some_lose = false;
  std::string without_main_writer;
  for (const Program& program : kPrograms) {
    const Traffic fixed = measure(program.workload, "0");
    const Traffic moved = measure(program.workload, kThreshold);
    for (const bool migrating : {false, true}) {
      const Traffic& one = migrating ? moved : fixed;
      table += std::string(program.workload) + "," + (migrating ? kThreshold : "off") + "," +
               digits(one.seconds, 6) + "," + std::to_string(one.packets) + "," + std::to_string(one.bytes) +
               "\n";
    }
    const std::string ours =
        "time " + digits(1e3 * fixed.seconds, 1) + " to " + digits(1e3 * moved.seconds, 1) + " ms (" +
        change(fixed.seconds, moved.seconds) + "), packets " + std::to_string(fixed.packets) + " to " +
        std::to_string(moved.packets) + " (" +
        change(static_cast<double>(fixed.packets), static_cast<double>(moved.packets)) + ")";
    if (program.has_main_writers) {
      const bool less_traffic = moved.packets < fixed.packets && moved.bytes < fixed.bytes;
      claims.push_back(
          {std::string(program.time_falls ? "time and traffic" : "traffic") + " of " + program.workload +
               " fall when pages move to the processor that updates them most",
           "performance is improved (no figure given)", ours,
           less_traffic && (!program.time_falls || moved.seconds < fixed.seconds),
           program.time_falls ? "homes dealt out round robin at first; interrupts, commands, tags and "
                                "moves are charged"
                              : "its time is that of its barriers and boundaries and hardly changes"});
    } else {
      some_lose = some_lose || moved.seconds > fixed.seconds;
      without_main_writer +=
          (without_main_writer.empty() ? "" : "; ") + std::string(program.workload) + ": " + ours;
    }
  }
  claims.push_back({"the overhead of migration must be balanced against its benefits",
                    "must be balanced (the trade-off was ongoing work)", without_main_writer, some_lose,
                    "pages that many processors write: to move them costs more than it saves"});
  setting.write("shrimp-migration.csv", [&](std::ostream& file) { file << table; });
  return claims;
}

}  // namespace

extern const Reproduction shrimp_migration{
    "shrimp-migration", "Martonosi et al., section 4.4: adaptive page migration", run_migration};

}  // namespace substrata::papers
