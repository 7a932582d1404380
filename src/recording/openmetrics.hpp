// The text in which Prometheus and others take metrics: OpenMetrics 1.0, or the older format of Prometheus.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recording/recording.hpp"

namespace substrata::recording {

enum class Exposition {
  kOpenMetrics,  // https://prometheus.io/docs/specs/om/open_metrics_spec/ (version 1.0.0)
  kPrometheus,   // the text format, version 0.0.4
};
const char* media_type(Exposition exposition) noexcept;

// The value of that row in the base unit, as a family has it; "null" where it is not a number.
std::string metric_value(const Series& series, std::size_t row);

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

// The labels of an event: event, origin, scope, host; rank where there is one.
MetricLabels event_labels(const SeriesInfo& about, std::string_view host, std::string_view rank = {});

// Families one after the other, each with its samples; texts may hold any bytes. Thread-compatible.
class MetricText {
 public:
  // `out` must outlive it.
  MetricText(std::ostream& out, Exposition exposition) : out_(out), exposition_(exposition) {}

  // Begins the family of an event: a counter for counts, a gauge for levels, under a name that no other has, in
  // the base unit of the recorded one (Prometheus' rule): seconds, celsius.
  void family(const SeriesInfo& about);
  // Begins one of `type` counter, gauge or info; `name` without the type's suffix, with the unit at its end.
  void family(const std::string& name, const char* type, const std::string& unit, const std::string& help);
  // A sample of the family that was begun. `value` as a number is written; `seconds`, of the time of day, may
  // be empty.
  void sample(const MetricLabels& labels, std::string_view value, std::string_view seconds = {});
  // What closes the text. Nothing may follow.
  void end();

 private:
  std::ostream& out_;
  Exposition exposition_;
  std::set<std::string> used_;
  std::string sample_name_;
};

}  // namespace substrata::recording
