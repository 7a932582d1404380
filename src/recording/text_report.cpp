// The tables of a recording.
#include "recording/text_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <deque>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <utility>

#include "base/format.hpp"
#include "recording/advice.hpp"
#include "recording/base_unit.hpp"
#include "recording/phases.hpp"
#include "recording/queries.hpp"
#include "recording/reduction.hpp"
#include "recording/regions.hpp"
#include "recording/statistics.hpp"
#include "recording/text_table.hpp"

namespace substrata::recording {
namespace {

constexpr std::size_t kLineWidth = 24;

// A curve in 24 characters: the mean of each stretch between the least and the largest of them.
std::string time_line(const Group& group, double seconds) {
  if (!(seconds > 0)) return {};
  std::vector<double> sums(kLineWidth), weights(kLineWidth);
  for (const Trace* trace : group.traces) {
    const bool gauge = trace->series->kind == Kind::kGauge;
    for (std::size_t bin = 0; bin < kLineWidth; ++bin) {
      const double from = seconds * static_cast<double>(bin) / kLineWidth;
      const double to = seconds * static_cast<double>(bin + 1) / kLineWidth;
      if (trace->seconds.empty() || to < trace->seconds.front() || from > trace->seconds.back()) continue;
      const double here = gauge ? (value_at(*trace, from) + value_at(*trace, to)) / 2
                                : (value_at(*trace, to) - value_at(*trace, from)) / (to - from);
      sums[bin] += here;
      weights[bin] += 1;
    }
  }
  double low = INFINITY, high = -INFINITY;
  for (std::size_t bin = 0; bin < kLineWidth; ++bin) {
    if (weights[bin] == 0) continue;
    if (group.about->kind == Kind::kGauge) sums[bin] /= weights[bin];
    low = std::min(low, sums[bin]);
    high = std::max(high, sums[bin]);
  }
  // Counts are seen against nothing happening.
  if (group.about->kind != Kind::kGauge) low = std::min(low, 0.0);
  constexpr const char* kSteps[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string line;
  for (std::size_t bin = 0; bin < kLineWidth; ++bin) {
    if (weights[bin] == 0 || !std::isfinite(sums[bin])) {
      line += ' ';
      continue;
    }
    const double share = high > low ? (sums[bin] - low) / (high - low) : 0;
    line += kSteps[share > 0 && share <= 1 ? static_cast<int>(share * 7.999) : 0];
  }
  return line;
}

void write_head(std::ostream& out, const Timeline& timeline, const std::string& title) {
  const Recording& recording = *timeline.recording;
  const Writer& first = recording.writers.front();
  const auto of = [&](std::string_view name) { return shown(property(first.properties, name)); };
  const auto line = [&](const char* name, const std::string& text) {
    if (!text.empty()) out << "  " << padded(name, 11) << text << "\n";
  };
  out << "Recording " << shown(title) << "\n";
  line("command", of("command"));
  line("begun", time_of_day(timeline.real_ns) + ", " + format("%.3f s", timeline.seconds));
  line("ended", shown(property(first.end_properties, "exit")));
  if (timeline.hosts < 2) {
    line("machine", of("host") + ", " + of("machine.processor") + ", " + of("machine.processors") +
                        " logical processors, " + of("machine.kernel"));
  } else {
    std::set<std::string> names;
    for (const Writer& writer : recording.writers) names.insert(shown(property(writer.properties, "host")));
    std::string list;
    std::size_t listed = 0;
    for (const std::string& name : names) {
      if (listed++ == 8) break;
      list += (list.empty() ? "" : ", ") + name;
    }
    if (names.size() > 8) list += ", ...";
    line("machines", std::to_string(names.size()) + ": " + list);
    std::int64_t worst = 0;
    std::size_t measured = 0, by_wall = 0;
    for (const WriterClock& clock : timeline.clocks) {
      worst = std::max(worst, clock.uncertainty_ns);
      measured += clock.alignment == Alignment::kMeasured;
      by_wall += clock.alignment == Alignment::kWallClock;
    }
    if (measured != 0)
      line("clocks", std::to_string(measured) + " writers by measured offsets, known within " +
                         format("%.3g us", static_cast<double>(worst) / 1e3));
    if (by_wall != 0)
      line("clocks", std::to_string(by_wall) + " writers by the time of day of their machines: not measured");
  }
  if (recording.writers.size() > 1) line("writers", std::to_string(recording.writers.size()));
  if (const std::string many = of("reduced.writers"); !many.empty())
    line("writers",
         many + ", reduced to stretches of " +
             format("%g ms",
                    static_cast<double>(property_number(first.properties, "reduced.stretch_ns")) / 1e6));
  std::int64_t skew = 0;
  for (const Writer& writer : recording.writers)
    for (const SampleSet& set : writer.sets)
      for (const std::int64_t one : set.skews) skew = std::max(skew, one);
  std::int64_t missed = 0;
  for (const Writer& writer : recording.writers)
    missed += property_number(writer.end_properties, "missed_ticks");
  line("sampled",
       "every " +
           format("%g ms", static_cast<double>(property_number(first.properties, "interval_ns")) / 1e6) +
           ", " + std::to_string(recording.rows()) + " rows" +
           (missed != 0 ? ", " + std::to_string(missed) + " left out on a busy machine" : "") +
           "; values of a row within +- " +
           (skew < 1'000'000 ? format("%.3g us", static_cast<double>(skew) / 1e3)
                             : format("%.3g ms", static_cast<double>(skew) / 1e6)));
  if (const std::string merged = merged_rows_text(recording); !merged.empty()) line("read", merged);
  line("overhead", overhead_text(timeline));
  line("software",
       "substrata " + of("software.substrata") + ", recording format " + std::to_string(first.version));
  if (const std::string refused = of("refused"); !refused.empty()) line("refused", refused);
  for (const Properties* properties : {&first.properties, &first.end_properties})
    for (const auto& [name, value] : *properties)
      if (name.rfind("note", 0) == 0) line("note", shown(value));
  for (const std::string& problem : what_is_missing(timeline)) out << "  " << problem << "\n";
}

void write_series(std::ostream& out, const Timeline& timeline, const std::vector<Group>& groups) {
  const bool many =
      std::any_of(groups.begin(), groups.end(), [](const Group& g) { return g.traces.size() > 1; });
  TextTable counts(
      {"count", "unit", "total", "mean/s", "min/s", "max/s", "time line of the rate", "of", "origin"},
      {false, false, true, true, true, true, false, false, false});
  TextTable gauges({"gauge", "unit", "mean", "min", "max", "last - first", "time line", "of", "origin"},
                   {false, false, true, true, true, true, false, false, false});
  TextTable spreads({"spread over", "unit", "of", "min", "mean", "max", "deviation", "what"},
                    {false, false, true, true, true, true, true, false});
  std::vector<std::string> silent;
  for (const Group& group : groups) {
    const Series& about = *group.about;
    std::size_t samples = 0;
    double total = 0, change = 0, rate = 0, low = INFINITY, high = -INFINITY;
    std::vector<double> each;
    for (const Trace* trace : group.traces) {
      const Summary one = summarize(*trace);
      if (one.samples == 0) continue;
      samples += one.samples;
      total += one.total;
      change += one.change;
      rate += one.rate.mean;
      const Spread& range = about.kind == Kind::kGauge ? one.level : one.rate;
      if (range.count != 0) {
        low = std::min(low, range.min);
        high = std::max(high, range.max);
      }
      each.push_back(about.kind == Kind::kGauge ? one.level.mean : one.total);
    }
    if (samples == 0) {
      silent.push_back(shown(about.name));
      continue;
    }
    const Spread spread = spread_of(each);
    const auto limit = [](double number) {
      return std::isfinite(number) ? compact(number) : std::string("-");
    };
    const std::string unit = shown(about.unit);
    const std::string line = time_line(group, timeline.seconds);
    if (about.kind == Kind::kGauge)
      gauges.row({shown(about.name), unit, compact(spread.mean), limit(low), limit(high),
                  compact(change / static_cast<double>(each.size())), line, shown(group.scope),
                  origin_of(group)});
    else if (counts_energy(about) && total == 0)
      counts.row({shown(about.name), unit, "-", "-", "-", "-", line, shown(group.scope),
                  origin_of(group) + ", still"});
    else
      counts.row({shown(about.name), unit, limit(total), limit(rate), limit(low), limit(high), line,
                  shown(group.scope), origin_of(group)});
    if (each.size() > 1)
      spreads.row({shown(about.name), unit, std::to_string(each.size()), compact(spread.min),
                   compact(spread.mean), compact(spread.max), compact(spread.deviation),
                   std::string(about.kind == Kind::kGauge ? "mean level" : "total") +
                       (group.scope == "rank" ? " of a rank" : " of a writer")});
  }
  if (!counts.empty()) {
    out << "\n";
    counts.print(out);
    if (many)
      out << "  Rates of several writers or ranks: the mean is their sum, min and max are of single ones.\n";
  }
  if (!gauges.empty()) {
    out << "\n";
    gauges.print(out);
  }
  for (const NamedSpread& one : spreads_of(timeline.recording->writers.front().properties))
    spreads.row({shown(one.name), shown(one.unit), std::to_string(one.spread.count), compact(one.spread.min),
                 compact(one.spread.mean), compact(one.spread.max), compact(one.spread.deviation),
                 shown(one.what)});
  if (!spreads.empty()) {
    out << "\n";
    spreads.print(out);
  }
  if (!silent.empty()) {
    out << "\n  Without a single value:";
    for (const std::string& name : silent) out << ' ' << name;
    out << "\n";
  }
}

// A series in the regions: as in the page's table, a total and its rate, or a mean level and its rise.
struct RegionColumn {
  std::string name, unit;
  std::vector<std::string> cells;  // one a region
  std::string note;
};

// Nothing where it counted nothing in any of them.
std::optional<RegionColumn> column_of(const Group& group, const std::vector<RegionTotals>& regions,
                                      const Timeline& timeline, bool* rough) {
  const Series& about = *group.about;
  const bool gauge = about.kind == Kind::kGauge;
  const std::string_view own = rate_unit(about.unit);
  const std::string change = gauge ? "rise/s" : own.empty() ? "/s" : std::string(own);
  RegionColumn out{
      shown(about.name), about.unit.empty() ? change : shown(about.unit) + "; " + change, {}, {}};
  if (about.modelled) out.unit += ", modelled";
  bool anything = false;
  const RegionTotals* steepest = nullptr;
  double steepest_rise = 0;
  for (const RegionTotals& region : regions) {
    const RegionSummary one = summarize_within(group, region, timeline);
    const bool energy = counts_energy(about);
    if (one.seconds <= 0 || (energy && one.most == 0)) {
      out.cells.emplace_back("-");
      continue;
    }
    const bool has_slope = gauge ? one.samples > 1 : !energy || one.rate != 0;
    const double slope = !has_slope ? NAN : gauge ? one.rise : one.rate;
    anything = anything || gauge || one.most != 0;
    *rough = *rough || (!gauge && !one.exact && one.least != one.most);
    out.cells.push_back(region_text(one, about.kind) + (std::isfinite(slope) && (gauge || one.most != 0)
                                                            ? "; " + compact(slope)
                                                            : std::string()));
    if (gauge && one.samples > 1 && one.rise > steepest_rise) {
      steepest = &region;
      steepest_rise = one.rise;
    }
  }
  if (!anything) return std::nullopt;
  if (steepest != nullptr && regions.size() > 1)
    out.note = out.name + " rises fastest in " + shown(steepest->name);
  return out;
}

void write_regions(std::ostream& out, const Timeline& timeline, const std::vector<Group>& groups) {
  std::vector<RegionTotals> regions = region_totals(timeline);
  if (regions.empty()) return;
  constexpr std::size_t kMost = 40;
  constexpr std::size_t kColumns = 4;  // of series in one table
  const std::size_t more = regions.size() > kMost ? regions.size() - kMost : 0;
  regions.resize(regions.size() - more);

  bool rough = false;
  std::string nothing;
  std::vector<RegionColumn> columns;
  for (const Group& group : groups) {
    if (group.about->scope == "recorder") continue;
    if (std::optional<RegionColumn> column = column_of(group, regions, timeline, &rough))
      columns.push_back(std::move(*column));
    else
      nothing += (nothing.empty() ? "" : ", ") + shown(group.about->name);
  }
  out << "\nRegions\n";
  for (std::size_t first = 0; first == 0 || first < columns.size(); first += kColumns) {
    const std::size_t end = std::min(first + kColumns, columns.size());
    std::vector<std::string> head = {"region", "passes", "seconds", "share"}, units(4);
    for (std::size_t c = first; c < end; ++c) {
      head.push_back(columns[c].name);
      units.push_back(columns[c].unit);
    }
    std::vector<bool> right(head.size(), true);
    right[0] = false;
    TextTable table(std::move(head), std::move(right));
    if (end > first) table.row(std::move(units));
    for (std::size_t i = 0; i < regions.size(); ++i) {
      std::vector<std::string> cells = {
          shown(regions[i].name) + (regions[i].open != 0 ? " (not ended)" : ""),
          std::to_string(regions[i].passes), format("%.3f", regions[i].seconds),
          timeline.seconds > 0 ? format("%.1f %%", 100 * regions[i].seconds / timeline.seconds) : "-"};
      for (std::size_t c = first; c < end; ++c) cells.push_back(columns[c].cells[i]);
      table.row(std::move(cells));
    }
    if (first != 0) out << "\n";
    table.print(out);
  }
  if (more != 0) out << "  and " << more << " more\n";
  for (const RegionColumn& column : columns)
    if (!column.note.empty()) out << "  " << column.note << "\n";
  if (!nothing.empty()) out << "\n  Nothing was counted in any region of: " << nothing << "\n";
  if (rough)
    out << "\n  ~ and bounds: a region begins and ends between samples; the total lies between what was "
           "counted within and around it\n";
}

// Regions below those that they lay in; nothing where none lay in another.
void write_paths(std::ostream& out, const Timeline& timeline) {
  constexpr std::size_t kMost = 100;
  const std::vector<RegionPath> paths = region_paths(timeline);
  if (std::all_of(paths.begin(), paths.end(), [](const RegionPath& one) { return one.names.size() == 1; }))
    return;
  out << "\nCall paths of the regions\n";
  TextTable table({"path", "passes", "seconds", "own seconds", "own share"}, {false, true, true, true, true});
  for (std::size_t i = 0; i < std::min(paths.size(), kMost); ++i) {
    const RegionPath& one = paths[i];
    table.row({std::string(2 * (one.names.size() - 1), ' ') + shown(one.names.back()),
               std::to_string(one.passes), format("%.3f", one.seconds), format("%.3f", one.own),
               timeline.seconds > 0 ? format("%.1f %%", 100 * one.own / timeline.seconds) : "-"});
  }
  table.print(out);
  if (paths.size() > kMost) out << "  and " << paths.size() - kMost << " more\n";
}

// By phase and function, the ranks' own rates: operations by the seconds of their calls.
void write_blas(std::ostream& out, const Timeline& timeline) {
  std::map<std::pair<std::string, std::string>, std::vector<BlasCount>> all;
  for (BlasCount& one : blas_counts(*timeline.recording)) {
    auto& ranks = all[{one.phase, one.function}];
    ranks.push_back(std::move(one));
  }
  if (all.empty()) return;
  out << "\nBLAS, by the sizes that it was called with\n";
  TextTable table(
      {"phase", "function", "ranks", "calls", "FLOP", "seconds", "GFLOP/s a rank: least", "mean", "most"},
      {false, false, true, true, true, true, true, true, true});
  for (const auto& [names, ranks] : all) {
    double calls = 0, operations = 0, seconds = 0;
    std::vector<double> rates;
    for (const BlasCount& rank : ranks) {
      calls += rank.calls;
      operations += rank.operations;
      seconds += rank.seconds;
      if (rank.seconds > 0) rates.push_back(1e-9 * rank.operations / rank.seconds);
    }
    const Spread spread = spread_of(rates);
    std::vector<std::string> cells = {shown(names.first), shown(names.second), std::to_string(ranks.size()),
                                      compact(calls),     compact(operations), format("%.3f", seconds)};
    for (const double rate : {spread.min, spread.mean, spread.max})
      cells.push_back(rates.empty() ? "-" : format("%.4g", rate));
    table.row(std::move(cells));
  }
  table.print(out);
}

}  // namespace

std::string time_of_day(std::int64_t real_ns) {
  const std::time_t seconds = static_cast<std::time_t>(real_ns / 1'000'000'000);
  std::tm parts{};
  char text[40];
  if (real_ns <= 0 || gmtime_r(&seconds, &parts) == nullptr ||
      std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0)
    return "at an unknown time";
  return text;
}

std::string origin_of(const Group& group) {
  std::string text = origin_name(*group.about);
  std::uint8_t flags = 0;
  for (const Trace* trace : group.traces) flags |= trace->flags_seen;
  if ((flags & kScaled) != 0) text += ", scaled";
  if ((flags & kStale) != 0) text += ", stale";
  if ((flags & kAbsent) != 0) text += ", with gaps";
  return text;
}

void write_text_report(std::ostream& out, const Timeline& recorded, const std::string& title) {
  std::deque<Series> renamed;
  const Timeline timeline = in_base_units(recorded, &renamed);
  const std::vector<Group> groups = group_traces(timeline);
  write_advice(out, advise(timeline));
  out << "\n";
  write_head(out, timeline, title);
  write_series(out, timeline, groups);
  write_regions(out, timeline, groups);
  write_paths(out, timeline);
  write_blas(out, timeline);
  write_queries(out, *timeline.recording);
}

std::vector<std::string> what_is_missing(const Timeline& timeline) {
  const Recording& recording = *timeline.recording;
  std::vector<std::string> out;
  std::size_t cut = 0;
  double last = 0;
  for (const Trace& trace : timeline.traces)
    if (!trace.seconds.empty()) last = std::max(last, trace.seconds.back());
  for (const Writer& writer : recording.writers) cut += writer.ended ? 0 : 1;
  if (cut != 0)
    out.push_back(
        "CUT OFF    " + std::to_string(cut) + " of " + std::to_string(recording.writers.size()) +
        " writers did not end their recording: it was killed, or still runs. The last sample is at " +
        format("%.3f s", last) + ".");
  for (std::size_t i = 0; i < recording.damages.size() && i < 5; ++i)
    out.push_back("DAMAGED    at byte " + std::to_string(recording.damages[i].offset) + ": " +
                  shown(recording.damages[i].reason) +
                  (recording.damages[i].bytes != 0
                       ? " (" + std::to_string(recording.damages[i].bytes) + " bytes left out)"
                       : ""));
  if (recording.damages.size() > 5)
    out.push_back("DAMAGED    at " + std::to_string(recording.damages.size() - 5) + " more places");
  return out;
}

std::string compact(double number) {
  if (!std::isfinite(number)) return "-";
  const double size = std::fabs(number);
  constexpr const char* kLetters[] = {"", "k", "M", "G", "T", "P", "E"};
  int thousand = 0;
  double scaled = number;
  while (thousand < 6 && std::fabs(scaled) >= 9999.5) {
    scaled /= 1000;
    ++thousand;
  }
  if (thousand == 0 && number == std::floor(number)) return format("%.0f", number);
  if (thousand == 0 && size < 0.0001) return format("%.2e", number);
  return format(std::fabs(scaled) >= 1000 ? "%.0f" : "%.4g", scaled) + kLetters[thousand];
}

std::string merged_rows_text(const Recording& recording) {
  const std::size_t step = recording.step();
  if (step == 1) return {};
  return "in steps of " + std::to_string(step) +
         " rows, as the recording is long: totals are exact, rates are of such steps, "
         "levels have the lowest and highest of " +
         std::to_string(2 * step) + "; --from, --to and --region read every row of a stretch";
}

std::string overhead_text(const Timeline& timeline) {
  if (timeline.recording->writers.empty()) return {};
  if (const std::string_view of_many =
          property(timeline.recording->writers.front().properties, "reduced.overhead");
      !of_many.empty())
    return shown(of_many);
  // The recorder's processor time is sampled like any other series.
  double busy = 0, wall = 0;
  std::size_t recorders = 0;
  for (const Trace& trace : timeline.traces) {
    if (trace.series->scope != "recorder" || trace.series->name != "recorder:cpu" || trace.seconds.size() < 2)
      continue;
    busy += base_unit(trace.series->unit).factor * (trace.values.back() - trace.values.front());
    wall += trace.seconds.back() - trace.seconds.front();
    ++recorders;
  }
  if (recorders == 0 || wall <= 0) return {};
  std::string text = "the recorder used " + format("%.3f ms", 1e3 * busy) + " of processor time, " +
                     format("%.3f %% of one processor", 100 * busy / wall);
  const Properties& end = timeline.recording->writers.front().end_properties;
  if (const std::string_view runs = property(end, "overhead.pairs"); !runs.empty())
    text += "; " + shown(property(end, "overhead.sentence"));
  return text;
}

}  // namespace substrata::recording
