// shrimp-categories: what it costs a program to name its procedures to the monitor (Martonosi et al., section
// 4.2).
#include <string>

#include "papers/claims.hpp"
#include "papers/counted_set.hpp"
#include "recording/sampler/measuring.hpp"

namespace substrata::papers {
using namespace sampler;
namespace {

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

}  // namespace

extern const Reproduction shrimp_categories = stated(
    "shrimp-categories", "Martonosi et al., section 4.2: overhead of per-procedure categories", measure_all);

}  // namespace substrata::papers
