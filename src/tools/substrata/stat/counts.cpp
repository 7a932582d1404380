// Totals and mean levels of a record's series.
#include "tools/substrata/stat/counts.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "recording/base_unit.hpp"
#include "recording/statistics.hpp"

namespace substrata::tool {

Line line_without_value(const recording::SeriesInfo& about) {
  Line line;
  line.name = about.name;
  line.unit = about.unit;
  line.component = about.component;
  line.scope = about.scope;
  line.kind = about.kind;
  line.type = about.type;
  line.modelled = about.modelled;
  return line;
}

void leave_out_still(Line* line) {
  recording::SeriesInfo about;
  about.unit = line->unit;
  about.kind = line->kind;
  line->still = line->present && line->value == 0 && recording::counts_energy(about);
  if (line->still) line->present = false;
}

namespace {

Line line_of(const recording::Trace& trace) {
  const recording::Series& about = *trace.series;
  Line line = line_without_value(about);
  line.scaled = (trace.flags_seen & recording::kScaled) != 0;
  line.gaps = (trace.flags_seen & recording::kAbsent) != 0;
  const recording::Summary all = recording::summarize(trace);
  line.present = all.samples != 0;
  if (!line.present) return line;
  if (about.kind == recording::Kind::kGauge) {
    line.value = all.level.mean;
    line.min = all.level.min;
    line.max = all.level.max;
    return line;
  }
  line.value = all.total;
  // The last value itself: a double would lose the low bits of large counts.
  std::size_t last = about.values.size() - 1;
  while (!about.present_at(last)) --last;
  line.whole = about.values[last];
  leave_out_still(&line);
  return line;
}

// Mean and its standard error.
std::pair<double, double> mean_and_error(const std::vector<double>& numbers) {
  if (numbers.empty()) return {0, 0};
  const auto count = static_cast<double>(numbers.size());
  const recording::Spread spread = recording::spread_of(numbers);
  return {spread.mean, numbers.size() < 2 ? 0 : spread.deviation / std::sqrt(count - 1)};
}

}  // namespace

const Line* Counts::find(const std::string& name) const {
  const auto found =
      std::find_if(lines.begin(), lines.end(), [&](const Line& line) { return line.name == name; });
  return found == lines.end() ? nullptr : &*found;
}

Counts counts_of(const recording::Timeline& timeline, const std::vector<sampler::Counting>& times,
                 const std::vector<sampler::Refused>& refused) {
  const recording::Writer& writer = timeline.recording->writers.front();
  Counts out;
  out.command = recording::property(writer.properties, "command");
  out.how = recording::property(writer.end_properties, "exit");
  out.status = static_cast<int>(recording::property_number(writer.end_properties, "exit_status"));
  out.seconds = recording::property_real(writer.end_properties, "command.elapsed_s");
  if (out.seconds == 0) out.seconds = timeline.seconds;
  out.user_s = recording::property_real(writer.end_properties, "command.user_s");
  out.system_s = recording::property_real(writer.end_properties, "command.system_s");
  out.peak_bytes = 1024 * recording::property_real(writer.end_properties, "command.max_resident_kib");
  out.peak_at_most = out.peak_bytes <=
                     1024 * recording::property_real(writer.end_properties, "command.max_resident_floor_kib");
  out.machine = writer.properties;
  for (const recording::Trace& trace : timeline.traces) {
    if (trace.series->scope == "recorder") continue;
    Line line = line_of(trace);
    const auto at = static_cast<std::size_t>(trace.series - writer.series.data());
    if (at < times.size()) {
      line.enabled_ns = times[at].enabled_ns;
      line.running_ns = times[at].running_ns;
    }
    out.lines.push_back(std::move(line));
  }
  for (const sampler::Refused& one : refused) {
    Line line;
    line.name = one.name;
    line.refused = one.why;
    out.lines.push_back(std::move(line));
  }
  out.regions = regions_of(timeline);
  for (const recording::Properties* properties : {&writer.properties, &writer.end_properties})
    for (const auto& [name, value] : *properties) {
      const bool has_a_line =
          std::any_of(refused.begin(), refused.end(),
                      [&text = value](const sampler::Refused& one) { return one.why == text; });
      if (name.rfind("note", 0) == 0 && !has_a_line) out.notes.push_back("note: " + value);
      if (name == "refused") out.notes.push_back("refused: " + value);
    }
  return out;
}

Counts mean_of(const std::vector<Counts>& runs) {
  Counts out = runs.front();
  if (runs.size() == 1) return out;
  out.runs = runs.size();
  const auto over_runs = [&](auto&& number) {
    std::vector<double> numbers;
    for (const Counts& run : runs) numbers.push_back(number(run));
    return mean_and_error(numbers);
  };
  std::tie(out.seconds, out.seconds_deviation) = over_runs([](const Counts& run) { return run.seconds; });
  out.user_s = over_runs([](const Counts& run) { return run.user_s; }).first;
  out.system_s = over_runs([](const Counts& run) { return run.system_s; }).first;
  for (Line& line : out.lines) {
    std::vector<double> values;
    bool any = false;
    line.running_ns = line.enabled_ns = 0;
    for (const Counts& run : runs) {
      const auto same = std::find_if(run.lines.begin(), run.lines.end(), [&](const Line& other) {
        return other.name == line.name && other.scope == line.scope;
      });
      if (same == run.lines.end() || (!same->present && !same->still)) continue;
      // Of many short runs a few see all the energy.
      any = any || same->present;
      values.push_back(same->value);
      line.min = std::min(line.min, same->min);
      line.max = std::max(line.max, same->max);
      line.scaled = line.scaled || same->scaled;
      line.gaps = line.gaps || same->gaps;
      line.enabled_ns += same->enabled_ns / static_cast<double>(runs.size());
      line.running_ns += same->running_ns / static_cast<double>(runs.size());
    }
    line.present = any;
    line.still = line.still && !any;
    std::tie(line.value, line.deviation) = mean_and_error(values);
    // A mean of whole numbers is none.
    line.type = recording::Type::kDouble;
  }
  for (std::size_t i = 0; i < out.lines.size(); ++i) {
    if (!out.lines[i].has_beside) continue;
    out.lines[i].beside =
        over_runs([&](const Counts& run) {
          return i < run.lines.size() && run.lines[i].has_beside ? run.lines[i].beside : out.lines[i].beside;
        }).first;
  }
  for (std::size_t i = 0; i < out.metrics.size(); ++i) {
    MetricLine& metric = out.metrics[i];
    std::vector<double> values;
    for (const Counts& run : runs) {
      const MetricLine& one = run.metrics.at(i);
      if (!one.present) continue;
      values.push_back(one.value);
      metric.scaled = metric.scaled || one.scaled;
      metric.uncertainty = std::max(metric.uncertainty, one.uncertainty);
    }
    metric.present = !values.empty();
    std::tie(metric.value, metric.deviation) = mean_and_error(values);
  }
  for (Counts& region : out.regions) {
    std::vector<Counts> same;
    for (const Counts& run : runs)
      for (const Counts& other : run.regions)
        if (other.region == region.region) same.push_back(other);
    region = mean_of(same);
  }
  for (const Counts& run : runs) {
    out.peak_bytes = std::max(out.peak_bytes, run.peak_bytes);
    out.peak_at_most = out.peak_at_most && run.peak_at_most;
    // The first run that failed is the one to report.
    if (out.status == 0 && run.status != 0) {
      out.status = run.status;
      out.how = run.how;
    }
    for (const std::string& note : run.notes)
      if (std::find(out.notes.begin(), out.notes.end(), note) == out.notes.end()) out.notes.push_back(note);
  }
  return out;
}

Counts Intervals::next(const recording::Writer& writer) {
  Counts out;
  before_.resize(writer.series.size(), 0);
  moved_.resize(writer.series.size(), last_);
  std::int64_t now = last_;
  for (const recording::SampleSet& set : writer.sets)
    if (!set.times.empty()) now = std::max(now, set.times.back());
  out.seconds = 1e-9 * static_cast<double>(now - last_);
  last_ = now;
  for (std::size_t i = 0; i < writer.series.size(); ++i) {
    const recording::Series& series = writer.series[i];
    if (series.scope == "recorder" || series.values.empty()) continue;
    const std::size_t row = series.values.size() - 1;
    Line line = line_without_value(series);
    line.scaled = (series.flags[row] & recording::kScaled) != 0;
    line.present = series.present_at(row);
    if (line.present) {
      const double value = series.value_at(row);
      const bool gauge = series.kind == recording::Kind::kGauge;
      line.value = line.min = line.max = gauge ? value : value - before_[i];
      line.whole = static_cast<std::int64_t>(line.value);
      before_[i] = value;
      leave_out_still(&line);
      if (!line.still && recording::counts_energy(series)) {
        line.over_s = 1e-9 * static_cast<double>(now - moved_[i]);
        moved_[i] = now;
      }
    }
    out.lines.push_back(std::move(line));
  }
  return out;
}

}  // namespace substrata::tool
