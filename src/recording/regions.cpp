// Sums over the passes of a region.
#include "recording/regions.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "recording/statistics.hpp"
#include "recording/text_report.hpp"

namespace substrata::recording {
namespace {

using Stretch = std::pair<double, double>;

// Stretches that overlap become one: what a series counts there is counted once.
std::vector<Stretch> united(std::vector<Stretch> stretches) {
  std::sort(stretches.begin(), stretches.end());
  std::vector<Stretch> out;
  for (const Stretch& one : stretches) {
    if (!out.empty() && one.first <= out.back().second)
      out.back().second = std::max(out.back().second, one.second);
    else
      out.push_back(one);
  }
  return out;
}

double length_of(const std::vector<Stretch>& stretches) {
  double sum = 0;
  for (const Stretch& one : stretches) sum += one.second - one.first;
  return sum;
}

// How much a count that never falls has at least and at most grown in a stretch, and the time between the
// first and the last sample within it.
struct Bounds {
  double least = 0;
  double most = 0;
  double seconds = 0;
};
Bounds bounds_of(const Trace& trace, const Stretch& stretch) {
  const std::vector<double>&at = trace.seconds, &values = trace.values;
  const auto index = [&](auto found) { return static_cast<std::size_t>(found - at.begin()); };
  const std::size_t first_in = index(std::lower_bound(at.begin(), at.end(), stretch.first));
  const std::size_t after_last_in = index(std::upper_bound(at.begin(), at.end(), stretch.second));
  const std::size_t after_begin = index(std::upper_bound(at.begin(), at.end(), stretch.first));
  const std::size_t last_out = index(std::lower_bound(at.begin(), at.end(), stretch.second));
  Bounds out;
  if (after_last_in > first_in) {
    out.least = std::max(0.0, values[after_last_in - 1] - values[first_in]);
    out.seconds = at[after_last_in - 1] - at[first_in];
  }
  // Before its first sample a count began at 0; after the last it did not go on.
  const double before = after_begin == 0 ? 0 : values[after_begin - 1];
  out.most = std::max(0.0, values[std::min(last_out, values.size() - 1)] - before);
  return out;
}

std::optional<double> last_value(const Series& series) {
  for (std::size_t row = series.values.size(); row-- > 0;)
    if (series.present_at(row)) return series.value_at(row);
  return std::nullopt;
}

// What the ranks themselves counted in the region, with the regions inside of it; nothing where that does not
// follow from what they counted by innermost region.
std::optional<double> counted_exactly(const Group& group, const RegionTotals& region,
                                      const Timeline& timeline) {
  const std::string& series = group.about->name;
  const bool bytes = series == "mpi:::bytes" || series == "mpi:::rank:bytes";
  if (timeline.phases.empty() || (!bytes && series != "mpi:::messages" && series != "mpi:::rank:messages"))
    return std::nullopt;
  const auto count_of = [&](const PhaseCount& phase) { return bytes ? phase.bytes : phase.messages; };
  // The series must have counted the same messages.
  double counted = 0, sampled = 0;
  for (const PhaseCount& phase : timeline.phases) counted += count_of(phase);
  for (const Trace* trace : group.traces) sampled += last_value(*trace->series).value_or(0);
  if (counted != sampled) return std::nullopt;

  // Every other region lies in passes of this one or apart from them, and those outside of it are of its kind:
  // regions of single ranks take precedence over sections of all.
  std::vector<std::string_view> names = {region.name};
  const auto known = [&](std::string_view name) {
    return std::any_of(timeline.phases.begin(), timeline.phases.end(),
                       [&](const PhaseCount& phase) { return phase.name == name; });
  };
  if (!known(region.name)) return std::nullopt;
  std::map<std::string_view, std::pair<std::size_t, std::size_t>> others;  // passes in all, and within
  for (const Region& other : timeline.regions) {
    if (other.name == region.name) continue;
    auto& [all, within] = others[other.name];
    ++all;
    for (const Region* pass : region.regions) {
      if (other.end <= pass->begin || other.begin >= pass->end) continue;
      if (pass->rank >= 0 && other.rank >= 0 && pass->rank != other.rank) continue;
      if (other.begin >= pass->begin && other.end <= pass->end && (pass->rank < 0 || other.rank >= 0)) {
        ++within;
        break;
      }
      const bool around = other.begin <= pass->begin && other.end >= pass->end;
      if (!around || (other.rank >= 0 && pass->rank < 0)) return std::nullopt;
    }
  }
  for (const auto& [name, passes] : others) {
    if (passes.second == 0) continue;
    if (passes.second != passes.first) return std::nullopt;
    names.push_back(name);
  }
  for (const std::string_view name : names)
    if (std::find(timeline.cut_regions.begin(), timeline.cut_regions.end(), name) !=
        timeline.cut_regions.end())
      return std::nullopt;
  double sum = 0;
  for (const PhaseCount& phase : timeline.phases)
    if (std::find(names.begin(), names.end(), phase.name) != names.end()) sum += count_of(phase);
  return sum;
}

}  // namespace

std::vector<RegionTotals> region_totals(const Timeline& timeline) {
  std::vector<RegionTotals> out;
  std::map<std::string_view, std::size_t> index;
  for (const Region& region : timeline.regions) {
    const auto [at, is_new] = index.try_emplace(region.name, out.size());
    if (is_new) {
      out.emplace_back();
      out.back().name = region.name;
    }
    RegionTotals& totals = out[at->second];
    ++totals.passes;
    totals.open += region.open ? 1 : 0;
    totals.seconds += region.end - region.begin;
    totals.regions.push_back(&region);
  }
  return out;
}

std::vector<RegionPath> region_paths(const Timeline& timeline) {
  constexpr std::size_t kDeepest = 16;
  std::vector<RegionPath> nodes;
  std::vector<std::vector<std::size_t>> below;  // of each node
  std::vector<std::size_t> roots;
  struct Around {
    double end;
    std::size_t node;
  };
  std::map<std::pair<std::size_t, std::int32_t>, std::vector<Around>> open;  // by writer and rank
  for (const Region& region : timeline.regions) {
    std::vector<Around>& stack = open[{region.writer, region.rank}];
    while (!stack.empty() && stack.back().end < region.end) stack.pop_back();
    const bool inside = !stack.empty();
    if (stack.size() >= kDeepest) continue;
    std::vector<std::size_t>& beside = inside ? below[stack.back().node] : roots;
    const auto same = std::find_if(beside.begin(), beside.end(),
                                   [&](std::size_t one) { return nodes[one].names.back() == region.name; });
    const std::size_t node = same == beside.end() ? nodes.size() : *same;
    if (node == nodes.size()) {
      beside.push_back(node);  // before the others grow: it refers to one of them
      nodes.emplace_back();
      if (inside) nodes.back().names = nodes[stack.back().node].names;
      nodes.back().names.push_back(region.name);
      below.emplace_back();
    }
    const double seconds = region.end - region.begin;
    ++nodes[node].passes;
    nodes[node].seconds += seconds;
    nodes[node].own += seconds;
    if (inside) nodes[stack.back().node].own -= seconds;
    stack.push_back({region.end, node});
  }
  std::vector<RegionPath> out;
  std::vector<std::size_t> next(roots.rbegin(), roots.rend());
  while (!next.empty()) {
    const std::size_t node = next.back();
    next.pop_back();
    out.push_back(std::move(nodes[node]));
    out.back().own = std::max(0.0, out.back().own);
    next.insert(next.end(), below[node].rbegin(), below[node].rend());
  }
  return out;
}

RegionSummary summarize_within(const Group& group, const RegionTotals& region, const Timeline& timeline) {
  RegionSummary out;
  bool any = false;
  const bool gauge = group.about->kind == Kind::kGauge;
  const auto host = [&](std::size_t writer) {
    return property(timeline.recording->writers[writer].properties, "host");
  };
  const auto has_own = [&](const Region* pass) {
    return std::any_of(group.traces.begin(), group.traces.end(),
                       [&](const Trace* trace) { return trace->writer == pass->writer; });
  };
  double area = 0, rise = 0, weight = 0, within = 0;
  std::vector<Stretch> covered;
  for (const Trace* trace : group.traces) {
    // The series of the process that was in the region; where it has none, those of its node.
    const std::int64_t rank = rank_of_scope(trace->series->scope);
    std::vector<Stretch> passes;
    for (const Region* pass : region.regions) {
      if (rank >= 0 && pass->rank >= 0 && rank != pass->rank) continue;
      if (has_own(pass) ? trace->writer == pass->writer : host(trace->writer) == host(pass->writer))
        passes.emplace_back(pass->begin, pass->end);
    }
    for (const Stretch& pass : united(std::move(passes))) {
      const Summary one = summarize(*trace, pass.first, pass.second);
      if (one.seconds <= 0) continue;
      covered.push_back(pass);
      out.samples += one.samples;
      area += one.level.mean * one.seconds;
      rise += one.change;
      weight += one.seconds;
      if (!gauge) {
        const Bounds bounds = bounds_of(*trace, pass);
        out.total += one.total;
        out.least += bounds.least;
        out.most += bounds.most;
        within += bounds.seconds;
      }
      const Spread& range = gauge ? one.level : one.rate;
      out.min = any ? std::min(out.min, range.min) : range.min;
      out.max = any ? std::max(out.max, range.max) : range.max;
      any = true;
    }
  }
  out.seconds = length_of(united(std::move(covered)));
  if (weight > 0) {
    out.level = area / weight;
    out.rise = rise / weight;
    // Of several series at a time the sum.
    out.rate = within > 0 ? out.least / within * weight / out.seconds : NAN;
  }
  if (const std::optional<double> exact = gauge ? std::nullopt : counted_exactly(group, region, timeline)) {
    out.exact = true;
    out.total = out.least = out.most = *exact;
    out.rate = out.seconds > 0 ? out.total / out.seconds : NAN;
  }
  return out;
}

std::string region_text(const RegionSummary& summary, Kind kind) {
  if (kind == Kind::kGauge) return summary.samples == 0 ? "-" : compact(summary.level);
  if (summary.exact || summary.least == summary.most) return compact(summary.total);
  if (summary.most - summary.least <= 0.05 * summary.most) return "~" + compact(summary.total);
  if (summary.least == 0) return "<= " + compact(summary.most);
  return compact(summary.least) + " to " + compact(summary.most);
}

}  // namespace substrata::recording
