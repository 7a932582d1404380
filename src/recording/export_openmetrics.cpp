// A recording as OpenMetrics text.
#include <cstdio>
#include <map>
#include <ostream>

#include "recording/exports.hpp"
#include "recording/openmetrics.hpp"

namespace substrata::recording {
namespace {

// Of the time of day.
std::string stamp(const Timeline& timeline, double seconds) {
  const std::int64_t microseconds = timeline.real_ns / 1000;
  char text[48];
  std::snprintf(text, sizeof text, "%.6f", static_cast<double>(microseconds) / 1e6 + seconds);
  return text;
}

// The labels of a series; those of a writer that would have the labels of another get its number.
class LabelsOf {
 public:
  explicit LabelsOf(const Recording& recording) : recording_(recording) {}
  MetricLabels operator()(const Trace& trace) {
    const Writer& writer = recording_.writers[trace.writer];
    const std::int64_t own = rank_of_scope(trace.series->scope);
    const std::string rank =
        own >= 0 ? std::to_string(own) : std::string(property(writer.properties, "mpi.rank"));
    MetricLabels labels = event_labels(*trace.series, property(writer.properties, "host"), rank);
    if (const int again = seen_[labels]++; again != 0)
      labels.emplace_back("writer", std::to_string(again + 1));
    return labels;
  }

 private:
  const Recording& recording_;
  std::map<MetricLabels, int> seen_;
};

}  // namespace

void export_openmetrics(std::ostream& out, const Timeline& timeline) {
  MetricText text(out, Exposition::kOpenMetrics);
  const std::vector<Group> groups = group_traces(timeline);
  bool scaled = false;
  for (const Group& group : groups) {
    text.family(*group.about);
    LabelsOf labels_of(*timeline.recording);
    for (const Trace* trace : group.traces) {
      const MetricLabels labels = labels_of(*trace);
      scaled = scaled || (trace->flags_seen & kScaled) != 0;
      std::string last_stamp;
      for (std::size_t row = 0, at = 0; row < trace->series->values.size(); ++row) {
        if (!trace->series->present_at(row)) continue;
        const std::string when = stamp(timeline, trace->seconds[at++]);
        const std::string value = metric_value(*trace->series, row);
        // Time stamps of one metric must rise, and a counter is a number.
        if (when == last_stamp || (value == "null" && group.about->kind != Kind::kGauge)) continue;
        last_stamp = when;
        text.sample(labels, value == "null" ? "NaN" : value, when);
      }
    }
  }
  if (scaled) {
    text.family(
        "substrata_event_scaled", "gauge", "",
        "1 from where on values of the event are extrapolated, because its counter ran part of the time");
    LabelsOf labels_of(*timeline.recording);
    for (const Group& group : groups)
      for (const Trace* trace : group.traces) {
        const MetricLabels labels = labels_of(*trace);
        if ((trace->flags_seen & kScaled) == 0) continue;
        std::string last_stamp;
        int last = -1;
        for (std::size_t row = 0, at = 0; row < trace->series->values.size(); ++row) {
          if (!trace->series->present_at(row)) continue;
          const std::string when = stamp(timeline, trace->seconds[at++]);
          const int now = (trace->series->flags[row] & kScaled) != 0 ? 1 : 0;
          if (now == last || when == last_stamp) continue;
          last = now;
          last_stamp = when;
          text.sample(labels, now != 0 ? "1" : "0", when);
        }
      }
  }
  text.end();
}

}  // namespace substrata::recording
