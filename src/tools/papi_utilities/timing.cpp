// Durations: the sums over what was measured.
#include "tools/papi_utilities/timing.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace substrata::utilities {

long long Durations::min() const {
  return values_.empty() ? 0 : *std::min_element(values_.begin(), values_.end());
}
long long Durations::max() const {
  return values_.empty() ? 0 : *std::max_element(values_.begin(), values_.end());
}

double Durations::mean() const {
  if (values_.empty()) return 0;
  return std::accumulate(values_.begin(), values_.end(), 0.0) / static_cast<double>(values_.size());
}

double Durations::deviation() const {
  if (values_.size() < 2) return 0;
  const double middle = mean();
  double sum = 0;
  for (const long long value : values_)
    sum += (static_cast<double>(value) - middle) * (static_cast<double>(value) - middle);
  return std::sqrt(sum / static_cast<double>(values_.size() - 1));
}

long long Durations::percentile(double share) const {
  if (values_.empty()) return 0;
  std::vector<long long> sorted = values_;
  const auto position = static_cast<std::ptrdiff_t>(share * static_cast<double>(sorted.size() - 1));
  std::nth_element(sorted.begin(), sorted.begin() + position, sorted.end());
  return sorted[static_cast<std::size_t>(position)];
}

}  // namespace substrata::utilities
