// Tables as HTML, and the data for the script of the page.
#include "recording/html_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <ostream>
#include <stdexcept>

#include "recording/advice.hpp"
#include "recording/base_unit.hpp"
#include "recording/exports.hpp"
#include "recording/page.hpp"
#include "recording/reduction.hpp"
#include "recording/regions.hpp"
#include "recording/statistics.hpp"
#include "recording/text_report.hpp"

namespace substrata::recording {
namespace {

constexpr std::size_t kMostPoints = 5000;    // of one series shown sample by sample
constexpr std::size_t kStretches = 1000;     // of a longer one
constexpr std::size_t kMostRegions = 3000;   // drawn
constexpr std::size_t kMostNames = 40;       // of regions in tables
constexpr std::size_t kMostCorrelated = 16;  // series
constexpr std::size_t kMostRows = 64;        // of a heat map of writers
constexpr std::size_t kHeatStretches = 120;
constexpr std::size_t kMostAttached = 1'000'000;  // bytes of an attachment that the page carries

std::string html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
  }
  return out;
}

// A curve as the page draws it: counts as rates that hold until their time, gauges as levels.
struct Drawn {
  std::vector<double> seconds;
  std::vector<double> values;  // NaN: nothing
  std::vector<double> low, high;
};

// Of one series in a stretch of time: the rate of a count, the mean level of a gauge; NaN where it has no
// samples around.
double mean_within(const Trace& trace, double begin, double end) {
  if (trace.seconds.empty() || end <= trace.seconds.front() || begin >= trace.seconds.back()) return NAN;
  const Summary one = summarize(trace, begin, end);
  if (one.seconds <= 0) return NAN;
  return trace.series->kind == Kind::kGauge ? one.level.mean : one.total / one.seconds;
}

Drawn draw(const Group& group, double seconds) {
  Drawn out;
  const bool gauge = group.about->kind == Kind::kGauge;
  std::size_t longest = 0;
  for (const Trace* trace : group.traces) longest = std::max(longest, trace->seconds.size());
  if (group.traces.size() == 1 && longest <= kMostPoints) {
    const Trace& trace = *group.traces.front();
    for (std::size_t i = 0; i < trace.seconds.size(); ++i) {
      if (!gauge && (i == 0 || trace.seconds[i] <= trace.seconds[i - 1])) continue;
      const double value =
          gauge ? trace.values[i]
                : (trace.values[i] - trace.values[i - 1]) / (trace.seconds[i] - trace.seconds[i - 1]);
      if (!gauge && out.seconds.empty()) {  // where the first interval begins
        out.seconds.push_back(trace.seconds[i - 1]);
        out.values.push_back(value);
      }
      out.seconds.push_back(trace.seconds[i]);
      out.values.push_back(value);
    }
    return out;
  }
  const std::size_t stretches = std::min(kStretches, std::max<std::size_t>(longest, 2));
  for (std::size_t k = 0; k < stretches; ++k) {
    const double begin = seconds * static_cast<double>(k) / static_cast<double>(stretches);
    const double end = seconds * static_cast<double>(k + 1) / static_cast<double>(stretches);
    double sum = 0, low = INFINITY, high = -INFINITY;
    std::size_t count = 0;
    for (const Trace* trace : group.traces) {
      const double mean = mean_within(*trace, begin, end);
      if (std::isnan(mean)) continue;
      sum += mean;
      ++count;
      const Summary one = summarize(*trace, begin, end);
      const Spread& range = gauge ? one.level : one.rate;
      if (range.count == 0) continue;
      low = std::min(low, range.min);
      high = std::max(high, range.max);
    }
    if (!gauge && k == 0) {
      out.seconds.push_back(begin);
      out.values.push_back(count == 0 ? NAN : sum);
      out.low.push_back(NAN);
      out.high.push_back(NAN);
    }
    out.seconds.push_back(gauge ? (begin + end) / 2 : end);
    out.values.push_back(count == 0 ? NAN : gauge ? sum / static_cast<double>(count) : sum);
    // The range of single writers says nothing of their sum.
    const bool range = count != 0 && low <= high && (gauge || group.traces.size() == 1);
    out.low.push_back(range ? low : NAN);
    out.high.push_back(range ? high : NAN);
  }
  return out;
}

void write_numbers(std::ostream& out, const std::vector<double>& numbers, const char* pattern) {
  out << '[';
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    char text[40] = "null";
    if (std::isfinite(numbers[i])) std::snprintf(text, sizeof text, pattern, numbers[i]);
    out << (i != 0 ? "," : "") << text;
  }
  out << ']';
}

// Writers of a group over time; neighbouring writers share a row where there are many.
void write_rows(std::ostream& out, const Group& group, const Timeline& timeline) {
  const std::size_t rows = std::min(kMostRows, group.traces.size());
  std::vector<std::string> names;
  std::vector<std::vector<double>> values;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t from = row * group.traces.size() / rows, to = (row + 1) * group.traces.size() / rows;
    const auto name = [&](std::size_t i) { return trace_name(timeline, *group.traces[i]); };
    names.push_back(to - from == 1 ? name(from) : name(from) + " to " + name(to - 1));
    std::vector<double> line;
    for (std::size_t k = 0; k < kHeatStretches; ++k) {
      double sum = 0;
      std::size_t count = 0;
      for (std::size_t i = from; i < to; ++i) {
        const double mean =
            mean_within(*group.traces[i], timeline.seconds * static_cast<double>(k) / kHeatStretches,
                        timeline.seconds * static_cast<double>(k + 1) / kHeatStretches);
        if (std::isnan(mean)) continue;
        sum += mean;
        ++count;
      }
      line.push_back(count == 0 ? NAN : sum / static_cast<double>(count));
    }
    values.push_back(std::move(line));
  }
  out << ",\"rows\":{\"names\":[";
  for (std::size_t i = 0; i < names.size(); ++i) out << (i != 0 ? "," : "") << json_text(names[i]);
  out << "],\"values\":[";
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i != 0) out << ',';
    write_numbers(out, values[i], "%.5g");
  }
  out << "]}";
}

struct Cell {
  bool any = false;
  RegionSummary summary;
};

// The series and regions of the tables.
struct Tables {
  std::vector<RegionTotals> regions;
  std::vector<std::size_t> series;       // those that counted or were sampled in some region
  std::vector<std::vector<Cell>> cells;  // [region][series]
};

Tables tables_of(const Timeline& timeline, const std::vector<Group>& groups) {
  Tables out;
  out.regions = region_totals(timeline);
  if (out.regions.size() > kMostNames) out.regions.resize(kMostNames);
  out.cells.resize(out.regions.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].about->scope == "recorder") continue;
    std::vector<Cell> column;
    bool any = false;
    for (const RegionTotals& region : out.regions) {
      Cell cell;
      cell.summary = summarize_within(groups[g], region, timeline);
      cell.any = cell.summary.seconds > 0;
      any = any || (cell.any && (groups[g].about->kind == Kind::kGauge || cell.summary.most != 0));
      column.push_back(cell);
    }
    if (!any) continue;
    out.series.push_back(g);
    for (std::size_t r = 0; r < column.size(); ++r) out.cells[r].push_back(column[r]);
  }
  return out;
}

void write_data(std::ostream& out, const Timeline& timeline, const std::vector<Group>& groups,
                const Tables& tables, const std::string& title) {
  out << "{\"title\":" << json_text(title) << ",\"seconds\":" << json_number(timeline.seconds)
      << ",\n\"series\":[";
  std::vector<Drawn> curves;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Series& about = *groups[g].about;
    curves.push_back(draw(groups[g], timeline.seconds));
    const Drawn& curve = curves.back();
    const bool changes = std::any_of(curve.values.begin(), curve.values.end(), [&](double value) {
      return std::isfinite(value) && (value != 0 || about.kind == Kind::kGauge);
    });
    out << (g != 0 ? ",\n" : "\n") << "{\"name\":" << json_text(about.name)
        << ",\"unit\":" << json_text(about.unit) << ",\"text\":" << json_text(about.text) << ",\"kind\":\""
        << kind_name(about.kind) << "\",\"origin\":\"" << origin_name(about)
        << "\",\"modelled\":" << (about.modelled ? "true" : "false")
        << ",\"scope\":" << json_text(groups[g].scope) << ",\"writers\":" << groups[g].traces.size()
        << ",\"changes\":" << (changes ? "true" : "false") << ",\"t\":";
    write_numbers(out, curve.seconds, "%.6f");
    out << ",\"v\":";
    write_numbers(out, curve.values, "%.7g");
    if (std::any_of(curve.low.begin(), curve.low.end(), [](double value) { return std::isfinite(value); })) {
      out << ",\"lo\":";
      write_numbers(out, curve.low, "%.7g");
      out << ",\"hi\":";
      write_numbers(out, curve.high, "%.7g");
    }
    if (groups[g].traces.size() > 1 && about.scope != "recorder") write_rows(out, groups[g], timeline);
    out << '}';
  }

  // With too many regions the longest are drawn.
  std::vector<const Region*> regions;
  for (const Region& region : timeline.regions) regions.push_back(&region);
  if (regions.size() > kMostRegions) {
    std::nth_element(regions.begin(), regions.begin() + static_cast<std::ptrdiff_t>(kMostRegions),
                     regions.end(),
                     [](const Region* a, const Region* b) { return a->end - a->begin > b->end - b->begin; });
    regions.resize(kMostRegions);
    std::sort(regions.begin(), regions.end());  // they lie in one array, by begin
  }
  out << "],\n\"regions\":[";
  for (std::size_t i = 0; i < regions.size(); ++i)
    out << (i != 0 ? ",\n" : "\n") << "{\"name\":" << json_text(regions[i]->name)
        << ",\"begin\":" << json_number(regions[i]->begin) << ",\"end\":" << json_number(regions[i]->end)
        << ",\"open\":" << (regions[i]->open ? "true" : "false") << ",\"depth\":" << regions[i]->depth << '}';
  out << "],\n\"moments\":[";
  for (std::size_t i = 0; i < timeline.moments.size() && i < kMostRegions; ++i)
    out << (i != 0 ? "," : "") << "{\"name\":" << json_text(timeline.moments[i].name)
        << ",\"at\":" << json_number(timeline.moments[i].at) << '}';

  out << "],\n\"region_totals\":{\"series\":[";
  for (std::size_t i = 0; i < tables.series.size(); ++i) out << (i != 0 ? "," : "") << tables.series[i];
  out << "],\"rows\":[";
  for (std::size_t r = 0; r < tables.regions.size(); ++r) {
    out << (r != 0 ? ",\n" : "\n") << "{\"name\":" << json_text(tables.regions[r].name) << ",\"cells\":[";
    for (std::size_t i = 0; i < tables.cells[r].size(); ++i) {
      const Cell& cell = tables.cells[r][i];
      if (i != 0) out << ',';
      if (!cell.any)
        out << "null";
      else
        out << "{\"rate\":" << json_number(cell.summary.rate)
            << ",\"rise\":" << json_number(cell.summary.samples > 1 ? cell.summary.rise : NAN) << '}';
    }
    out << "]}";
  }

  std::vector<std::size_t> correlated;
  for (std::size_t g = 0; g < groups.size() && correlated.size() < kMostCorrelated; ++g)
    if (groups[g].about->scope != "recorder" &&
        std::any_of(curves[g].values.begin(), curves[g].values.end(), [](double v) { return v != 0; }))
      correlated.push_back(g);
  const auto curve = [&](std::size_t g) {
    Curve one;
    const bool gauge = groups[g].about->kind == Kind::kGauge;
    for (std::size_t i = gauge ? 0 : 1; i < curves[g].values.size(); ++i) {
      if (!std::isfinite(curves[g].values[i])) continue;
      one.seconds.push_back(gauge ? curves[g].seconds[i]
                                  : (curves[g].seconds[i] + curves[g].seconds[i - 1]) / 2);
      one.values.push_back(curves[g].values[i]);
    }
    return one;
  };
  out << "]},\n\"correlation\":{\"series\":[";
  for (std::size_t i = 0; i < correlated.size(); ++i) out << (i != 0 ? "," : "") << correlated[i];
  out << "],\"r\":[";
  for (std::size_t i = 0; i < correlated.size(); ++i) {
    std::vector<double> line;
    for (const std::size_t other : correlated) {
      if (!shared_origin(*groups[correlated[i]].about, *groups[other].about).empty()) {
        line.push_back(NAN);
        continue;
      }
      try {
        line.push_back(correlation_without_lag(curve(correlated[i]), curve(other)));
      } catch (const std::runtime_error&) {
        line.push_back(NAN);  // one of the two does not change, or they have no time in common
      }
    }
    if (i != 0) out << ',';
    write_numbers(out, line, "%.4f");
  }
  out << "]},\n\"attachments\":[";
  bool first = true;
  for (const Writer& writer : timeline.recording->writers)
    for (const Attachment& attachment : writer.attachments) {
      if (attachment.content.size() > kMostAttached) continue;
      out << (first ? "\n" : ",\n") << "{\"name\":" << json_text(attachment.name)
          << ",\"content\":" << json_text(attachment.content) << '}';
      first = false;
    }
  out << "]}";
}

std::string origin_cell(const Group& group) {
  const std::string text = origin_of(group);
  return group.about->modelled ? "<td class=\"modelled\">" + text + "</td>" : "<td>" + text + "</td>";
}

std::string rate_unit_of(const SeriesInfo& about) {
  const std::string_view own = rate_unit(about.unit);
  return own.empty() ? "per s" : std::string(own);
}

std::string number_cell(double number) { return "<td class=\"n\">" + compact(number) + "</td>"; }

void write_series_table(std::ostream& out, const std::vector<Group>& groups) {
  out << "<div class=\"scroll\"><table id=\"totals\"><thead><tr><th>series</th><th>unit</th><th "
         "class=\"n\">total</th>"
         "<th class=\"n\">mean</th><th class=\"n\">min</th><th class=\"n\">max</th><th "
         "class=\"n\">writers or ranks</th>"
         "<th class=\"n\">deviation</th><th>of</th><th>origin</th><th>what it is</th></tr></thead><tbody>\n";
  for (const Group& group : groups) {
    const Series& about = *group.about;
    const bool gauge = about.kind == Kind::kGauge;
    double total = 0, mean = 0, low = INFINITY, high = -INFINITY;
    std::vector<double> each;
    for (const Trace* trace : group.traces) {
      const Summary one = summarize(*trace);
      if (one.samples == 0) continue;
      total += one.total;
      mean += gauge ? one.level.mean : one.rate.mean;
      const Spread& range = gauge ? one.level : one.rate;
      if (range.count != 0) {
        low = std::min(low, range.min);
        high = std::max(high, range.max);
      }
      each.push_back(gauge ? one.level.mean : one.total);
    }
    if (gauge && !each.empty()) mean /= static_cast<double>(each.size());
    out << "<tr><td><code>" << html(about.name) << "</code></td><td>" << html(about.unit)
        << (gauge ? std::string() : " (" + rate_unit_of(about) + ")") << "</td>"
        << (gauge || each.empty() ? "<td class=\"n\">-</td>" : number_cell(total))
        << number_cell(each.empty() ? NAN : mean) << number_cell(low) << number_cell(high)
        << "<td class=\"n\">" << each.size() << "</td>"
        << (each.size() > 1 ? number_cell(spread_of(each).deviation) : "<td class=\"n\">-</td>") << "<td>"
        << html(group.scope) << "</td>" << origin_cell(group) << "<td class=\"dim\">" << html(about.text)
        << "</td></tr>\n";
  }
  out << "</tbody></table></div>\n<p class=\"dim\">Means, minima and maxima of counts are rates per second; "
         "of several writers "
         "the mean is their sum, minimum and maximum are of single writers, and the deviation is that of "
         "their totals or mean "
         "levels.</p>\n";
}

void write_region_tables(std::ostream& out, const Timeline& timeline, const std::vector<Group>& groups,
                         const Tables& tables) {
  out << "<div class=\"scroll\"><table id=\"regions\"><thead><tr><th>region</th><th "
         "class=\"n\">passes</th><th class=\"n\">"
         "seconds</th>";
  for (const std::size_t g : tables.series)
    out << "<th class=\"n\">" << html(groups[g].about->name) << "<br>"
        << (groups[g].about->kind == Kind::kGauge ? "mean; rise/s"
                                                  : "total; " + rate_unit_of(*groups[g].about))
        << ' ' << html(groups[g].about->unit)
        << (groups[g].about->modelled ? " <span class=\"modelled\">modelled</span>" : "") << "</th>";
  out << "</tr></thead><tbody>\n";
  for (std::size_t r = 0; r < tables.regions.size(); ++r) {
    const RegionTotals& region = tables.regions[r];
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.4f", region.seconds);
    out << "<tr><td>" << html(region.name) << (region.open != 0 ? " (not ended)" : "")
        << "</td><td class=\"n\">" << region.passes << "</td><td class=\"n\">" << seconds << "</td>";
    for (std::size_t i = 0; i < tables.cells[r].size(); ++i) {
      const Cell& cell = tables.cells[r][i];
      const bool gauge = groups[tables.series[i]].about->kind == Kind::kGauge;
      if (!cell.any) {
        out << "<td class=\"n\">-</td>";
        continue;
      }
      const std::string text = region_text(cell.summary, groups[tables.series[i]].about->kind);
      const double change = gauge ? cell.summary.rise : cell.summary.rate;
      out << "<td class=\"n\">" << html(text);
      if (gauge ? cell.summary.samples > 1 : std::isfinite(change)) out << "; " << compact(change);
      out << "</td>";
    }
    out << "</tr>\n";
  }
  out << "</tbody></table></div>\n<p class=\"dim\">~ and bounds: a region begins and ends between samples; "
         "the total "
         "lies between what was counted within and around it.</p>\n";
  if (timeline.regions.size() > kMostRegions)
    out << "<p class=\"dim\">Of " << timeline.regions.size() << " passes the longest " << kMostRegions
        << " are drawn.</p>\n";
}

}  // namespace

void write_html_report(std::ostream& out, const Timeline& recorded, const std::string& title) {
  std::deque<Series> renamed;
  const Timeline timeline = in_base_units(recorded, &renamed);
  const Recording& recording = *timeline.recording;
  const Writer& first = recording.writers.front();
  const std::vector<Group> groups = group_traces(timeline);
  const Tables tables = tables_of(timeline, groups);
  const std::string command{property(first.properties, "command")};
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.3f s", timeline.seconds);

  out << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
         "'unsafe-inline'; "
         "style-src 'unsafe-inline'; img-src data: blob:\">\n<title>"
      << html(title) << "</title>\n<style>\n"
      << kReportStyle << "</style>\n</head>\n<body>\n<h1>" << html(command.empty() ? title : command)
      << "</h1>\n"
      << "<p class=\"dim\">" << html(time_of_day(timeline.real_ns)) << ", " << seconds << ", "
      << html(property(first.properties, "host"));
  if (timeline.hosts > 1) out << " and " << timeline.hosts - 1 << " more machines";
  if (const std::string_view exit = property(first.end_properties, "exit"); !exit.empty())
    out << ", " << html(exit);
  out << "</p>\n";
  for (const std::string& problem : what_is_missing(timeline))
    out << "<p class=\"warn\">" << html(problem) << "</p>\n";
  if (const Advice advice = advise(timeline); !advice.findings.empty()) {
    out << "<h2>Findings</h2>\n<dl id=\"findings\">\n";
    for (const Finding& one : advice.findings)
      out << "<dt class=\"warn\">" << html(one.text) << "</dt><dd>" << html(one.evidence) << ".<br>"
          << html(one.cure) << "." << (one.limits.empty() ? "" : "<br><span class=\"dim\">")
          << html(one.limits) << (one.limits.empty() ? "" : ".</span>") << "</dd>\n";
    out << "</dl>\n";
  }
  if (const std::string overhead = overhead_text(timeline); !overhead.empty())
    out << "<p class=\"dim\">Own overhead: " << html(overhead) << ".</p>\n";
  if (std::any_of(groups.begin(), groups.end(), [](const Group& group) { return group.about->modelled; }))
    out << "<p class=\"dim\">Series marked <span class=\"modelled\">modelled</span> and drawn dashed come "
           "from a model, not "
           "from hardware or the operating system.</p>\n";

  out << "<h2>Time lines</h2>\n<div id=\"bar\"></div>\n<div id=\"choose\"></div>\n<div id=\"lines\"></div>\n"
         "<div id=\"tip\" hidden></div>\n<noscript><p class=\"warn\">The time lines need JavaScript; the "
         "tables do not.</p>"
         "</noscript>\n"
         "<div class=\"panes\"><div id=\"signatures\"></div><div id=\"correlations\"></div><div "
         "id=\"messages\"></div>"
         "<div id=\"writers\"></div></div>\n<h2>Series</h2>\n";
  write_series_table(out, groups);
  if (const std::vector<NamedSpread> spreads = spreads_of(first.properties); !spreads.empty()) {
    out << "<h2>Spread over writers and ranks</h2>\n<div class=\"scroll\"><table "
           "id=\"spreads\"><thead><tr><th>of</th>"
           "<th>unit</th><th class=\"n\">writers or ranks</th><th class=\"n\">min</th><th "
           "class=\"n\">mean</th>"
           "<th class=\"n\">max</th><th class=\"n\">deviation</th><th>what</th></tr></thead><tbody>\n";
    for (const NamedSpread& one : spreads)
      out << "<tr><td><code>" << html(one.name) << "</code></td><td>" << html(one.unit)
          << "</td><td class=\"n\">" << one.spread.count << "</td>" << number_cell(one.spread.min)
          << number_cell(one.spread.mean) << number_cell(one.spread.max) << number_cell(one.spread.deviation)
          << "<td>" << html(one.what) << "</td></tr>\n";
    out << "</tbody></table></div>\n";
  }
  if (!tables.regions.empty()) {
    out << "<h2>Regions</h2>\n";
    write_region_tables(out, timeline, groups, tables);
  }

  out << "<h2>Provenance</h2>\n<table id=\"provenance\"><tbody>\n";
  const auto row = [&](std::string_view name, std::string_view value) {
    out << "<tr><th>" << html(name) << "</th><td><code>" << html(value) << "</code></td></tr>\n";
  };
  row("record", title);
  row("writers", std::to_string(recording.writers.size()));
  std::int64_t skew = 0;
  for (const Writer& writer : recording.writers)
    for (const SampleSet& set : writer.sets) {
      for (const std::int64_t one : set.skews) skew = std::max(skew, one);
    }
  row("rows", std::to_string(recording.rows()));
  row("largest skew within a row", "+- " + std::to_string(skew) + " ns");
  for (const auto& [name, value] : first.properties)
    if (name.rfind("spread.", 0) != 0) row(name, value);
  for (const auto& [name, value] : first.end_properties)
    if (name != "rows") row(name, value);
  std::size_t measured = 0, wall = 0;
  std::int64_t worst = 0;
  for (const WriterClock& clock : timeline.clocks) {
    measured += clock.alignment == Alignment::kMeasured;
    wall += clock.alignment == Alignment::kWallClock;
    worst = std::max(worst, clock.uncertainty_ns);
  }
  if (measured != 0)
    row("clocks", std::to_string(measured) + " writers by measured offsets, within +- " +
                      std::to_string(worst) + " ns");
  if (wall != 0)
    row("clocks", std::to_string(wall) + " writers by the time of day of their machines, not measured");
  out << "</tbody></table>\n<script type=\"application/json\" id=\"data\">";
  write_data(out, timeline, groups, tables, title);
  out << "</script>\n<script>\n" << kReportScript << "</script>\n</body>\n</html>\n";
}

}  // namespace substrata::recording
