// Counts as a table in the order of columns of `perf stat`.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <ostream>
#include <utility>

#include "recording/base_unit.hpp"
#include "recording/text_report.hpp"
#include "tools/substrata/stat/printing.hpp"

namespace substrata::tool {
namespace {

constexpr std::size_t kNameWidth = 30;

std::string padded(const std::string& text, std::size_t width) {
  return text.size() < width ? text + std::string(width - text.size(), ' ') : text;
}

std::string remarks(const Line& line) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  if (line.scope != "process tree") add(line.scope);
  if (line.modelled) add("modelled");
  if (line.uncertainty > 0) {
    char text[80];
    std::snprintf(text, sizeof text, "between samples: %.6g to %.6g", line.min, line.max);
    add(text);
  }
  if (line.scaled) {
    char text[60];
    std::snprintf(text, sizeof text, "scaled, counted %.2f %% of the time", share_of(line));
    add(line.enabled_ns > 0 ? text : "scaled");
  }
  if (line.gaps) add("with gaps");
  return out.empty() ? out : "(" + out + ")";
}

// "S0-C1  2 ": the place and how many processors it has.
std::string place_text(const Counts& counts) {
  char text[80] = "";
  if (!counts.place.empty())
    std::snprintf(text, sizeof text, "%-10s %3zu ", counts.place.c_str(), counts.parts);
  return text;
}

void write_line(std::ostream& out, const Line& line, const Counts& counts, std::size_t width) {
  char text[400];
  const std::string why = line.refused.empty() ? "no value" : "<not supported>";
  const Shown value = line.present ? shown(line) : Shown{why, ""};
  std::snprintf(text, sizeof text, "%20s %-8s ", value.value.c_str(), value.unit.c_str());
  std::string row = place_text(counts) + text + padded(line.name, width);
  if (line.present) {
    const Beside other = beside(line, counts);
    std::snprintf(text, sizeof text, " # %10s %-18s", other.value.c_str(), other.unit.c_str());
    row += other.value.empty() ? std::string(32, ' ') : text;
    if (counts.runs > 1) {
      std::snprintf(text, sizeof text, " ( +- %5.2f%% )", relative_error(line.value, line.deviation));
      row += text;
    }
    row += " " + remarks(line);
  } else if (line.still) {
    row += " (" + std::string(kStill) + ")";
  }
  row.erase(row.find_last_not_of(' ') + 1);
  out << row << "\n";
}

std::size_t name_width(const std::vector<Counts>& parts) {
  std::size_t width = kNameWidth;
  for (const Counts& counts : parts)
    for (const Line& line : counts.lines) width = std::max(width, line.name.size());
  return width;
}

// Ranks are shown apart only.
bool hidden(const Line& line) { return recording::rank_of_scope(line.scope) >= 0; }

std::string elapsed_text(const Counts& counts) {
  char text[80];
  if (counts.runs > 1)
    std::snprintf(text, sizeof text, "%20.6f s elapsed ( +- %.2f%% )", counts.seconds,
                  relative_error(counts.seconds, counts.seconds_deviation));
  else
    std::snprintf(text, sizeof text, "%20.6f s elapsed", counts.seconds);
  return text;
}

// What the message of a refusal says of the machine, without the name of the event.
std::string reason_of(const std::string& refusal) {
  constexpr std::string_view kBefore = "does not open here: ";
  const std::size_t at = refusal.rfind(kBefore);
  return at == std::string::npos ? refusal : refusal.substr(at + kBefore.size());
}

std::string remarks(const MetricLine& metric) {
  std::string out;
  char text[60];
  if (metric.scaled) out = "scaled";
  if (metric.uncertainty > 0) {
    std::snprintf(text, sizeof text, "%s+- %.2g %%", out.empty() ? "" : ", ",
                  relative_error(metric.value, metric.uncertainty));
    out += text;
  }
  if (metric.modelled) out += out.empty() ? "modelled" : ", modelled";
  return out.empty() ? out : " (" + out + ")";
}

void write_metrics(std::ostream& out, const Counts& counts, const std::string& before) {
  std::map<std::string, std::string> reasons;  // and the first metric that has none for it
  const auto why_none = [&](const MetricLine& metric) {
    const std::string reason = reason_of(metric.why);
    const auto [first, is_new] = reasons.try_emplace(reason, metric.name);
    return is_new ? reason : "as " + first->second;
  };
  for (const MetricLine& metric : counts.metrics) {
    char text[400];
    std::snprintf(text, sizeof text, "%20s %-14s %-24s ",
                  metric.present ? recording::compact(metric.value).c_str() : "<no number>",
                  metric.unit.c_str(), metric.name.c_str());
    std::string row = before + place_text(counts) + text + (metric.present ? metric.text : why_none(metric));
    if (metric.present && counts.runs > 1) {
      std::snprintf(text, sizeof text, " ( +- %.2f%% )", relative_error(metric.value, metric.deviation));
      row += text;
    }
    out << row << remarks(metric) << "\n";
  }
}

void write_regions(std::ostream& out, const Counts& counts, std::size_t width) {
  char text[80];
  for (const Counts& region : counts.regions) {
    std::snprintf(text, sizeof text, ": %.6f s", region.seconds);
    out << "\nregion " << region.region << text << " in " << region.passes
        << (region.passes == 1 ? " pass\n" : " passes\n");
    for (const Line& line : region.lines)
      if (line.present || line.still) write_line(out, line, region, width);
    write_metrics(out, region, "");
  }
}

// Events that are refused for the same reason, in one note.
void write_refusals(std::ostream& out, const Counts& counts) {
  std::vector<std::pair<std::string, std::string>> reasons;  // and the names
  for (const Line& line : counts.lines) {
    if (line.refused.empty()) continue;
    const std::string reason = reason_of(line.refused);
    const auto same = std::find_if(reasons.begin(), reasons.end(),
                                   [&](const auto& known) { return known.first == reason; });
    if (same == reasons.end())
      reasons.emplace_back(reason, line.name);
    else
      same->second += ", " + line.name;
  }
  for (const auto& [reason, names] : reasons) out << "not supported: " << names << ": " << reason << "\n";
}

}  // namespace

double share_of(const Line& line) {
  return line.enabled_ns > 0 ? 100 * std::min(1.0, line.running_ns / line.enabled_ns) : 100;
}

double relative_error(double value, double deviation) {
  return value == 0 ? 0 : 100 * deviation / std::fabs(value);
}

Shown shown(const Line& line) {
  const recording::BaseUnit base = recording::base_unit(line.unit);
  char text[40];
  if (base.unit == "s") {
    std::snprintf(text, sizeof text, "%.3f", 1e3 * base.factor * line.value);
    return {text, "ms"};
  }
  if (base.factor != 1) return {recording::compact(base.factor * line.value), std::string(base.unit)};
  const bool whole = line.type != recording::Type::kDouble || line.value == std::floor(line.value);
  std::snprintf(text, sizeof text, whole ? "%.0f" : line.value < 1e6 ? "%.6g" : "%.1f", line.value);
  return {text, line.unit};
}

Beside beside(const Line& line, const Counts& counts) {
  if (line.has_beside) {
    return {recording::compact(line.beside), line.beside_unit, line.beside};
  }
  const recording::BaseUnit base = recording::base_unit(line.unit);
  if (line.kind == recording::Kind::kGauge) {
    if (line.min == line.max) return {};
    return {"mean",
            "of " + recording::compact(base.factor * line.min) + " to " +
                recording::compact(base.factor * line.max),
            base.factor * line.value};
  }
  const double seconds = line.over_s > 0 ? line.over_s : counts.seconds;
  if (!(seconds > 0)) return {};
  char text[40];
  double by_second = base.factor * line.value / seconds;
  if (base.unit == "s") {
    std::snprintf(text, sizeof text, "%.3f", by_second);
    return {text, "CPUs utilized", by_second};
  }
  // As perf has it: by the second of processor time.
  if (const Line* clock = counts.find("perf::TASK-CLOCK");
      clock != nullptr && clock->value > 0 && line.component == clock->component)
    by_second = base.factor * line.value / (1e-9 * clock->value);
  if (base.unit == "J") return {recording::compact(by_second), "W", by_second};
  return {recording::compact(by_second), base.unit == "bytes" ? "bytes/s" : "/s", by_second};
}

void write_table(std::ostream& out, const std::vector<Counts>& parts) {
  const Counts& counts = parts.front();
  out << "\n" << counts.command << ": " << counts.how;
  if (counts.runs > 1) out << " (" << counts.runs << " runs)";
  out << "\n\n";
  const std::size_t width = name_width(parts);
  for (const Counts& part : parts)
    for (const Line& line : part.lines)
      if (!hidden(line)) write_line(out, line, part, width);
  write_regions(out, counts, width);
  bool any = false;
  for (const Counts& part : parts) {
    if (!part.metrics.empty() && !std::exchange(any, true)) out << "\n";
    write_metrics(out, part, "");
  }
  char text[160];
  out << "\n" << elapsed_text(counts);
  if (counts.user_s > 0 || counts.system_s > 0) {
    std::snprintf(text, sizeof text, ", %.6f s user, %.6f s system", counts.user_s, counts.system_s);
    out << text;
  }
  out << "\n";
  if (counts.peak_bytes > 0) {
    std::snprintf(text, sizeof text, "%20.3f MiB peak memory of the largest process%s\n",
                  counts.peak_bytes / 1048576, counts.peak_at_most ? ", or less" : "");
    out << text;
  }
  write_refusals(out, counts);
  for (const std::string& note : counts.notes) out << note << "\n";
}

void write_interval(std::ostream& out, const std::vector<Counts>& parts, double at_seconds, bool heading) {
  const std::size_t width = name_width(parts);
  char text[80];
  if (heading) {
    std::snprintf(text, sizeof text, "#%14s %20s %-8s events\n", "time", "counts", "unit");
    out << text;
  }
  for (const Counts& part : parts)
    for (const Line& line : part.lines) {
      if (hidden(line)) continue;
      std::snprintf(text, sizeof text, "%15.6f ", at_seconds);
      out << text;
      write_line(out, line, part, width);
    }
  std::snprintf(text, sizeof text, "%15.6f ", at_seconds);
  for (const Counts& part : parts) write_metrics(out, part, text);
}

}  // namespace substrata::tool
