// Counts as JSON.
#include <nlohmann/json.hpp>

#include "tools/substrata/stat/printing.hpp"

namespace substrata::tool {
namespace {

nlohmann::json value_of(const Line& line) {
  if (!line.present) return nullptr;
  if (line.kind == recording::Kind::kGauge || line.type == recording::Type::kDouble) return line.value;
  if (line.type == recording::Type::kUint64) return static_cast<std::uint64_t>(line.whole);
  return line.whole;
}

nlohmann::json event_of(const Line& line, const Counts& counts) {
  nlohmann::json entry = {
      {"name", line.name},     {"unit", line.unit},           {"kind", recording::kind_name(line.kind)},
      {"scope", line.scope},   {"component", line.component}, {"modelled", line.modelled},
      {"scaled", line.scaled}, {"value", value_of(line)}};
  if (!counts.place.empty()) entry["place"] = counts.place;
  if (!line.refused.empty()) entry["why"] = line.refused;
  if (line.still) entry["why"] = kStill;
  if (line.enabled_ns > 0) {
    entry["counted_ns"] = line.running_ns;
    entry["counted_share"] = share_of(line) / 100;
  }
  if (!line.present) return entry;
  if (line.uncertainty > 0) {
    entry["least"] = line.min;
    entry["most"] = line.max;
  }
  if (line.kind == recording::Kind::kGauge) {
    entry["min"] = line.min;
    entry["max"] = line.max;
  }
  if (counts.runs > 1) entry["deviation"] = line.deviation;
  if (line.has_beside) entry["beside"] = {{"value", line.beside}, {"unit", line.beside_unit}};
  return entry;
}

nlohmann::json metric_of(const MetricLine& metric, const Counts& counts) {
  nlohmann::json entry = {{"name", metric.name},     {"text", metric.text},         {"unit", metric.unit},
                          {"scaled", metric.scaled}, {"modelled", metric.modelled}, {"value", nullptr}};
  if (!counts.place.empty()) entry["place"] = counts.place;
  if (!metric.present) {
    entry["why"] = metric.why;
    return entry;
  }
  entry["value"] = metric.value;
  if (metric.uncertainty > 0) entry["uncertainty"] = metric.uncertainty;
  if (counts.runs > 1) entry["deviation"] = metric.deviation;
  return entry;
}

}  // namespace

nlohmann::json as_json(const std::vector<Counts>& parts) {
  const Counts& counts = parts.front();
  nlohmann::json report = {{"command", counts.command},           {"seconds", counts.seconds},
                           {"user_seconds", counts.user_s},       {"system_seconds", counts.system_s},
                           {"exit_status", counts.status},        {"runs", counts.runs},
                           {"machine", nlohmann::json::object()}, {"events", nlohmann::json::array()},
                           {"metrics", nlohmann::json::array()}};
  if (counts.peak_bytes > 0) report["peak_memory_bytes"] = counts.peak_bytes;
  if (counts.peak_at_most) report["peak_memory_at_most"] = true;
  if (counts.runs > 1) report["seconds_deviation"] = counts.seconds_deviation;
  for (const auto& [name, value] : counts.machine) report["machine"][name] = value;
  for (const Counts& part : parts) {
    for (const Line& line : part.lines) report["events"].push_back(event_of(line, part));
    for (const MetricLine& metric : part.metrics) report["metrics"].push_back(metric_of(metric, part));
  }
  for (const Counts& region : counts.regions) {
    nlohmann::json entry = {{"name", region.region},
                            {"passes", region.passes},
                            {"seconds", region.seconds},
                            {"events", nlohmann::json::array()},
                            {"metrics", nlohmann::json::array()}};
    for (const Line& line : region.lines) entry["events"].push_back(event_of(line, region));
    for (const MetricLine& metric : region.metrics) entry["metrics"].push_back(metric_of(metric, region));
    report["regions"].push_back(std::move(entry));
  }
  return report;
}

}  // namespace substrata::tool
