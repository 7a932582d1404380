// Counts within the regions that a program marks.
#include "recording/regions.hpp"

#include <cmath>

#include "tools/substrata/stat/counts.hpp"

namespace substrata::tool {
namespace {

Line line_of(const recording::Group& group, const recording::RegionTotals& region,
             const recording::Timeline& timeline) {
  const recording::Series& about = *group.about;
  const recording::RegionSummary summary = recording::summarize_within(group, region, timeline);
  Line line = line_without_value(about);
  line.scope = group.scope;
  line.type = recording::Type::kDouble;
  for (const recording::Trace* trace : group.traces)
    line.scaled = line.scaled || (trace->flags_seen & recording::kScaled) != 0;
  const bool gauge = about.kind == recording::Kind::kGauge;
  line.present = summary.seconds > 0 && (!gauge || summary.samples > 0);
  line.value = gauge ? summary.level : summary.total;
  leave_out_still(&line);
  if (!gauge) line.value = std::round(line.value);
  line.min = gauge ? summary.min : summary.least;
  line.max = gauge ? summary.max : summary.most;
  // Anywhere between its bounds with the same probability.
  if (!gauge && !summary.exact) line.uncertainty = (summary.most - summary.least) / std::sqrt(12.0);
  return line;
}

}  // namespace

std::vector<Counts> regions_of(const recording::Timeline& timeline) {
  std::vector<Counts> out;
  const std::vector<recording::Group> groups = recording::group_traces(timeline);
  for (const recording::RegionTotals& region : recording::region_totals(timeline)) {
    Counts counts;
    counts.region = region.name;
    counts.passes = region.passes;
    counts.seconds = region.seconds;
    for (const recording::Group& group : groups)
      if (group.about->scope != "recorder" && group.scope != "rank")
        counts.lines.push_back(line_of(group, region, timeline));
    out.push_back(std::move(counts));
  }
  return out;
}

}  // namespace substrata::tool
