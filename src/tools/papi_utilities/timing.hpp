// Time of single calls: what the utilities that report costs measure and print.
#pragma once

#include <papi.h>

#include <vector>

namespace substrata::utilities {

// Every call's duration, in the unit of its clock. Thread-compatible.
class Durations {
 public:
  explicit Durations(std::size_t capacity) { values_.reserve(capacity); }
  void add(long long duration) { values_.push_back(duration); }
  long long min() const;
  long long max() const;
  double mean() const;
  double deviation() const;  // standard deviation
  // The value that `share` (0 to 1) of all do not exceed.
  long long percentile(double share) const;
  const std::vector<long long>& values() const { return values_; }
  std::size_t count() const { return values_.size(); }

 private:
  std::vector<long long> values_;
};

// Cycles of the reference clock that each of `times` calls takes.
template <class Call>
Durations time_calls(std::size_t times, Call&& call) {
  Durations durations(times);
  for (std::size_t i = 0; i < times; ++i) {
    const long long begin = PAPI_get_real_cyc();
    call();
    durations.add(PAPI_get_real_cyc() - begin);
  }
  return durations;
}

}  // namespace substrata::utilities
