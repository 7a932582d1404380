// numachine-conflicts: conflict misses found in the profile of a cache by line, by its average and by
// thresholds, and traced to data objects (Lemieux, section 3.3.2); the patterns of sharing distinguished.
#include <algorithm>
#include <ostream>

#include "papers/claims.hpp"
#include "papers/numachine_runs.hpp"
#include "papers/reproduction.hpp"

namespace substrata::papers {
namespace {

constexpr char kNoConflict[] = "ways=1";
constexpr char kNotPreloaded[] = "preload=0";
constexpr char kConflictInstead[] = "program=conflict";

// Every processor works in rounds on words that fall on one line of its cache; a size's amount is the rounds.
std::string conflict_of(const Case& one) {
  return "conflict:stride=1048576:ways=" + std::string(one.setting == kNoConflict ? "1" : "4") +
         ":rounds=" + std::to_string(one.size.amount);
}

Reading sharp_lines(const Case& one) {
  reset_numachine();
  run_on_numachine(conflict_of(one), one.size.nodes, "", one.seed);
  const auto found = spikes();
  std::uint64_t least = found.empty() ? 0 : ~std::uint64_t{0};
  for (const substrata_numachine_spike& spike : found) least = std::min(least, spike.misses);
  return {ratio(static_cast<double>(found.size()), one.size.nodes),
          std::to_string(found.size()) + " lines with " + std::to_string(least) + " misses or more"};
}

Reading named_lines(const Case& one) {
  reset_numachine();
  run_on_numachine(conflict_of(one), one.size.nodes, "", one.seed);
  std::uint64_t named = 0;
  const auto found = spikes();
  for (const substrata_numachine_spike& spike : found)
    named += std::string(spike.objects) == "conflict.words" ? 1 : 0;
  return {ratio(static_cast<double>(named), static_cast<double>(found.size())),
          std::to_string(named) + " of " + std::to_string(found.size()) + " lines"};
}

Reading interrupts(const Case& one) {
  reset_numachine();
  constexpr std::uint32_t kMisses = 5U << 11;
  constexpr std::uint32_t kInterrupt = 1U << 22;
  const auto threshold = static_cast<std::uint32_t>(one.setting == kNotPreloaded ? 0 : one.size.amount);
  const std::uint64_t calls =
      interrupts_beyond(threshold, kMisses | kInterrupt, conflict_of(one), one.size.nodes, "", one.seed);
  return {ratio(static_cast<double>(calls), one.size.nodes),
          std::to_string(calls) + " interrupts, lines preloaded with -" + std::to_string(threshold)};
}

// Three arrays through caches that hold a small part of them.
Reading capacity(const Case& one) {
  reset_numachine();
  const std::string stream = "stream:elements=" + std::to_string(1024 * one.size.amount) + ":rounds=1";
  run_on_numachine(one.setting == kConflictInstead ? conflict_of(one) : stream, one.size.nodes,
                   one.setting == kConflictInstead ? "" : "cache=65536", one.seed);
  const std::size_t found = spikes().size();
  return {static_cast<double>(found), std::to_string(found) + " lines stand out"};
}

struct Pattern {
  const char* workload;
  const char* object;
  const char* cause;
  const char* repeats;  // its parameter that the size multiplies
  std::uint64_t times;
};
constexpr Pattern kPatterns[] = {
    {"false-sharing", "false_sharing.words", "false sharing", "rounds", 5},
    {"true-sharing", "true_sharing.words", "true sharing", "rounds", 1},
    {"migratory", "migratory.words", "migratory data", "rounds", 1},
    {"producer-consumer:words=4096", "producer_consumer.words", "producer and consumers", "rounds", 1},
    {"conflict:stride=1048576:ways=4", "conflict.words", "conflict misses", "rounds", 1},
    {"hot-spot", "hot_spot.spot", "hot spot", "rounds", 1}};

substrata_numachine_object object_of(const Pattern& pattern, const Case& one) {
  constexpr std::uint64_t kLessOften = 5;
  const std::string workload =
      std::string(pattern.workload) + ":" + pattern.repeats + "=" +
      std::to_string(std::max<std::uint64_t>(8, pattern.times * one.size.amount / kLessOften));
  run_on_numachine(workload, one.size.nodes, one.setting, one.seed);
  for (const substrata_numachine_object& object : objects()) {
    if (std::string(object.name) == pattern.object) return object;
  }
  return {};
}

Reading patterns(const Case& one, std::string* table = nullptr) {
  double right = 0;
  std::string wrong;
  for (const Pattern& pattern : kPatterns) {
    const substrata_numachine_object object = object_of(pattern, one);
    if (std::string(object.cause) == pattern.cause) {
      ++right;
    } else {
      wrong += std::string("; ") + pattern.object + " taken for " + object.cause;
    }
    if (table != nullptr)
      *table += std::string(pattern.workload) + "," + object.name + "," + object.cause + "," +
                std::to_string(object.other_misses) + "," + std::to_string(object.invalidation_misses) + "," +
                std::to_string(object.ownership_misses) + "," + std::to_string(object.invalidations) + "\n";
  }
  return {ratio(right, std::size(kPatterns)), digits(right, 0) + " of 6" + wrong};
}

// External invalidation hits by invalidation misses: of migratory data, and the most of the other sharing programs.
Reading migratory(const Case& one) {
  double own = 0, others = 0;
  for (const Pattern& pattern : kPatterns) {
    const substrata_numachine_object object = object_of(pattern, one);
    const double by_miss =
        ratio(static_cast<double>(object.invalidations), static_cast<double>(object.invalidation_misses));
    (std::string(pattern.cause) == "migratory data" ? own : others) =
        std::max(std::string(pattern.cause) == "migratory data" ? own : others, by_miss);
  }
  return {own, digits(own, 3) + " hits a miss; of the other patterns " + digits(others, 3) + " at most"};
}

Readings measure(const Case& one) {
  Readings found;
  if (one.wants("spikes")) found["spikes"] = sharp_lines(one);
  if (one.wants("objects")) found["objects"] = named_lines(one);
  if (one.wants("interrupts")) found["interrupts"] = interrupts(one);
  if (one.wants("capacity")) found["capacity"] = capacity(one);
  if (one.wants("patterns")) found["patterns"] = patterns(one);
  if (one.wants("migratory")) found["migratory"] = migratory(one);
  return found;
}

void figures(const Setting& setting) {
  std::string table = "workload,object,cause,other,invalidation,ownership,invalidations\n";
  patterns({{"", 100, 16}, 1, "", {}}, &table);
  setting.write("numachine-conflicts.csv", [&](std::ostream& file) { file << table; });
}

}  // namespace

extern const Reproduction numachine_conflicts =
    stated("numachine-conflicts",
           "Lemieux, section 3.3.2: conflicts by cache line, thresholds, and data objects", measure, figures);

}  // namespace substrata::papers
