// A recording in the Trace Event Format.
#include <cstdio>
#include <ostream>

#include "recording/exports.hpp"
#include "recording/statistics.hpp"

namespace substrata::recording {
namespace {

// Microseconds, the unit of the format.
std::string stamp(double seconds) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3f", seconds * 1e6);
  return text;
}

}  // namespace

void export_perfetto(std::ostream& out, const Timeline& timeline) {
  const Recording& recording = *timeline.recording;
  bool first = true;
  const auto event = [&]() -> std::ostream& {
    out << (first ? "\n" : ",\n");
    first = false;
    return out;
  };
  out << "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"producer\":\"substrata record\",\"complete\":\""
      << (recording.complete() ? "yes" : "no") << "\",\"seconds\":\"" << json_number(timeline.seconds)
      << "\"},\"traceEvents\":[";
  for (std::size_t w = 0; w < recording.writers.size(); ++w) {
    event() << "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" << w + 1
            << ",\"tid\":0,\"args\":{\"name\":" << json_text(writer_name(recording.writers[w])) << "}}";
    event() << "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":" << w + 1
            << ",\"tid\":0,\"args\":{\"sort_index\":" << w << "}}";
  }
  for (const Trace& trace : timeline.traces) {
    const Series& series = *trace.series;
    const bool rate = series.kind != Kind::kGauge;
    const std::string unit =
        (series.unit.empty() ? std::string(rate ? "1" : "value") : series.unit) + (rate ? "/s" : "");
    const std::string head =
        "{\"ph\":\"C\",\"pid\":" + std::to_string(trace.writer + 1) + ",\"tid\":0,\"name\":" +
        json_text(series.name + (rank_of_scope(series.scope) < 0 ? "" : " (" + series.scope + ")") +
                  (series.modelled ? " (modelled)" : "")) +
        ",\"cat\":" + json_text(series.component) + ",\"args\":{" + json_text(unit) + ":";
    // A counter track holds a value until the next one: a rate stands from the beginning of its interval.
    for (std::size_t i = rate ? 1 : 0; i < trace.seconds.size(); ++i) {
      double value = trace.values[i];
      double at = trace.seconds[i];
      if (rate) {
        at = trace.seconds[i - 1];
        if (trace.seconds[i] <= at) continue;
        value = (trace.values[i] - trace.values[i - 1]) / (trace.seconds[i] - at);
      }
      const std::string number = json_number(value);
      if (number == "null") continue;
      event() << head << number << "},\"ts\":" << stamp(at) << '}';
    }
    if (rate && trace.seconds.size() > 1)
      event() << head << "0},\"ts\":" << stamp(trace.seconds.back()) << '}';
  }
  for (const Region& region : timeline.regions)
    event() << "{\"ph\":\"X\",\"pid\":" << region.writer + 1 << ",\"tid\":" << region.rank + 1
            << ",\"name\":" << json_text(region.name) << ",\"cat\":\"region\",\"ts\":" << stamp(region.begin)
            << ",\"dur\":" << stamp(region.end - region.begin) << ",\"args\":{\"end\":\""
            << (region.open ? "not in the recording" : "recorded") << "\"}}";
  for (const Moment& moment : timeline.moments)
    event() << "{\"ph\":\"i\",\"s\":\"p\",\"pid\":" << moment.writer + 1 << ",\"tid\":" << moment.rank + 1
            << ",\"name\":" << json_text(moment.name) << ",\"cat\":\"mark\",\"ts\":" << stamp(moment.at)
            << '}';
  out << "\n]}\n";
}

}  // namespace substrata::recording
