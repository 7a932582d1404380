// A line of fields an event, in the order of `perf stat -x`: value, unit, event, variance of several runs, time
// that it counted, share of the wanted time, what stands beside it and its unit; within a region, its name and how
// often it was passed.
#include <cstdio>
#include <ostream>

#include "tools/substrata/stat/printing.hpp"

namespace substrata::tool {
namespace {

void write_line(std::ostream& out, const Line& line, const Counts& counts, const std::string& separator,
                const std::string& first, const std::string& last) {
  const Shown value =
      line.present ? shown(line) : Shown{line.refused.empty() ? "<not counted>" : "<not supported>", ""};
  out << first << value.value << separator << value.unit << separator << line.name << separator;
  char text[40];
  if (counts.runs > 1) {
    std::snprintf(text, sizeof text, "%.2f%%", relative_error(line.value, line.deviation));
    out << text << separator;
  }
  std::snprintf(text, sizeof text, "%.0f", line.running_ns);
  out << text << separator;
  std::snprintf(text, sizeof text, "%.2f", share_of(line));
  out << text << separator;
  const Beside other = line.present && line.kind != recording::Kind::kGauge ? beside(line, counts) : Beside{};
  if (!other.value.empty()) {
    std::snprintf(text, sizeof text, "%.6g", other.number);
    out << text;
  }
  out << separator << other.unit << last << "\n";
}

// A metric has neither a time nor a share; its name is that of an event.
void write_line(std::ostream& out, const MetricLine& metric, const Counts& counts,
                const std::string& separator, const std::string& first, const std::string& last) {
  char text[40] = "<no number>";
  if (metric.present) std::snprintf(text, sizeof text, "%.6g", metric.value);
  out << first << text << separator << metric.unit << separator << "metric:::" << metric.name << separator;
  if (counts.runs > 1) {
    std::snprintf(text, sizeof text, "%.2f%%", relative_error(metric.value, metric.deviation));
    out << text << separator;
  }
  out << separator << separator << separator << last << "\n";
}

void write_all(std::ostream& out, const Counts& counts, const std::string& separator,
               const std::string& first, const std::string& last) {
  for (const Line& line : counts.lines) write_line(out, line, counts, separator, first, last);
  for (const MetricLine& metric : counts.metrics) write_line(out, metric, counts, separator, first, last);
}

}  // namespace

void write_fields(std::ostream& out, const std::vector<Counts>& parts, const std::string& separator,
                  const std::string& first) {
  for (const Counts& counts : parts) {
    // Where anything is printed apart, every line says whose it is.
    const std::string place =
        parts.size() > 1 ? counts.place + separator + std::to_string(counts.parts) + separator : "";
    write_all(out, counts, separator, first + place, "");
    // Two fields more, at the end: readers of perf's lines find theirs where they were.
    for (const Counts& region : counts.regions)
      write_all(out, region, separator, first + place,
                separator + region.region + separator + std::to_string(region.passes));
  }
}

}  // namespace substrata::tool
