// numachine-conflicts: conflict misses found in the profile of a cache by line, by its average and by
// thresholds, and traced to data objects (Lemieux, section 3.3.2); the patterns of sharing distinguished.
#include <algorithm>
#include <ostream>

#include "papers/numachine_runs.hpp"
#include "papers/reproduction.hpp"

namespace substrata::papers {
namespace {

constexpr std::uint32_t kProcessors = 16;
constexpr char kConflict[] = "conflict:stride=1048576:ways=4:rounds=100";

std::vector<Observation> run_conflicts(const Setting& setting) {
  std::vector<Observation> claims;
  std::string table = "workload,object,cause,other,invalidation,ownership\n";

  reset_numachine();
  run_on_numachine(kConflict, kProcessors);
  const std::vector<substrata_numachine_spike> sharp = spikes();
  bool named = !sharp.empty();
  std::uint64_t least = ~std::uint64_t{0};
  double average = 0;
  for (const substrata_numachine_spike& spike : sharp) {
    named = named && std::string(spike.objects) == "conflict.words";
    least = std::min(least, spike.misses);
    average = std::max(average, spike.average);
  }
  claims.push_back({"sharp spikes in the profile indicate excessive conflicts at a cache line", "spikes",
                    std::to_string(sharp.size()) + " lines with " +
                        std::to_string(sharp.empty() ? 0 : least) + " misses or more, where a line has " +
                        digits(average, 3) + " on average",
                    sharp.size() == kProcessors && least == 400,
                    "each processor works on four words that fall on one line: 100 rounds of 4 misses"});
  claims.push_back({"conflicts can be traced back to the objects that map to the line",
                    "a list of candidates", named ? "conflict.words at every line" : "not named", named,
                    "in one run, by watching the average"});

  reset_numachine();
  const std::uint64_t interrupts = interrupts_beyond(50, 5U << 11 | 1U << 22, kConflict, kProcessors);
  claims.push_back(
      {"an interrupt is generated as soon as a line exceeds a number of misses", "one for each such line",
       std::to_string(interrupts) + " interrupts at the 50th miss, " + std::to_string(sharp.size()) +
           " lines",
       interrupts == sharp.size(), "the SRAM preloaded with -50 (the variant that the hardware has)"});

  reset_numachine();
  run_on_numachine("stream:elements=262144:rounds=1", kProcessors, "cache=65536");
  const std::size_t calm = spikes().size();
  claims.push_back({"a completely uniform profile primarily indicates capacity misses", "uniform",
                    std::to_string(calm) + " lines stand out", calm == 0,
                    "three arrays of 2 MB through caches of 64 KB"});

  struct Pattern {
    const char* workload;
    const char* object;
    const char* cause;
  };
  constexpr Pattern kPatterns[] = {
      {"false-sharing:rounds=500", "false_sharing.words", "false sharing"},
      {"true-sharing:rounds=100", "true_sharing.words", "true sharing"},
      {"migratory:rounds=50", "migratory.words", "migratory data"},
      {"producer-consumer:words=4096:rounds=8", "producer_consumer.words", "producer and consumers"},
      {kConflict, "conflict.words", "conflict misses"},
      {"hot-spot:rounds=16", "hot_spot.spot", "hot spot"}};
  std::size_t right = 0;
  std::string found;
  for (const Pattern& pattern : kPatterns) {
    run_on_numachine(pattern.workload, kProcessors);
    for (const substrata_numachine_object& object : objects()) {
      table += std::string(pattern.workload) + "," + object.name + "," + object.cause + "," +
               std::to_string(object.other_misses) + "," + std::to_string(object.invalidation_misses) + "," +
               std::to_string(object.ownership_misses) + "\n";
      if (std::string(object.name) != pattern.object) continue;
      right += std::string(object.cause) == pattern.cause ? 1 : 0;
      found += (found.empty() ? "" : "; ") + std::string(object.name) + ": " + object.cause;
    }
  }
  claims.push_back({"counts of invalidation, ownership and other misses characterize data sharing",
                    "patterns distinguished",
                    std::to_string(right) + " of " + std::to_string(std::size(kPatterns)) + ": " + found,
                    right == std::size(kPatterns),
                    "one program of each pattern; the rules are in docs/reference/numachine.md"});
  setting.write("numachine-conflicts.csv", [&](std::ostream& file) { file << table; });
  return claims;
}

}  // namespace

extern const Reproduction numachine_conflicts{
    "numachine-conflicts", "Lemieux, section 3.3.2: conflicts by cache line, thresholds, and data objects",
    run_conflicts};

}  // namespace substrata::papers
