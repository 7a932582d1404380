// Binds groups of metrics, and evaluates them for a pass.
#include "papi/high_level/metric_columns.hpp"

#include <cstdio>
#include <utility>

#include "metrics/evaluation.hpp"
#include "metrics/here/here.hpp"

namespace substrata::high_level {

std::string MetricColumn::number(const int64_t* values, int64_t elapsed_ns) const {
  std::vector<metrics::Number> terms;
  for (size_t t = 0; t < columns.size(); ++t) {
    std::vector<metrics::Number> numbers;
    for (size_t e = 0; e < columns[t].size(); ++e) {
      metrics::Number one;
      one.present = true;
      one.value = static_cast<double>(values[columns[t][e]]) * bound.terms[t].factors[e];
      numbers.push_back(one);
    }
    terms.push_back(metrics::fold(bound.metric->terms[t].fold, numbers));
  }
  const metrics::Number number = metrics::evaluate(
      *bound.metric, terms, 1e-9 * static_cast<double>(elapsed_ns), metrics::processors_online());
  if (!number.present) return "nan";
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", number.value);
  return text;
}

std::string_view metric_spec(std::string_view word) noexcept {
  for (const std::string_view prefix : {"@", "metric:::"})
    if (word.starts_with(prefix)) return word.substr(prefix.size());
  return {};
}

std::vector<metrics::Bound> bind_spec(std::string_view spec, MetricPlan* plan,
                                      std::vector<std::string>* why) {
  if (plan->library == nullptr) plan->library = metrics::library_of_this_machine();
  const std::string name(spec);
  std::vector<std::string> wanted = {name};
  if (const metrics::Group* group = plan->library->find_group(name)) wanted = group->metrics;
  std::vector<metrics::Bound> out;
  const metrics::Countable countable = metrics::in_this_process();
  for (const std::string& one : wanted) {
    std::string reason;
    if (auto bound = plan->library->bind(one, countable, &reason))
      out.push_back(std::move(*bound));
    else
      why->push_back(one + ": " + reason);
  }
  return out;
}

}  // namespace substrata::high_level
