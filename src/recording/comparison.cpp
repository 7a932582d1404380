// The numbers of every run by name, and what their spread over the runs allows to say.
#include "recording/comparison.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/format.hpp"
#include "recording/advice.hpp"
#include "recording/base_unit.hpp"
#include "recording/page/overview.hpp"
#include "recording/regions.hpp"
#include "recording/statistics.hpp"
#include "recording/text_report.hpp"

namespace substrata::recording {
namespace {

constexpr std::size_t kMostNamed = 40;

// Two-sided quantile of Student's distribution at 99 %; beyond 20 degrees of freedom that of 20, which is larger.
double student_99(double freedom) {
  constexpr std::array kQuantiles = {63.66, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169,
                                     3.106, 3.055, 3.012, 2.977, 2.947, 2.921, 2.898, 2.878, 2.861, 2.845};
  const double last = static_cast<double>(kQuantiles.size());
  return kQuantiles[static_cast<std::size_t>(std::clamp(std::floor(freedom + 1e-6), 1.0, last)) - 1];
}

// One number in the runs of both sides.
struct Gathered {
  ComparedNumber about;
  std::vector<double> values[2], least[2], most[2];
};

// By region, name and scope, in the order of first appearance; old runs first.
class Gathering {
 public:
  void add_run(const Timeline& recorded, int side) {
    side_ = side;
    std::deque<Series> renamed;
    const Timeline timeline = in_base_units(recorded, &renamed);
    const std::vector<Group> groups = group_traces(timeline);
    for (const OverviewNumber& one : overview_of(timeline, groups)) {
      ComparedNumber about;
      about.name = one.name;
      about.unit = one.unit;
      about.modelled = one.modelled;
      about.head = true;
      add(about, "head", one.value, one.value, one.value);
    }
    for (const Group& group : groups)
      if (group.about->scope != "recorder" && group.about->kind != Kind::kBin) add_group(group);
    std::vector<RegionTotals> regions = region_totals(timeline);
    if (regions.size() > kMostNamed) regions.resize(kMostNamed);
    for (const RegionTotals& region : regions) {
      ComparedNumber about;
      about.region = region.name;
      about.name = "time";
      about.unit = "s";
      add(about, "", region.seconds, region.seconds, region.seconds);
      for (const Group& group : groups)
        if (group.about->scope != "recorder" && group.about->kind != Kind::kBin)
          add_within(group, region, timeline);
    }
  }

  std::vector<Gathered>& all() { return all_; }

 private:
  void add(const ComparedNumber& about, const std::string& scope, double value, double least, double most) {
    const auto [at, is_new] =
        index_.try_emplace(about.region + '\n' + about.name + '\n' + scope + '\n' + about.unit, all_.size());
    if (is_new) all_.push_back({about, {}, {}, {}});
    Gathered& one = all_[at->second];
    one.values[side_].push_back(value);
    one.least[side_].push_back(least);
    one.most[side_].push_back(most);
  }
  static ComparedNumber facts_of(const Group& group) {
    ComparedNumber out;
    out.name = group.about->name;
    out.unit = group.about->unit;
    out.gauge = group.about->kind == Kind::kGauge;
    out.modelled = group.about->modelled;
    return out;
  }
  void add_group(const Group& group) {
    double sum = 0, traces = 0;
    for (const Trace* trace : group.traces) {
      const Summary one = summarize(*trace);
      if (one.samples == 0) continue;
      sum += group.about->kind == Kind::kGauge ? one.level.mean : one.total;
      ++traces;
    }
    if (traces == 0) return;
    const double value = group.about->kind == Kind::kGauge ? sum / traces : sum;
    add(facts_of(group), group.scope, value, value, value);
  }
  void add_within(const Group& group, const RegionTotals& region, const Timeline& timeline) {
    const RegionSummary one = summarize_within(group, region, timeline);
    const bool gauge = group.about->kind == Kind::kGauge;
    if (one.seconds <= 0 || (gauge && one.samples == 0)) return;
    ComparedNumber number = facts_of(group);
    number.region = region.name;
    if (gauge)
      add(number, group.scope, one.level, one.level, one.level);
    else
      add(number, group.scope, one.total, one.least, one.most);
  }

  int side_ = 0;
  std::vector<Gathered> all_;
  std::map<std::string, std::size_t> index_;
};

ComparedSide side_of(const Gathered& all, int side) {
  ComparedSide out;
  out.runs = all.values[side].size();
  if (out.runs == 0) return out;
  out.value = spread_of(all.values[side]).mean;
  out.least = spread_of(all.least[side]).mean;
  out.most = spread_of(all.most[side]).mean;
  return out;
}

// The half width of the interval in which the difference of the means of equal programs lies 99 times of 100.
std::optional<double> noise_of(const std::vector<double>& before, const std::vector<double>& after) {
  double variance[2] = {}, count[2] = {};
  const std::vector<double>* const sides[2] = {&before, &after};
  for (int side = 0; side < 2; ++side) {
    count[side] = static_cast<double>(sides[side]->size());
    const double deviation = spread_of(*sides[side]).deviation;
    if (count[side] > 1) variance[side] = deviation * deviation * count[side] / (count[side] - 1);
  }
  if (count[0] < 2 && count[1] < 2) return std::nullopt;
  double freedom = count[0] + count[1] - 2;
  if (count[0] < 2 || count[1] < 2) {
    variance[0] = variance[1] = std::max(variance[0], variance[1]);
  } else if (variance[0] + variance[1] > 0) {
    const double a = variance[0] / count[0], b = variance[1] / count[1];
    freedom = (a + b) * (a + b) / (a * a / (count[0] - 1) + b * b / (count[1] - 1));
  }
  return student_99(freedom) * std::sqrt(variance[0] / count[0] + variance[1] / count[1]);
}

ComparedNumber judged(const Gathered& all, double least_share) {
  ComparedNumber out = all.about;
  out.before = side_of(all, 0);
  out.after = side_of(all, 1);
  if (out.after.runs == 0 || out.before.runs == 0) {
    out.change = out.after.runs == 0 ? Change::kOnlyBefore : Change::kOnlyAfter;
    return out;
  }
  const double difference = out.after.value - out.before.value, size = std::fabs(out.before.value);
  if (size > 0) out.ratio = out.after.value / out.before.value;
  const std::optional<double> noise = noise_of(all.values[0], all.values[1]);
  if (noise && size > 0) out.noise = *noise / size;
  const bool bounded = out.before.least < out.before.most || out.after.least < out.after.most;
  const bool overlap = bounded && out.after.least <= out.before.most && out.before.least <= out.after.most;
  if (overlap || std::fabs(difference) <= least_share * size || std::fabs(difference) <= noise.value_or(0))
    return out;
  out.change = difference < 0 ? Change::kLess : Change::kMore;
  return out;
}

// Rules of where the tasks ran find under names of their own, and look all or none of them.
bool had_data(const Advice& advice, const std::string& rule) {
  const auto lacks = [&](std::string_view name) {
    return std::any_of(advice.without.begin(), advice.without.end(),
                       [&](const auto& one) { return one.first == name; });
  };
  const bool is_quiet = std::find(advice.quiet.begin(), advice.quiet.end(), rule) != advice.quiet.end();
  const bool found = std::any_of(advice.findings.begin(), advice.findings.end(),
                                 [&](const Finding& one) { return one.rule == rule; });
  return is_quiet || found || (!lacks(rule) && !lacks("placement"));
}

std::vector<ComparedFinding> compare_findings(const std::vector<ComparedRun>& before,
                                              const std::vector<ComparedRun>& after) {
  std::vector<Advice> advices[2];
  for (const int side : {0, 1})
    for (const ComparedRun& run : side == 0 ? before : after) {
      std::deque<Series> renamed;
      advices[side].push_back(advise(in_base_units(*run.timeline, &renamed)));
    }
  std::vector<ComparedFinding> out;
  for (const std::vector<Advice>& side : advices)
    for (const Advice& advice : side)
      for (const Finding& one : advice.findings)
        if (std::none_of(out.begin(), out.end(), [&](const auto& known) { return known.rule == one.rule; }))
          out.push_back({one.rule, {}, {}});
  for (ComparedFinding& one : out)
    for (const int side : {0, 1})
      for (const Advice& advice : advices[side]) {
        ComparedFinding::Side& of = side == 0 ? one.before : one.after;
        of.looked += had_data(advice, one.rule);
        const auto found = std::find_if(advice.findings.begin(), advice.findings.end(),
                                        [&](const Finding& each) { return each.rule == one.rule; });
        if (found == advice.findings.end()) continue;
        ++of.found;
        of.text = found->text;
        of.evidence = found->evidence;
      }
  return out;
}

// What makes the comparison one of different things.
std::vector<std::string> notes_of(const std::vector<ComparedRun>& before,
                                  const std::vector<ComparedRun>& after, double least_share) {
  std::vector<std::string> out;
  if (before.size() == 1 && after.size() == 1)
    out.push_back("one run each: the noise between runs is not known, and a difference of more than " +
                  format("%.3g %%", 100 * least_share) +
                  " counts as a change. Record each several times, and name the new runs with --with.");
  const auto of = [](const ComparedRun& run, std::string_view name) {
    return std::string(property(run.timeline->recording->writers.front().properties, name));
  };
  const std::pair<const char*, const char*> kSame[] = {{"command", "commands"},
                                                       {"host", "machines"},
                                                       {"machine.processor", "processors"},
                                                       {"machine.kernel", "kernels"},
                                                       {"software.substrata", "versions of the recorder"}};
  for (const auto& [name, called] : kSame) {
    const std::string first = of(before.front(), name);
    std::string other = first;
    for (const std::vector<ComparedRun>* side : {&before, &after})
      for (const ComparedRun& run : *side)
        if (other == first) other = of(run, name);
    if (other != first) out.push_back(std::string("different ") + called + ": " + first + " / " + other);
  }
  for (const std::vector<ComparedRun>* side : {&before, &after})
    for (const ComparedRun& run : *side)
      for (const std::string& problem : what_is_missing(*run.timeline))
        out.push_back(run.title + ": " + problem);
  return out;
}

}  // namespace

const char* ComparedFinding::state() const noexcept {
  if (before.looked == 0 || after.looked == 0) return "not comparable";
  const bool always_before = before.found == before.looked, always_after = after.found == after.looked;
  if (before.found == 0 && always_after) return "new";
  if (after.found == 0 && always_before) return "gone";
  return always_before && always_after ? "in both" : "not in every run";
}

Comparison compare(const std::vector<ComparedRun>& before, const std::vector<ComparedRun>& after,
                   double least_share) {
  Comparison out;
  out.least_share = least_share;
  Gathering gathering;
  for (const ComparedRun& run : before) {
    out.before.push_back(run.title);
    gathering.add_run(*run.timeline, 0);
  }
  for (const ComparedRun& run : after) {
    out.after.push_back(run.title);
    gathering.add_run(*run.timeline, 1);
  }
  out.notes = notes_of(before, after, least_share);
  for (const Gathered& one : gathering.all()) {
    ComparedNumber number = judged(one, least_share);
    // What never counted anything says nothing.
    const auto is_nothing = [](const ComparedSide& side) { return side.runs == 0 || side.most == 0; };
    if (is_nothing(number.before) && is_nothing(number.after)) continue;
    out.numbers.push_back(std::move(number));
  }
  // The whole run before the regions, each region with all of its numbers.
  std::map<std::string, std::size_t> order = {{"", 0}};
  for (const ComparedNumber& one : out.numbers) order.try_emplace(one.region, order.size());
  std::stable_sort(out.numbers.begin(), out.numbers.end(), [&](const auto& a, const auto& b) {
    return std::pair(order[a.region], !a.head) < std::pair(order[b.region], !b.head);
  });
  out.findings = compare_findings(before, after);
  return out;
}

}  // namespace substrata::recording
