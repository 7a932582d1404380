// Metrics of regions, computed from the columns that the regions measure.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/library.hpp"

namespace substrata::high_level {

// One metric; for each term the columns of its events.
struct MetricColumn {
  metrics::Bound bound;
  std::vector<std::vector<size_t>> columns;

  std::string name() const { return "metric:::" + bound.metric->name; }
  // From the values of a pass by column; "nan" where there is no number.
  std::string number(const int64_t* values, int64_t elapsed_ns) const;
};

// The metrics of the groups that were asked for.
struct MetricPlan {
  std::shared_ptr<const metrics::Library> library;
  std::vector<MetricColumn> metrics;
};

// Whether a word of PAPI_EVENTS is a group or a metric: "@MEM_DP", "@IPC", "metric:::IPC". Then without what is in
// front, else empty.
std::string_view metric_spec(std::string_view word) noexcept;

// The metrics that a group, or a metric, stands for and whose events open here; `*why` for each that cannot be
// computed.
std::vector<metrics::Bound> bind_spec(std::string_view spec, MetricPlan* plan, std::vector<std::string>* why);

}  // namespace substrata::high_level
