// Aligning clocks, pairing marks, grouping series.
#include "recording/timeline.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "recording/bytes.hpp"
#include "recording/statistics.hpp"

namespace substrata::recording {
namespace {

// Times as differences from the start are small; a damaged or hostile record must not overflow.
double seconds_between(std::int64_t from, std::int64_t to) {
  return (static_cast<double>(to) - static_cast<double>(from)) > 9e15 ||
                 (static_cast<double>(to) - static_cast<double>(from)) < -9e15
             ? (static_cast<double>(to) - static_cast<double>(from)) * 1e-9
             : static_cast<double>(wrapping_difference(to, from)) * 1e-9;
}

// Which clock a writer's times are of.
std::string_view clock_of(const Writer& writer) {
  const std::string_view clock = property(writer.properties, "clock");
  return clock.empty() ? property(writer.properties, "machine.boot_id") : clock;
}

// Readings of clocks against that of `reference`: those of any writer hold for all that have its clock.
using Readings = std::map<std::string_view, std::vector<const ClockReading*>>;
Readings readings_against(const Recording& recording, std::string_view reference) {
  Readings out;
  for (const Writer& writer : recording.writers)
    for (const ClockReading& reading : writer.clocks)
      if (reading.reference == reference) out[clock_of(writer)].push_back(&reading);
  for (auto& [clock, readings] : out)
    std::stable_sort(readings.begin(), readings.end(),
                     [](const ClockReading* a, const ClockReading* b) { return a->time < b->time; });
  return out;
}

// A writer's times on the common clock. Between two readings of the offset it is a straight line.
class Clock {
 public:
  Clock(const Writer& writer, const Writer& base, std::string_view reference, const Readings& known,
        WriterClock* about) {
    const std::string_view machine = clock_of(writer);
    if (machine == reference && !machine.empty()) return;
    if (const auto found = known.find(machine); found != known.end()) {
      const std::vector<const ClockReading*>& readings = found->second;
      const ClockReading& first = *readings.front();
      const ClockReading& last = *readings.back();
      offset_ = first.offset;
      origin_ = first.time;
      if (last.time > first.time)
        slope_ = static_cast<double>(wrapping_difference(last.offset, first.offset)) /
                 static_cast<double>(wrapping_difference(last.time, first.time));
      *about = {Alignment::kMeasured, offset_, std::max(first.uncertainty, last.uncertainty)};
      return;
    }
    if (&writer == &base || machine.empty()) return;
    const auto real_minus_raw = [](const Writer& of) {
      return wrapping_difference(property_number(of.properties, "start.real_ns"),
                                 property_number(of.properties, "start.raw_ns"));
    };
    offset_ = wrapping_difference(real_minus_raw(writer), real_minus_raw(base));
    *about = {Alignment::kWallClock, offset_, 0};
  }
  std::int64_t common(std::int64_t time) const {
    const double drift = slope_ * static_cast<double>(wrapping_difference(time, origin_));
    const std::int64_t whole = drift > 9e17 || drift < -9e17 ? 0 : static_cast<std::int64_t>(drift);
    return wrapping_sum(wrapping_sum(time, offset_), whole);
  }

 private:
  std::int64_t offset_ = 0;
  std::int64_t origin_ = 0;
  double slope_ = 0;
};

}  // namespace

Timeline lay_out(const Recording& recording) {
  Timeline out;
  out.recording = &recording;
  if (recording.writers.empty()) return out;
  out.phases = phase_counts(recording);

  // The common clock: that to which offsets were measured, else the first writer's.
  std::string_view reference = clock_of(recording.writers.front());
  for (const Writer& writer : recording.writers)
    if (!writer.clocks.empty()) {
      reference = writer.clocks.front().reference;
      break;
    }
  const Writer* base = &recording.writers.front();
  for (const Writer& writer : recording.writers)
    if (clock_of(writer) == reference) {
      base = &writer;
      break;
    }
  const Readings readings = readings_against(recording, reference);
  std::vector<Clock> clocks;
  std::set<std::string_view> hosts;
  for (const Writer& writer : recording.writers) {
    WriterClock about;
    clocks.emplace_back(writer, *base, reference, readings, &about);
    out.clocks.push_back(about);
    hosts.insert(property(writer.properties, "host"));
  }
  out.hosts = hosts.size();

  bool known = false;
  std::int64_t start = 0;
  const auto consider = [&](std::size_t writer, std::int64_t time) {
    const std::int64_t common = clocks[writer].common(time);
    if (!known || common < start) start = common;
    known = true;
  };
  for (std::size_t w = 0; w < recording.writers.size(); ++w) {
    const Writer& writer = recording.writers[w];
    if (const std::int64_t raw = property_number(writer.properties, "start.raw_ns"); raw != 0) {
      consider(w, raw);
      continue;
    }
    for (const SampleSet& set : writer.sets)
      if (!set.times.empty()) consider(w, set.times.front());
    if (!writer.marks.empty()) consider(w, writer.marks.front().time);
  }
  out.reference = reference;
  out.start_ns = start;
  out.real_ns = wrapping_sum(
      property_number(base->properties, "start.real_ns"),
      wrapping_difference(start, clocks[static_cast<std::size_t>(base - recording.writers.data())].common(
                                     property_number(base->properties, "start.raw_ns"))));

  for (std::size_t w = 0; w < recording.writers.size(); ++w) {
    const Writer& writer = recording.writers[w];
    for (const Series& series : writer.series) {
      Trace trace;
      trace.writer = w;
      trace.series = &series;
      const SampleSet& set = writer.sets[series.set];
      for (std::size_t row = 0; row < set.times.size(); ++row) {
        trace.flags_seen |= series.flags[row];
        if (!series.present_at(row)) continue;
        double at = seconds_between(start, clocks[w].common(set.times[row]));
        if (!trace.seconds.empty()) at = std::max(at, trace.seconds.back());
        trace.seconds.push_back(at);
        trace.values.push_back(series.value_at(row));
        out.seconds = std::max(out.seconds, at);
      }
      out.traces.push_back(std::move(trace));
    }
    for (const Mark& mark : writer.marks)
      out.seconds = std::max(out.seconds, seconds_between(start, clocks[w].common(mark.time)));
    if (writer.ended)
      out.seconds = std::max(out.seconds, seconds_between(start, clocks[w].common(writer.end_time)));
  }

  for (std::size_t w = 0; w < recording.writers.size(); ++w) {
    std::map<std::int32_t, std::vector<Region>> open;  // by rank
    for (const Mark& mark : recording.writers[w].marks) {
      const double at = seconds_between(start, clocks[w].common(mark.time));
      std::vector<Region>& stack = open[mark.rank];
      if (mark.kind == MarkKind::kMoment) {
        out.moments.push_back({w, mark.rank, mark.name, at});
      } else if (mark.kind == MarkKind::kBegin) {
        stack.push_back({w, mark.rank, mark.name, at, at, false, static_cast<std::uint32_t>(stack.size())});
      } else {
        // The innermost of that name; an end without a name ends the innermost.
        const auto found = std::find_if(stack.rbegin(), stack.rend(), [&](const Region& region) {
          return mark.name.empty() || region.name == mark.name;
        });
        if (found == stack.rend()) continue;
        found->end = std::max(at, found->begin);
        out.regions.push_back(*found);
        stack.erase(std::next(found).base());
      }
    }
    for (auto& [rank, stack] : open)
      for (Region& region : stack) {
        region.end = std::max(region.begin, out.seconds);
        region.open = true;
        out.regions.push_back(region);
      }
  }
  std::stable_sort(out.regions.begin(), out.regions.end(), [](const Region& a, const Region& b) {
    return std::tie(a.begin, a.depth) < std::tie(b.begin, b.depth);
  });
  return out;
}

Timeline cut_out(const Timeline& timeline, double begin, double end) {
  Timeline out;
  out.recording = timeline.recording;
  out.clocks = timeline.clocks;
  out.hosts = timeline.hosts;
  out.reference = timeline.reference;
  out.start_ns = wrapping_sum(timeline.start_ns, static_cast<std::int64_t>(begin * 1e9));
  out.seconds = std::min(end, timeline.seconds) - begin;
  out.real_ns = wrapping_sum(timeline.real_ns, static_cast<std::int64_t>(begin * 1e9));
  for (const Trace& trace : timeline.traces) {
    Trace part;
    part.writer = trace.writer;
    part.series = trace.series;
    part.flags_seen = trace.flags_seen;
    const double base =
        trace.series->kind == Kind::kGauge || trace.seconds.empty() ? 0 : value_at(trace, begin);
    for (std::size_t i = 0; i < trace.seconds.size(); ++i) {
      if (trace.seconds[i] < begin || trace.seconds[i] > end) continue;
      part.seconds.push_back(trace.seconds[i] - begin);
      part.values.push_back(trace.values[i] - base);
    }
    out.traces.push_back(std::move(part));
  }
  out.phases = timeline.phases;
  out.cut_regions = timeline.cut_regions;
  out.cut = true;
  for (Region region : timeline.regions) {
    if (region.begin < begin || region.end > end) out.cut_regions.push_back(region.name);
    if (region.end < begin || region.begin > end) continue;
    region.begin = std::max(region.begin, begin) - begin;
    region.end = std::min(region.end, end) - begin;
    out.regions.push_back(std::move(region));
  }
  for (Moment moment : timeline.moments) {
    if (moment.at < begin || moment.at > end) continue;
    moment.at -= begin;
    out.moments.push_back(std::move(moment));
  }
  return out;
}

std::vector<Group> group_traces(const Timeline& timeline, Ranks ranks) {
  std::vector<Group> groups;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view, std::string_view, std::uint8_t>,
           std::size_t>
      index;
  for (const Trace& trace : timeline.traces) {
    const Series& about = *trace.series;
    const std::string_view scope = ranks == Ranks::kTogether && rank_of_scope(about.scope) >= 0
                                       ? std::string_view("rank")
                                       : std::string_view(about.scope);
    const auto [at, is_new] =
        index.try_emplace({about.name, about.unit, about.component, scope, about.origin()}, groups.size());
    if (is_new) groups.push_back({&about, std::string(scope), {}});
    groups[at->second].traces.push_back(&trace);
  }
  return groups;
}

const char* origin_name(const SeriesInfo& about) noexcept {
  return about.modelled ? "modelled" : about.recorded ? "recorded machine" : "measured";
}

const char* kind_name(Kind kind) noexcept {
  return kind == Kind::kCount ? "count" : kind == Kind::kGauge ? "gauge" : "bin";
}

std::string writer_name(const Writer& writer) {
  std::string name{property(writer.properties, "host")};
  if (name.empty()) name = "writer " + std::to_string(writer.id);
  if (const std::string_view rank = property(writer.properties, "mpi.rank"); !rank.empty())
    name += " rank " + std::string(rank);
  return name;
}

std::string trace_name(const Timeline& timeline, const Trace& trace) {
  std::string name = writer_name(timeline.recording->writers[trace.writer]);
  if (rank_of_scope(trace.series->scope) >= 0) name += " " + trace.series->scope;
  return name;
}

}  // namespace substrata::recording
