// A recording as JSON, whole.
#include <ostream>

#include "recording/exports.hpp"
#include "recording/format.hpp"

namespace substrata::recording {
namespace {

void write_properties(std::ostream& out, const Properties& properties) {
  out << '{';
  for (std::size_t i = 0; i < properties.size(); ++i)
    out << (i != 0 ? "," : "") << json_text(properties[i].first) << ':' << json_text(properties[i].second);
  out << '}';
}

const char* alignment_name(Alignment alignment) {
  return alignment == Alignment::kSameClock  ? "same clock"
         : alignment == Alignment::kMeasured ? "measured offset"
                                             : "wall clock";
}

}  // namespace

void export_json(std::ostream& out, const Timeline& timeline) {
  const Recording& recording = *timeline.recording;
  out << "{\"format\":\"substrata record\",\"version\":" << kFormatVersion
      << ",\"complete\":" << (recording.complete() ? "true" : "false")
      << ",\"seconds\":" << json_number(timeline.seconds) << ",\"started_real_ns\":" << timeline.real_ns
      << ",\n\"damages\":[";
  for (std::size_t i = 0; i < recording.damages.size(); ++i)
    out << (i != 0 ? "," : "") << "{\"offset\":" << recording.damages[i].offset
        << ",\"bytes\":" << recording.damages[i].bytes
        << ",\"reason\":" << json_text(recording.damages[i].reason) << '}';
  out << "],\n\"writers\":[";
  std::size_t next_trace = 0;
  for (std::size_t w = 0; w < recording.writers.size(); ++w) {
    const Writer& writer = recording.writers[w];
    const WriterClock& clock = timeline.clocks[w];
    out << (w != 0 ? ",\n" : "\n") << "{\"name\":" << json_text(writer_name(writer))
        << ",\"ended\":" << (writer.ended ? "true" : "false") << ",\"properties\":";
    write_properties(out, writer.properties);
    out << ",\"end\":";
    write_properties(out, writer.end_properties);
    out << ",\"clock\":{\"alignment\":\"" << alignment_name(clock.alignment)
        << "\",\"offset_ns\":" << clock.offset_ns << ",\"uncertainty_ns\":" << clock.uncertainty_ns
        << "},\n\"series\":[";
    for (std::size_t i = 0; i < writer.series.size(); ++i, ++next_trace) {
      const Series& series = writer.series[i];
      const Trace& trace = timeline.traces[next_trace];
      out << (i != 0 ? ",\n" : "\n") << "{\"name\":" << json_text(series.name)
          << ",\"unit\":" << json_text(series.unit) << ",\"text\":" << json_text(series.text)
          << ",\"component\":" << json_text(series.component) << ",\"scope\":" << json_text(series.scope)
          << ",\"kind\":\"" << kind_name(series.kind) << "\",\"origin\":\"" << origin_name(series)
          << "\",\"scaled\":" << ((trace.flags_seen & kScaled) != 0 ? "true" : "false") << ",\"seconds\":[";
      for (std::size_t k = 0; k < trace.seconds.size(); ++k)
        out << (k != 0 ? "," : "") << json_number(trace.seconds[k]);
      out << "],\"values\":[";
      bool first = true;
      for (std::size_t row = 0; row < series.values.size(); ++row) {
        if (!series.present_at(row)) continue;
        out << (first ? "" : ",") << exact_value(series, row);
        first = false;
      }
      out << "]}";
    }
    out << "],\n\"attachments\":[";
    for (std::size_t i = 0; i < writer.attachments.size(); ++i)
      out << (i != 0 ? "," : "") << "{\"name\":" << json_text(writer.attachments[i].name)
          << ",\"media_type\":" << json_text(writer.attachments[i].media_type)
          << ",\"content\":" << json_text(writer.attachments[i].content) << '}';
    out << "]}";
  }
  out << "],\n\"regions\":[";
  for (std::size_t i = 0; i < timeline.regions.size(); ++i) {
    const Region& region = timeline.regions[i];
    out << (i != 0 ? ",\n" : "\n") << "{\"name\":" << json_text(region.name)
        << ",\"writer\":" << region.writer << ",\"rank\":" << region.rank
        << ",\"begin\":" << json_number(region.begin) << ",\"end\":" << json_number(region.end)
        << ",\"open\":" << (region.open ? "true" : "false") << ",\"depth\":" << region.depth << '}';
  }
  out << "],\n\"moments\":[";
  for (std::size_t i = 0; i < timeline.moments.size(); ++i) {
    const Moment& moment = timeline.moments[i];
    out << (i != 0 ? ",\n" : "\n") << "{\"name\":" << json_text(moment.name)
        << ",\"writer\":" << moment.writer << ",\"rank\":" << moment.rank
        << ",\"at\":" << json_number(moment.at) << '}';
  }
  out << "]}\n";
}

}  // namespace substrata::recording
