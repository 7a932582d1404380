// shrimp-categories: what it costs a program to name its procedures to the monitor (Martonosi et al., section
// 4.2).
#include <limits>
#include <string>

#include "papers/counted_set.hpp"
#include "papers/reproduction.hpp"
#include "recording/sampler/measuring.hpp"

namespace substrata::papers {
using namespace sampler;
namespace {

constexpr double kSameOrder = 1.5;  // ours by the paper's, or the reverse; the paper says "roughly"
constexpr double kRadix = 0.62;
constexpr double kWater = 0.28;
constexpr double kEisaCycles = 15;

// A setting is "bus=xpress" (commands by the other bus), "coarse" (radix names its phases only), "length=CYCLES" of the
// procedures, "tag=CYCLES" of a tag's change, "both" (commands at both ends of a procedure) or "procedures" (each of
// them, instead of phases).
struct Model {
  std::string length;
  std::string bus = "eisa";
  bool coarse = false;
  unsigned nodes = 0;
};

Model model_of(const Case& one) {
  Model model;
  model.nodes = one.size.nodes;
  if (one.setting.starts_with("length=")) model.length = ":" + one.setting;
  if (one.setting == "bus=xpress") model.bus = "xpress";
  if (one.setting == "bus=eisa") model.bus = "eisa";
  model.coarse = one.setting == "coarse";
  return model;
}

struct Overhead {
  double share;  // of the unmonitored time
  long long commands;
};

Overhead measure_with(const std::string& workload, const std::string& parameters, unsigned nodes,
                      std::uint64_t seed) {
  const auto run = [&](const std::string& setting) {
    return counted_run("shrimp", "COMMANDS", workload, nodes, setting, seed);
  };
  const CountedRun named = run(parameters);
  return {named.seconds / run("categories=off").seconds - 1, named.count};
}
Overhead measure(const std::string& workload, const std::string& bus, unsigned nodes, std::uint64_t seed) {
  return measure_with(workload, "categories=" + bus, nodes, seed);
}

std::string text(const Overhead& overhead) { return std::to_string(overhead.commands) + " commands"; }

// `amount` counts radix's keys; a molecule goes with 512 of them.
Readings measure_all(const Case& one) {
  start_library();
  const Model model = model_of(one);
  const std::string fine = std::string(":procedures=") + (model.coarse ? "coarse" : "fine");
  const std::string keys = "radix:keys=" + std::to_string(one.size.amount);
  const std::string radix = keys + fine + model.length;
  const std::string water =
      "water-spatial:molecules=" + std::to_string(one.size.amount / 512) + ":procedures=fine" + model.length;
  Readings found;
  const auto run = [&](const std::string& workload, const std::string& bus) {
    return measure(workload, bus, model.nodes, one.seed);
  };
  // On one node nothing waits for pages.
  const auto alone = [&](const std::string& workload) {
    return one.setting.empty() && one.seed == 1
               ? "; on one node " + shown(measure(workload, model.bus, 1, one.seed).share, "%")
               : std::string();
  };
  if (one.wants("radix") || one.wants("order")) {
    const Overhead of_radix = run(radix, model.bus);
    found["radix"] = {of_radix.share, text(of_radix) + alone(radix)};
    if (one.wants("order")) {
      const Overhead of_water = run(water, model.bus);
      found["order"] = {of_radix.share / of_water.share, "radix " + shown(of_radix.share, "%") +
                                                             ", water-spatial " + shown(of_water.share, "%")};
      found["water"] = {of_water.share, text(of_water) + alone(water)};
    }
  }
  if (one.wants("water") && !found.contains("water")) {
    const Overhead of_water = run(water, model.bus);
    found["water"] = {of_water.share, text(of_water) + alone(water)};
  }
  if (one.wants("xpress")) {
    const double eisa = run(radix, "eisa").share;
    const double other = run(radix, one.setting == "bus=eisa" ? "eisa" : "xpress").share;
    found["xpress"] = {other / eisa * kEisaCycles, shown(other, "%") + " instead of " + shown(eisa, "%")};
  }
  const std::string named = keys + ":procedures=fine";
  if (one.wants("begin")) {
    const double both = run(named, "eisa").share;
    const double begin =
        measure_with(named, one.setting == "both" ? "categories=eisa" : "categories=eisa:categories_at=begin",
                     model.nodes, one.seed)
            .share;
    found["begin"] = {begin / both, shown(begin, "%") + " instead of " + shown(both, "%")};
  }
  const std::string tags =
      "tag_changes=yes" + (one.setting.starts_with("tag=") ? ":" + one.setting : std::string());
  if (one.wants("tags-seldom"))
    found["tags-seldom"] = {
        measure_with(one.setting == "procedures" ? named : keys, tags, model.nodes, one.seed).share};
  if (one.wants("tags-often")) {
    const double category = run(named, "eisa").share;
    const double tag = measure_with(named, tags, model.nodes, one.seed).share;
    found["tags-often"] = {tag / category,
                           shown(tag, "%") + ", categories " + shown(category, "%") + " of the run time"};
  }
  if (one.wants("coarse")) {
    const Overhead coarse = run(one.setting == "procedures" ? keys + ":procedures=fine" : keys, "eisa");
    found["coarse"] = {coarse.share, text(coarse)};
  }
  return found;
}

const Unsourced kLength{
    "the length of the procedures in cycles (counted here from SPLASH-2's operations: 40 and 84)",
    {"length=10", "length=20", "length=40", "length=80", "length=160"}};

const Unsourced kTag{"the cycles of a protected write of a page tag (600 are ours)",
                     {"tag=100", "tag=300", "tag=1200", "tag=2400"}};

Criterion roughly(double paper) {
  return {
      "run time with a command by EISA at begin and end of each procedure, beyond that without; within a "
      "factor of "
      "1.5, which is ours",
      "%", paper / kSameOrder, kSameOrder * paper};
}

Study study() {
  constexpr double kNoBound = std::numeric_limits<double>::infinity();
  return {
      {{"radix",
        {"4.2", "naming every procedure lengthens radix, whose procedures are short and called often",
         "roughly 62 %"},
        roughly(kRadix),
        Interval::kMean,
        "nothing",
        {kLength},
        {"bus=xpress", "the EISA bus's 15 cycles of a command"}},
       {"water",
        {"4.2", "naming every procedure lengthens water-spatial, whose procedures are moderate",
         "roughly 28 %"},
        roughly(kWater),
        Interval::kMean,
        "nothing",
        {kLength},
        {"bus=xpress", "the EISA bus's 15 cycles of a command"}},
       {"order",
        {"4.2", "frequent calls of short procedures cost more than moderate ones",
         "62 % for radix, 28 % for water-spatial"},
        {"radix's overhead by water-spatial's", "", 1, kNoBound},
        Interval::kMean,
        "nothing",
        {kLength},
        {"coarse", "radix's frequent calls"}},
       {"xpress",
        {"3.5", "commands from the Xpress bus would cost one cycle instead of 15",
         "1/15 (computed; not run)"},
        {"fifteen times the overhead by Xpress, by that by EISA", "", 0.95, 1.05},
        Interval::kRange,
        "the two costs are the paper's own, so that only their effect is tested",
        {},
        {"bus=eisa", "the other bus"}},
       {"coarse",
        {"4.2", "coarse categories cost considerably less", "considerably lower (no figure given)"},
        {"run time of radix when only its phases are named, beyond that without; 1 % is ours", "%", -0.01,
         0.01},
        Interval::kMean,
        "nothing",
        {},
        {"procedures", "the coarseness: each procedure is named"}},
       {"begin",
        {"4.2", "a command at a procedure's begin alone costs less than one at both ends",
         "often enough (no figure given)"},
        {"radix's overhead with commands at begins, by that with commands at both ends; 0.75 is ours", "", 0,
         0.75},
        Interval::kMean,
        "nothing",
        {},
        {"both", "the omission of the commands at the ends"}},
       {"tags-seldom",
        {"4.2", "infrequent changes of page tags cost little", "probably not significant (no figure given)"},
        {"run time of radix when each of its phases changes a tag, beyond that without; 1 % is ours", "%",
         -0.01, 0.01},
        Interval::kMean,
        "nothing",
        {kTag},
        {"procedures", "the infrequency: each procedure changes a tag"}},
       {"tags-often",
        {"4.2", "frequent changes of page tags cost more than categories, since they are protected",
         "more expensive; may be problematic (no figure given)"},
        {"radix's overhead when each procedure changes a tag, by that of naming each; 5 % more are ours", "",
         1.05, kNoBound},
        Interval::kMean,
        "nothing",
        {kTag},
        {"tag=15", "the protection: a tag is written as a category is"}}},
      {{"8192 keys, 16 molecules, 4 nodes", 8192, 4},
       {"16384 keys, 32 molecules, 8 nodes", 16384, 8},
       {"32768 keys, 64 molecules, 16 nodes", 32768, 16}},
      {{"131072 keys, 256 molecules, 8 nodes", 131072, 8},
       {"131072 keys, 256 molecules, 16 nodes", 131072, 16},
       {"262144 keys, 512 molecules, 32 nodes", 262144, 32},
       {"262144 keys, 512 molecules, 16 nodes", 262144, 16}},
      measure_all};
}

}  // namespace

extern const Reproduction shrimp_categories{
    .id = "shrimp-categories",
    .title = "Martonosi et al., section 4.2: overhead of per-procedure categories",
    .study = study};

}  // namespace substrata::papers
