// Names, labels and their escapes, as the grammars of both formats ask.
#include "recording/openmetrics.hpp"

#include <cmath>
#include <cstdio>
#include <ostream>

#include "recording/base_unit.hpp"
#include "recording/exports.hpp"
#include "recording/timeline.hpp"

namespace substrata::recording {
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

std::string escaped(std::string_view text, bool quotes) {
  std::string out;
  for (const char c : text) {
    if (c == '\n')
      out += "\\n";
    else if ((c == '"' && quotes) || c == '\\')
      (out += '\\') += c;
    else
      out += c;
  }
  return out;
}

// The text with valid UTF-8 only, by way of JSON's rule.
std::string valid(std::string_view text) {
  // Only bytes that are not UTF-8 differ from the text; without such, the text itself is used.
  return json_text(text).find("\xEF\xBF\xBD") == std::string::npos ? std::string(text) : name_part(text);
}

std::string_view spelled_out(std::string_view unit) {
  constexpr std::pair<std::string_view, std::string_view> kKnown[] = {
      {"s", "seconds"}, {"degC", "celsius"}, {"W", "watts"}, {"J", "joules"},
      {"V", "volts"},   {"A", "amperes"},    {"Hz", "hertz"}};
  for (const auto& [symbol, word] : kKnown)
    if (unit == symbol) return word;
  return unit;
}

}  // namespace

const char* media_type(Exposition exposition) noexcept {
  return exposition == Exposition::kOpenMetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                                : "text/plain; version=0.0.4; charset=utf-8";
}

std::string metric_value(const Series& series, std::size_t row) {
  const BaseUnit base = base_unit(series.unit);
  if (base.factor == 1) return exact_value(series, row);
  const double value = base.factor * series.value_at(row);
  if (!std::isfinite(value)) return "null";
  char text[40];
  std::snprintf(text, sizeof text, "%.15g", value);
  return text;
}

MetricLabels event_labels(const SeriesInfo& about, std::string_view host, std::string_view rank) {
  MetricLabels labels = {{"event", about.name},
                         {"origin", origin_name(about)},
                         {"scope", about.scope},
                         {"host", std::string(host)}};
  if (!rank.empty()) labels.emplace_back("rank", rank);
  return labels;
}

void MetricText::family(const SeriesInfo& about) {
  const bool counter = about.kind != Kind::kGauge;
  const std::string unit = name_part(spelled_out(base_unit(about.unit).unit));
  // The unit ends the name; families that would have the same name get a number before it.
  std::string base = "substrata_" + name_part(about.name);
  if (counter && base.size() > 6 && base.compare(base.size() - 6, 6, "_total") == 0)
    base.resize(base.size() - 6);
  const std::string ending = unit.empty() ? unit : "_" + unit;
  if (base.ends_with(ending)) base.resize(base.size() - ending.size());
  std::string name = base + ending;
  for (int i = 2; used_.count(name) != 0; ++i) name = base + "_" + std::to_string(i) + ending;
  family(name, counter ? "counter" : "gauge", unit,
         about.name + ", " + origin_name(about) + ": " + about.text);
}

void MetricText::family(const std::string& name, const char* type, const std::string& unit,
                        const std::string& help) {
  used_.insert(name);
  const std::string_view kind = type;
  const bool open = exposition_ == Exposition::kOpenMetrics;
  sample_name_ = name + (kind == "counter" ? "_total" : kind == "info" ? "_info" : "");
  // The older format names the samples and knows neither units nor the type info.
  const std::string& called = open ? name : sample_name_;
  out_ << "# TYPE " << called << ' ' << (!open && kind == "info" ? "gauge" : type) << "\n";
  if (open && !unit.empty()) out_ << "# UNIT " << called << ' ' << unit << "\n";
  out_ << "# HELP " << called << ' ' << escaped(valid(help), open) << "\n";
}

void MetricText::sample(const MetricLabels& labels, std::string_view value, std::string_view seconds) {
  out_ << sample_name_;
  for (std::size_t i = 0; i < labels.size(); ++i)
    out_ << (i == 0 ? "{" : ",") << labels[i].first << "=\"" << escaped(valid(labels[i].second), true) << '"';
  out_ << (labels.empty() ? " " : "} ") << value;
  if (!seconds.empty()) out_ << ' ' << seconds;
  out_ << "\n";
}

void MetricText::end() {
  if (exposition_ == Exposition::kOpenMetrics) out_ << "# EOF\n";
}

}  // namespace substrata::recording
