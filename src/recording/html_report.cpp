// A recording as the data of the page.
#include "recording/html_report.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <ostream>
#include <sstream>
#include <stdexcept>

#include "recording/advice.hpp"
#include "recording/base_unit.hpp"
#include "recording/exports.hpp"
#include "recording/page/curves.hpp"
#include "recording/page/overview.hpp"
#include "recording/page/page.hpp"
#include "recording/reduction.hpp"
#include "recording/regions.hpp"
#include "recording/statistics.hpp"
#include "recording/text_report.hpp"

namespace substrata::recording {
namespace {

constexpr std::size_t kMostPoints = 100'000;      // of all series together, about
constexpr std::size_t kMostRegions = 3000;        // drawn
constexpr std::size_t kMostNames = 40;            // of regions in tables
constexpr std::size_t kMostPaths = 200;           // of regions within others
constexpr std::size_t kMostCorrelated = 16;       // series
constexpr std::size_t kMostAttached = 1'000'000;  // bytes of an attachment that the page carries

// After `opening`, such as `,"series":`, a list with what `write` makes of each of the things.
template <typename Things, typename Write>
void write_list(std::ostream& out, const char* opening, const Things& things, Write&& write) {
  out << opening << '[';
  bool first = true;
  for (const auto& one : things) {
    if (!first) out << ",\n";
    first = false;
    write(one);
  }
  out << ']';
}

const char* truth(bool one) { return one ? "true" : "false"; }

void write_head(std::ostream& out, const Timeline& timeline, const std::vector<Group>& groups) {
  const Writer& first = timeline.recording->writers.front();
  out << ",\"seconds\":" << json_number(timeline.seconds)
      << ",\"command\":" << json_text(property(first.properties, "command"))
      << ",\"when\":" << json_text(time_of_day(timeline.real_ns))
      << ",\"host\":" << json_text(property(first.properties, "host")) << ",\"hosts\":" << timeline.hosts
      << ",\"exit\":" << json_text(property(first.end_properties, "exit"))
      << ",\"overhead\":" << json_text(overhead_text(timeline));
  write_list(out, ",\n\"problems\":", what_is_missing(timeline),
             [&](const std::string& one) { out << json_text(one); });
  write_list(out, ",\n\"overview\":", overview_of(timeline, groups), [&](const OverviewNumber& one) {
    out << "{\"name\":" << json_text(one.name) << ",\"value\":" << json_number(one.value)
        << ",\"unit\":" << json_text(one.unit) << ",\"note\":" << json_text(one.note)
        << ",\"also\":" << json_number(one.also) << ",\"also_unit\":" << json_text(one.also_unit)
        << ",\"modelled\":" << truth(one.modelled) << ",\"origin\":" << json_text(one.origin) << '}';
  });
  const Advice advice = advise(timeline);
  write_list(out, ",\n\"findings\":", advice.findings, [&](const Finding& one) {
    out << "{\"text\":" << json_text(one.text) << ",\"evidence\":" << json_text(one.evidence)
        << ",\"cure\":" << json_text(one.cure) << ",\"limits\":" << json_text(one.limits) << '}';
  });
  write_list(out, ",\n\"quiet\":", advice.quiet, [&](const std::string& one) { out << json_text(one); });
  write_list(out, ",\n\"without\":", advice.without,
             [&](const auto& one) { out << json_text(one.first + " (needs " + one.second + ")"); });
}

// Totals, levels and rates of a group as a whole.
void write_sums(std::ostream& out, const Group& group) {
  const bool gauge = group.about->kind == Kind::kGauge;
  double total = 0, mean = 0, low = INFINITY, high = -INFINITY;
  std::vector<double> each;
  for (const Trace* trace : group.traces) {
    const Summary one = summarize(*trace);
    if (one.samples == 0) continue;
    total += one.total;
    mean += gauge ? one.level.mean : one.rate.mean;
    if (const Spread& range = gauge ? one.level : one.rate; range.count != 0) {
      low = std::min(low, range.min);
      high = std::max(high, range.max);
    }
    each.push_back(gauge ? one.level.mean : one.total);
  }
  if (gauge && !each.empty()) mean /= static_cast<double>(each.size());
  const double none = NAN;
  if (counts_energy(*group.about) && total == 0) total = mean = low = high = none;
  out << ",\"total\":" << json_number(gauge || each.empty() ? none : total)
      << ",\"mean\":" << json_number(each.empty() ? none : mean) << ",\"min\":" << json_number(low)
      << ",\"max\":" << json_number(high)
      << ",\"deviation\":" << json_number(each.size() > 1 ? spread_of(each).deviation : none);
}

void write_series(std::ostream& out, const Timeline& timeline, const std::vector<Group>& groups,
                  const std::vector<Drawn>& curves) {
  // Series that were sampled together share their times, which stand in a list of their own.
  std::vector<const std::vector<double>*> times;
  const Drawn* curve = curves.data();
  write_list(out, ",\n\"series\":", groups, [&](const Group& group) {
    const auto same =
        std::find_if(times.begin(), times.end(), [&](const auto* one) { return *one == curve->seconds; });
    const auto number = same - times.begin();
    if (same == times.end()) times.push_back(&curve->seconds);
    out << '{';
    write_facts(out, *group.about, group.scope);
    out << ",\"origin\":" << json_text(origin_of(group)) << ",\"writers\":" << group.traces.size()
        << ",\"changes\":" << truth(curve->changes()) << ",\"t\":" << number;
    write_sums(out, group);
    out << ',';
    write_values(out, *curve++);
    if (group.traces.size() > 1 && group.about->scope != "recorder") {
      out << ",\"rows\":";
      write_rows(out, group, timeline);
    }
    out << '}';
  });
  write_list(out, ",\n\"times\":", times,
             [&](const std::vector<double>* one) { write_numbers(out, *one, 8); });
}

void write_regions(std::ostream& out, const Timeline& timeline) {
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
  out << ",\"passes\":" << timeline.regions.size();
  write_list(out, ",\n\"regions\":", regions, [&](const Region* one) {
    out << "{\"name\":" << json_text(one->name) << ",\"begin\":" << json_number(one->begin)
        << ",\"end\":" << json_number(one->end) << ",\"open\":" << truth(one->open)
        << ",\"depth\":" << one->depth << '}';
  });
  std::vector<Moment> moments = timeline.moments;
  if (moments.size() > kMostRegions) moments.resize(kMostRegions);
  write_list(out, ",\n\"moments\":", moments, [&](const Moment& one) {
    out << "{\"name\":" << json_text(one.name) << ",\"at\":" << json_number(one.at) << '}';
  });
}

// Each region by each series that counted or was sampled in some region.
void write_region_table(std::ostream& out, const Timeline& timeline, const std::vector<Group>& groups) {
  std::vector<RegionTotals> regions = region_totals(timeline);
  if (regions.size() > kMostNames) regions.resize(kMostNames);
  std::vector<std::size_t> used;
  std::vector<std::string> cells(regions.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const bool gauge = groups[g].about->kind == Kind::kGauge;
    if (groups[g].about->scope == "recorder") continue;
    std::vector<RegionSummary> column;
    for (const RegionTotals& region : regions)
      column.push_back(summarize_within(groups[g], region, timeline));
    if (std::none_of(column.begin(), column.end(),
                     [&](const RegionSummary& one) { return one.seconds > 0 && (gauge || one.most != 0); }))
      continue;
    for (std::size_t r = 0; r < regions.size(); ++r) {
      const RegionSummary& one = column[r];
      std::ostringstream cell;
      const bool energy = counts_energy(*groups[g].about);
      if (one.seconds > 0 && !(energy && one.most == 0))
        cell << "{\"text\":" << json_text(region_text(one, groups[g].about->kind))
             << ",\"rate\":" << json_number(energy && one.rate == 0 ? NAN : one.rate)
             << ",\"rise\":" << json_number(one.samples > 1 ? one.rise : NAN) << '}';
      else
        cell << "null";
      cells[r] += (used.empty() ? "" : ",") + cell.str();
    }
    used.push_back(g);
  }
  write_list(out, ",\n\"region_totals\":{\"series\":", used, [&](std::size_t g) { out << g; });
  const std::string* cell = cells.data();
  write_list(out, ",\n\"rows\":", regions, [&](const RegionTotals& one) {
    out << "{\"name\":" << json_text(one.name) << ",\"passes\":" << one.passes
        << ",\"open\":" << truth(one.open != 0) << ",\"seconds\":" << json_number(one.seconds)
        << ",\"cells\":[" << *cell++ << "]}";
  });
  out << '}';
}

void write_region_paths(std::ostream& out, const Timeline& timeline) {
  std::vector<RegionPath> paths = region_paths(timeline);
  if (paths.size() > kMostPaths) paths.resize(kMostPaths);
  write_list(out, ",\n\"paths\":", paths, [&](const RegionPath& one) {
    out << "{\"name\":" << json_text(one.names.back()) << ",\"depth\":" << one.names.size() - 1
        << ",\"passes\":" << one.passes << ",\"seconds\":" << json_number(one.seconds)
        << ",\"own\":" << json_number(one.own) << '}';
  });
}

void write_correlations(std::ostream& out, const std::vector<Group>& groups,
                        const std::vector<Drawn>& curves) {
  std::vector<std::size_t> used;
  for (std::size_t g = 0; g < groups.size() && used.size() < kMostCorrelated; ++g)
    if (groups[g].about->scope != "recorder" && groups[g].about->kind != Kind::kBin && curves[g].changes())
      used.push_back(g);
  write_list(out, ",\n\"correlation\":{\"series\":", used, [&](std::size_t g) { out << g; });
  write_list(out, ",\n\"r\":", used, [&](std::size_t a) {
    std::vector<double> line;
    for (const std::size_t b : used) {
      double r = NAN;
      try {
        if (shared_origin(*groups[a].about, *groups[b].about).empty())
          r = correlation_without_lag(curves[a].curve(), curves[b].curve());
      } catch (const std::runtime_error&) {  // they have no time in common
      }
      line.push_back(r);
    }
    write_numbers(out, line, 4);
  });
  out << '}';
}

// Names and values that say how the recording was made.
class Provenance {
 public:
  explicit Provenance(std::ostream& out) : out_(out) { out_ << ",\n\"provenance\":["; }
  ~Provenance() { out_ << ']'; }
  Provenance(const Provenance&) = delete;
  Provenance& operator=(const Provenance&) = delete;
  void row(std::string_view name, std::string_view value) {
    out_ << (first_ ? "[" : ",\n[") << json_text(name) << ',' << json_text(value) << ']';
    first_ = false;
  }

 private:
  std::ostream& out_;
  bool first_ = true;
};

void write_provenance(std::ostream& out, const Timeline& timeline, const std::string& title) {
  const Recording& recording = *timeline.recording;
  const Writer& first = recording.writers.front();
  Provenance table(out);
  table.row("record", title);
  table.row("writers", std::to_string(recording.writers.size()));
  std::int64_t skew = 0;
  for (const Writer& writer : recording.writers)
    for (const SampleSet& set : writer.sets)
      for (const std::int64_t one : set.skews) skew = std::max(skew, one);
  table.row("rows", std::to_string(recording.rows()));
  if (const std::string merged = merged_rows_text(recording); !merged.empty()) table.row("read", merged);
  table.row("largest skew within a row", "+- " + std::to_string(skew) + " ns");
  for (const auto& [name, value] : first.properties)
    if (name.rfind("spread.", 0) != 0) table.row(name, value);
  for (const auto& [name, value] : first.end_properties)
    if (name != "rows") table.row(name, value);
  std::size_t measured = 0, wall = 0;
  std::int64_t worst = 0;
  for (const WriterClock& clock : timeline.clocks) {
    measured += clock.alignment == Alignment::kMeasured;
    wall += clock.alignment == Alignment::kWallClock;
    worst = std::max(worst, clock.uncertainty_ns);
  }
  if (measured != 0)
    table.row("clocks", std::to_string(measured) + " writers by measured offsets, within +- " +
                            std::to_string(worst) + " ns");
  if (wall != 0)
    table.row("clocks", std::to_string(wall) + " writers by the time of day of their machines, not measured");
}

void write_attachments(std::ostream& out, const Recording& recording) {
  std::vector<const Attachment*> small;
  for (const Writer& writer : recording.writers)
    for (const Attachment& attachment : writer.attachments)
      if (attachment.content.size() <= kMostAttached) small.push_back(&attachment);
  write_list(out, ",\n\"attachments\":", small, [&](const Attachment* one) {
    out << "{\"name\":" << json_text(one->name) << ",\"content\":" << json_text(one->content) << '}';
  });
}

}  // namespace

void write_html_report(std::ostream& out, const Timeline& recorded, const std::string& title) {
  std::deque<Series> renamed;
  const Timeline timeline = in_base_units(recorded, &renamed);
  const std::vector<Group> groups = group_traces(timeline);
  std::vector<Drawn> curves;
  const std::size_t most =
      std::clamp<std::size_t>(kMostPoints / std::max<std::size_t>(groups.size(), 1), 400, 5000);
  for (const Group& group : groups) curves.push_back(draw(group, timeline.seconds, most));

  std::ostringstream data;
  data << "{\"title\":" << json_text(title);
  write_head(data, timeline, groups);
  write_series(data, timeline, groups, curves);
  write_regions(data, timeline);
  write_region_table(data, timeline, groups);
  write_region_paths(data, timeline);
  write_correlations(data, groups, curves);
  write_list(data, ",\n\"spreads\":", spreads_of(timeline.recording->writers.front().properties),
             [&](const NamedSpread& one) {
               data << "{\"name\":" << json_text(one.name) << ",\"unit\":" << json_text(one.unit)
                    << ",\"count\":" << one.spread.count << ",\"min\":" << json_number(one.spread.min)
                    << ",\"mean\":" << json_number(one.spread.mean)
                    << ",\"max\":" << json_number(one.spread.max)
                    << ",\"deviation\":" << json_number(one.spread.deviation)
                    << ",\"what\":" << json_text(one.what) << '}';
             });
  write_provenance(data, timeline, title);
  write_attachments(data, *timeline.recording);
  data << '}';
  write_page(out, PageKind::kRecording, title, data.str());
}

}  // namespace substrata::recording
