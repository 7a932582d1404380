// A recording in the Trace Event Format.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

// A process a writer; the ranks that one recorder saw are processes after those.
class Processes {
 public:
  explicit Processes(const Recording& recording) : recording_(recording) {
    for (const Writer& writer : recording.writers) names_.push_back(writer_name(writer));
  }
  // `rank` below 0: of the writer itself.
  std::size_t of(std::size_t writer, std::int64_t rank) {
    const Properties& properties = recording_.writers[writer].properties;
    if (rank < 0 || !property(properties, "mpi.rank").empty()) return writer + 1;
    const auto [at, is_new] = ranks_.try_emplace({writer, rank}, names_.size() + 1);
    if (is_new) names_.push_back(names_[writer] + " " + rank_scope(rank));
    return at->second;
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  const Recording& recording_;
  std::vector<std::string> names_;  // by process, from 1 on
  std::map<std::pair<std::size_t, std::int64_t>, std::size_t> ranks_;
};

}  // namespace

void export_perfetto(std::ostream& out, const Timeline& timeline) {
  const Recording& recording = *timeline.recording;
  bool first = true;
  const auto event = [&]() -> std::ostream& {
    out << (first ? "\n" : ",\n");
    first = false;
    return out;
  };
  const Properties& made = recording.writers.front().properties;
  const std::string_view command = property(made, "command");
  out << "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"producer\":\"substrata record\",\"command\":"
      << json_text(command) << ",\"host\":" << json_text(property(made, "host")) << ",\"complete\":\""
      << (recording.complete() ? "yes" : "no") << "\",\"seconds\":\"" << json_number(timeline.seconds)
      << "\"},\"traceEvents\":[";
  Processes processes(recording);
  for (const Trace& trace : timeline.traces) {
    const Series& series = *trace.series;
    const bool rate = series.kind != Kind::kGauge;
    const std::string unit =
        (series.unit.empty() ? std::string(rate ? "1" : "value") : series.unit) + (rate ? "/s" : "");
    const std::string head =
        "{\"ph\":\"C\",\"pid\":" + std::to_string(processes.of(trace.writer, rank_of_scope(series.scope))) +
        ",\"tid\":0,\"name\":" + json_text(series.name + (series.modelled ? " (modelled)" : "")) +
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
    event() << "{\"ph\":\"X\",\"pid\":" << processes.of(region.writer, region.rank)
            << ",\"tid\":" << region.rank + 1 << ",\"name\":" << json_text(region.name)
            << ",\"cat\":\"region\",\"ts\":" << stamp(region.begin)
            << ",\"dur\":" << stamp(region.end - region.begin) << ",\"args\":{\"end\":\""
            << (region.open ? "not in the recording" : "recorded") << "\"}}";
  for (const Moment& moment : timeline.moments)
    event() << "{\"ph\":\"i\",\"s\":\"p\",\"pid\":" << processes.of(moment.writer, moment.rank)
            << ",\"tid\":" << moment.rank + 1 << ",\"name\":" << json_text(moment.name)
            << ",\"cat\":\"mark\",\"ts\":" << stamp(moment.at) << '}';
  for (std::size_t i = 0; i < processes.names().size(); ++i) {
    const auto about = [&](const char* what) -> std::ostream& {
      return event() << "{\"ph\":\"M\",\"name\":\"" << what << "\",\"pid\":" << i + 1
                     << ",\"tid\":0,\"args\":{";
    };
    about("process_name") << "\"name\":" << json_text(processes.names()[i]) << "}}";
    about("process_sort_index") << "\"sort_index\":" << i << "}}";
    if (i < recording.writers.size() && !command.empty())
      about("process_labels") << "\"labels\":"
                              << json_text(property(recording.writers[i].properties, "command")) << "}}";
  }
  out << "\n]}\n";
}

}  // namespace substrata::recording
