// A record as OpenMetrics text.
#include <cstdio>
#include <map>
#include <ostream>
#include <set>

#include "record/exports.hpp"

namespace substrata::record {
namespace {

// Letters, digits and single underscores; not a digit first (the caller puts a prefix before it).
std::string name_part(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain)
      out += c;
    else if (!out.empty() && out.back() != '_')
      out += '_';
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  return out;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n')
      out += "\\n";
    else if (c == '"' || c == '\\')
      (out += '\\') += c;
    else
      out += c;
  }
  return out;
}

// The text with valid UTF-8 only, by way of JSON's rule.
std::string label(std::string_view text) {
  const std::string json = json_text(text);
  // Only bytes that are no UTF-8 differ from the text; without such, the text itself is used.
  return json.find("\xEF\xBF\xBD") == std::string::npos ? escaped(text) : escaped(name_part(text));
}

}  // namespace

void export_openmetrics(std::ostream& out, const Timeline& timeline) {
  const Recording& recording = *timeline.recording;
  std::set<std::string> used;
  const auto free_name = [&](const std::string& wish) {
    std::string name = wish;
    for (int i = 2; !used.insert(name).second; ++i) name = wish + "_" + std::to_string(i);
    return name;
  };
  const auto stamp = [&](double seconds) {
    char text[48];
    std::snprintf(text, sizeof text, "%.6f", static_cast<double>(timeline.real_ns / 1000) / 1e6 + seconds);
    return std::string(text);
  };
  for (const Group& group : group_traces(timeline)) {
    const Series& about = *group.about;
    const bool counter = about.kind != Kind::kGauge;
    const std::string unit = name_part(about.unit);
    // The unit ends the name; what makes two families alike is told apart by a number before it.
    std::string base = "substrata_" + name_part(about.name);
    if (counter && base.size() > 6 && base.compare(base.size() - 6, 6, "_total") == 0)
      base.resize(base.size() - 6);
    std::string name = unit.empty() ? free_name(base) : base + "_" + unit;
    if (!unit.empty())
      for (int i = 2; !used.insert(name).second; ++i) name = base + "_" + std::to_string(i) + "_" + unit;
    out << "# TYPE " << name << (counter ? " counter\n" : " gauge\n");
    if (!unit.empty()) out << "# UNIT " << name << ' ' << unit << "\n";
    out << "# HELP " << name << ' ' << label(about.name) << ", " << origin_name(about) << ": "
        << label(about.text) << "\n";
    std::map<std::string, int> seen;
    for (const Trace* trace : group.traces) {
      const Writer& writer = recording.writers[trace->writer];
      std::string labels = "event=\"" + label(about.name) + "\",origin=\"" + origin_name(about) +
                           "\",scope=\"" + label(about.scope) + "\",host=\"" +
                           label(property(writer.properties, "host")) + '"';
      if (const std::string_view rank = property(writer.properties, "mpi.rank"); !rank.empty())
        labels += ",rank=\"" + label(rank) + '"';
      if (const int again = seen[labels]++; again != 0)
        labels += ",writer=\"" + std::to_string(again + 1) + '"';
      std::string last_stamp;
      for (std::size_t row = 0, at = 0; row < trace->series->values.size(); ++row) {
        if (!trace->series->present_at(row)) continue;
        const std::string when = stamp(trace->seconds[at++]);
        const std::string value = exact_value(*trace->series, row);
        // Time stamps of one metric must rise.
        if (when == last_stamp) continue;
        last_stamp = when;
        out << name << (counter ? "_total{" : "{") << labels << "} " << (value == "null" ? "NaN" : value)
            << ' ' << when << "\n";
      }
    }
  }
  out << "# EOF\n";
}

}  // namespace substrata::record
