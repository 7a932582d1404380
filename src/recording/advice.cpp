// The rules: each asks the series for its evidence and compares it with its thresholds.
#include "recording/advice.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <ostream>

#include "base/format.hpp"
#include "base/parse.hpp"
#include "recording/advice_rules.hpp"
#include "recording/placement.hpp"
#include "recording/regions.hpp"
#include "recording/statistics.hpp"

#ifdef SUBSTRATA_JSON
#include <nlohmann/json.hpp>
#endif

namespace substrata::recording {
namespace {

std::string percent(double share) { return format("%.0f %%", 100 * share); }

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

double total_of(const Trace& trace) {
  return trace.values.size() < 2 ? 0 : trace.values.back() - trace.values.front();
}

// All rules over one timeline; what they find goes into `out`.
class Rules {
 public:
  Rules(const Timeline& timeline, Advice* out) : timeline_(timeline), out_(*out) {}

  void memory_bound() {
    begin("memory-bound");
    const double cycles = total("PAPI_TOT_CYC"), instructions = total("PAPI_TOT_INS");
    const double third = total("PAPI_L3_TCM"), misses = std::isnan(third) ? total("PAPI_L2_TCM") : third;
    if (!(cycles > 0) || !(instructions > 0) || !(misses >= 0))
      return lacks(
          "PAPI_TOT_CYC, PAPI_TOT_INS and PAPI_L3_TCM, or PAPI_L2_TCM where there is no third level");
    const double ipc = instructions / cycles, a_thousand = 1000 * misses / instructions;
    if (ipc > number("ipc_at_most") || a_thousand < number("misses_a_thousand_at_least")) return quiet();
    found("bound by memory: the processor waits for data",
          format("%.2f instructions a cycle", ipc) + ", " +
              format("%.1f misses of the last-level cache in a thousand instructions", a_thousand));
  }

  void rank_imbalance() {
    begin("rank-imbalance");
    // Seconds by region and rank; ranks that recorded themselves are writers.
    std::map<std::string, std::map<std::int64_t, double>> seconds;
    for (const Region& region : timeline_.regions)
      if (region.rank >= 0) seconds[region.name][region.rank] += region.end - region.begin;
    bool any = false;
    std::string worst;
    double most_lost = 0;
    for (const auto& [name, by_rank] : seconds) {
      if (by_rank.size() < 2) continue;
      any = true;
      double sum = 0, most = 0;
      std::int64_t slowest = 0;
      for (const auto& [rank, spent] : by_rank) {
        sum += spent;
        if (spent > most) {
          most = spent;
          slowest = rank;
        }
      }
      const double mean = sum / static_cast<double>(by_rank.size());
      if (most < number("seconds_at_least") || most - mean < number("share_at_least") * most ||
          most - mean <= most_lost)
        continue;
      most_lost = most - mean;
      worst = "in " + name + " rank " + std::to_string(slowest) + " took " + format("%.3g s", most) +
              ", the mean of " + std::to_string(by_rank.size()) + " ranks is " + format("%.3g s", mean);
    }
    if (!any) return lacks("regions of two ranks or more");
    if (worst.empty()) return quiet();
    found("ranks are not evenly loaded", worst + ": up to " + format("%.3g s", most_lost) + " lost");
  }

  void throttling() {
    begin("throttling");
    const Trace* cycles = trace("PAPI_TOT_CYC");
    const Trace* clock = trace("perf::TASK-CLOCK");
    const Trace* heat = hottest();
    if (cycles == nullptr || clock == nullptr || heat == nullptr || cycles->seconds.size() < 4)
      return lacks("PAPI_TOT_CYC, perf::TASK-CLOCK and a temperature");
    const double start = cycles->seconds.front(), stop = cycles->seconds.back(), part = (stop - start) / 4;
    const auto hertz = [&](double from, double to) {
      const double time = value_at(*clock, to) - value_at(*clock, from);
      return time > 0 ? (value_at(*cycles, to) - value_at(*cycles, from)) / time : 0;
    };
    const double first = hertz(start, start + part), last = hertz(stop - part, stop);
    const double rise = value_at(*heat, stop) - value_at(*heat, start);
    if (!(first > 0) || !(last > 0)) return lacks("processor time at the begin and at the end");
    if (1 - last / first < number("clock_loss_at_least") || rise < number("rise_at_least")) return quiet();
    found("the processor's clock fell while it became hot",
          "from " + format("%.2f GHz", first / 1e9) + " in the first quarter to " +
              format("%.2f GHz", last / 1e9) + " in the last; " + heat->series->name + " rose by " +
              format("%.0f degrees", rise) + modelled(*heat));
  }

  void mpi_waiting() {
    begin("mpi-waiting");
    const std::vector<double> shares = shares_of_mpi();
    if (shares.empty()) return lacks("an MPI program's times (substrata record -- mpirun ...)");
    const Spread spread = spread_of(shares);
    if (spread.mean < number("share_at_least")) return quiet();
    found("ranks wait in MPI", percent(spread.mean) + " of their time on the mean of " +
                                   std::to_string(shares.size()) + " ranks, " + percent(spread.min) + " to " +
                                   percent(spread.max));
  }

  void hot_package() {
    begin("hot-package");
    const Trace* heat = hottest();
    if (heat == nullptr) return lacks("a temperature");
    const double most = *std::max_element(heat->values.begin(), heat->values.end());
    const double limit = limit_of(heat->series->name);
    const bool near = std::isfinite(limit) && limit - most <= number("below_limit_at_most");
    if (most < number("degrees_at_least") && !near) return quiet();
    found("the package became hot", heat->series->name + " reached " + format("%.1f degrees C", most) +
                                        (near ? ", its limit is " + format("%.0f", limit) : "") +
                                        modelled(*heat));
  }

  void kernel_time() {
    begin("kernel-time");
    double user = 0, system = 0;
    bool any = false;
    for (const Writer& writer : timeline_.recording->writers) {
      any = any || !property(writer.end_properties, "command.system_s").empty();
      system += property_real(writer.end_properties, "command.system_s");
      user += property_real(writer.end_properties, "command.user_s");
    }
    if (!any) return lacks("the command's end");
    if (system < number("seconds_at_least") || system < number("share_at_least") * (user + system))
      return quiet();
    found("much of the processor time was the system's", format("%.2f s", system) + " of " +
                                                             format("%.2f s", user + system) + " (" +
                                                             percent(system / (user + system)) + ")");
  }

  void placement() {
    const std::vector<Placement> nodes = placements_of(*timeline_.recording);
    if (nodes.empty()) {
      out_.without.emplace_back("placement", "where the tasks ran");
      return;
    }
    const std::size_t before = out_.findings.size();
    for (const Placement& node : nodes)
      for (Finding& one : placement_findings(node)) out_.findings.push_back(std::move(one));
    if (out_.findings.size() == before) out_.quiet.emplace_back("placement");
  }

 private:
  void begin(const char* rule) { rule_.emplace(rule); }
  double number(const char* name) const { return rule_->number(name); }
  void found(const std::string& text, const std::string& evidence) {
    out_.findings.push_back(finding_of(*rule_, text, evidence));
  }
  void quiet() { out_.quiet.push_back(rule_->name()); }
  void lacks(const std::string& what) { out_.without.emplace_back(rule_->name(), what); }

  const Trace* trace(const std::string& name) const {
    for (const Trace& one : timeline_.traces)
      if (one.series->name == name && one.seconds.size() > 1) return &one;
    return nullptr;
  }
  // Of all writers; NaN where no series of that name has values.
  double total(const std::string& name) const {
    double sum = NAN;
    for (const Trace& one : timeline_.traces)
      if (one.series->name == name && one.seconds.size() > 1)
        sum = (std::isnan(sum) ? 0 : sum) + total_of(one);
    return sum;
  }
  static bool is_limit(const std::string& name) {
    for (const char* end : {":max", ":crit", ":emergency", ":critical", ":hot", ":passive", ":min", ":lcrit"})
      if (ends_with(name, end)) return true;
    return false;
  }
  // The temperature that came highest.
  const Trace* hottest() const {
    const Trace* out = nullptr;
    double most = -INFINITY;
    for (const Trace& one : timeline_.traces) {
      if (one.series->unit != "degC" || one.series->kind != Kind::kGauge || one.values.size() < 2 ||
          is_limit(one.series->name))
        continue;
      const double here = *std::max_element(one.values.begin(), one.values.end());
      if (here <= most) continue;
      most = here;
      out = &one;
    }
    return out;
  }
  double limit_of(const std::string& sensor) const {
    for (const char* end : {":max", ":crit"})
      for (const Trace& one : timeline_.traces)
        if (one.series->name == sensor + end && !one.values.empty()) return one.values.back();
    return NAN;
  }
  static std::string modelled(const Trace& trace) { return trace.series->modelled ? " (modelled)" : ""; }

#ifdef SUBSTRATA_JSON
  // Nanoseconds that the main thread of each rank waited for a free processor.
  std::map<std::int64_t, double> waits_of_ranks() const {
    std::map<std::int64_t, double> out;
    for (const Placement& node : placements_of(*timeline_.recording))
      for (const Task& task : node.tasks)
        if (task.rank >= 0 && task.pid == task.tid) out[task.rank] += 1e9 * task.waited_s;
    return out;
  }
#endif

  // Of each rank: what part of the run it neither computed nor waited for a free processor.
  std::vector<double> shares_of_mpi() const {
    std::vector<double> out;
#ifdef SUBSTRATA_JSON
    const std::map<std::int64_t, double> waits = waits_of_ranks();
    for (const Writer& writer : timeline_.recording->writers)
      for (const Attachment& attachment : writer.attachments) {
        if (attachment.name != "mpi-summary") continue;
        const nlohmann::json all = nlohmann::json::parse(attachment.content, nullptr, false);
        if (!all.is_object() || !all.contains("ranks") || !all["ranks"].is_array()) continue;
        for (const nlohmann::json& rank : all["ranks"]) {
          if (!rank.is_object() || !rank.contains("computed_ns") || !rank.contains("elapsed_ns") ||
              !rank["computed_ns"].is_number() || !rank["elapsed_ns"].is_number())
            continue;
          const double elapsed = rank["elapsed_ns"].get<double>();
          const bool numbered = rank.contains("rank") && rank["rank"].is_number_integer();
          const auto wait = waits.find(numbered ? rank["rank"].get<std::int64_t>() : -1);
          const double apart = rank["computed_ns"].get<double>() + (wait == waits.end() ? 0 : wait->second);
          if (elapsed > 0) out.push_back(std::clamp(1 - apart / elapsed, 0.0, 1.0));
        }
      }
#endif
    return out;
  }

  const Timeline& timeline_;
  Advice& out_;
  std::optional<AdviceRule> rule_;
};

}  // namespace

Advice advise(const Timeline& timeline) {
  Advice out;
  Rules rules(timeline, &out);
  rules.memory_bound();
  rules.rank_imbalance();
  rules.mpi_waiting();
  rules.placement();
  rules.throttling();
  rules.hot_package();
  rules.kernel_time();
  return out;
}

void write_advice(std::ostream& out, const Advice& advice) {
  out << "Findings\n";
  for (const Finding& one : advice.findings) {
    out << "  " << one.text << " [" << one.rule << "]\n    seen: " << one.evidence << "\n    do: " << one.cure
        << "\n";
    if (!one.limits.empty()) out << "    limit: " << one.limits << "\n";
  }
  std::string quiet, without;
  for (const std::string& rule : advice.quiet) quiet += (quiet.empty() ? "" : ", ") + rule;
  for (const auto& [rule, what] : advice.without)
    without += (without.empty() ? "" : "; ") + rule + " (needs " + what + ")";
  if (!quiet.empty()) out << "  nothing found by: " << quiet << "\n";
  if (!without.empty()) out << "  not looked at, for want of data: " << without << "\n";
}

}  // namespace substrata::recording
