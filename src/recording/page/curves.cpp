// Rates and levels of stretches of time, in time that grows with the samples and not with the stretches.
#include "recording/page/curves.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ostream>
#include <string>
#include <tuple>

#include "base/json.hpp"
#include "recording/exports.hpp"

namespace substrata::recording {
namespace {

constexpr std::size_t kStretches = 1000;
constexpr std::size_t kMostRows = 64;  // of a heat map of writers
constexpr std::size_t kHeatStretches = 120;

// One trace that is asked for stretches of time.
class Course {
 public:
  explicit Course(const Trace& trace) : gauge_(trace.series->kind == Kind::kGauge) {
    seconds_ = trace.seconds;
    values_ = trace.values;
    if (!gauge_) join_short_intervals();
    // A gauge's integral over time is what a count is of its rate.
    sums_ = values_;
    if (!gauge_ || values_.empty()) return;
    sums_[0] = 0;
    for (std::size_t i = 1; i < sums_.size(); ++i)
      sums_[i] = sums_[i - 1] + (seconds_[i] - seconds_[i - 1]) * (values_[i] + values_[i - 1]) / 2;
  }
  const std::vector<double>& seconds() const noexcept { return seconds_; }
  const std::vector<double>& values() const noexcept { return values_; }
  double rate(std::size_t i) const { return (values_[i] - values_[i - 1]) / (seconds_[i] - seconds_[i - 1]); }
  // The rate of a count, the mean level of a gauge; NaN where half of the stretch and more has no samples around.
  double mean(double begin, double end) const {
    if (seconds_.size() < 2) return NAN;
    const double from = std::max(begin, seconds_.front()), to = std::min(end, seconds_.back());
    if (!(to - from >= (end - begin) / 2) || to <= from) return NAN;
    return (sum_at(to) - sum_at(from)) / (to - from);
  }
  // Widens the range by the samples within a stretch.
  void widen(double begin, double end, double* low, double* high) const {
    for (std::size_t i = after(begin); i < seconds_.size() && seconds_[i] <= end; ++i) {
      if (!gauge_ && i == 0) continue;
      const double value = gauge_ ? values_[i] : rate(i);
      *low = std::min(*low, value);
      *high = std::max(*high, value);
    }
  }

 private:
  std::size_t after(double at) const {
    return static_cast<std::size_t>(std::upper_bound(seconds_.begin(), seconds_.end(), at) -
                                    seconds_.begin());
  }
  // Between samples: on the straight line of the values.
  double sum_at(double at) const {
    const std::size_t i = std::clamp<std::size_t>(after(at), 1, seconds_.size() - 1);
    const double width = seconds_[i] - seconds_[i - 1];
    if (width <= 0) return sums_[i];
    const double share = (at - seconds_[i - 1]) / width;
    if (!gauge_) return sums_[i - 1] + (sums_[i] - sums_[i - 1]) * share;
    const double here = values_[i - 1] + (values_[i] - values_[i - 1]) * share;
    return sums_[i - 1] + (at - seconds_[i - 1]) * (values_[i - 1] + here) / 2;
  }
  void join_short_intervals() {
    std::vector<double> steps;
    for (std::size_t i = 1; i < seconds_.size(); ++i) steps.push_back(seconds_[i] - seconds_[i - 1]);
    if (steps.empty()) return;
    const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
    std::nth_element(steps.begin(), middle, steps.end());
    const double shortest = *middle / 2;
    std::size_t kept = 1;
    for (std::size_t i = 1; i < seconds_.size(); ++i) {
      const bool joins = seconds_[i] - seconds_[kept - 1] < shortest;
      if (joins && i + 1 < seconds_.size()) continue;
      // The last sample takes the place of the one before.
      if (joins && kept > 1) --kept;
      seconds_[kept] = seconds_[i];
      values_[kept] = values_[i];
      ++kept;
    }
    seconds_.resize(kept);
    values_.resize(kept);
    while (seconds_.size() > 1 && seconds_.back() <= seconds_[seconds_.size() - 2]) {
      seconds_.pop_back();
      values_.pop_back();
    }
  }

  bool gauge_;
  std::vector<double> seconds_, values_, sums_;
};

std::vector<Course> courses_of(const Group& group) {
  std::vector<Course> out;
  for (const Trace* trace : group.traces) out.emplace_back(*trace);
  return out;
}

Drawn draw_each(const Course& course, bool gauge) {
  Drawn out;
  out.gauge = gauge;
  const std::vector<double>& seconds = course.seconds();
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (!gauge && (i == 0 || seconds[i] <= seconds[i - 1])) continue;
    const double value = gauge ? course.values()[i] : course.rate(i);
    if (!gauge && out.seconds.empty()) {  // where the first interval begins
      out.seconds.push_back(seconds[i - 1]);
      out.values.push_back(value);
    }
    out.seconds.push_back(seconds[i]);
    out.values.push_back(value);
  }
  return out;
}

// Where a row belongs: by rank, what has none first and by name.
std::tuple<std::int64_t, std::string> place_of(const Timeline& timeline, const Trace& trace) {
  std::int64_t rank = rank_of_scope(trace.series->scope);
  const Properties& properties = timeline.recording->writers[trace.writer].properties;
  if (rank < 0 && !property(properties, "mpi.rank").empty()) rank = property_number(properties, "mpi.rank");
  return {rank, trace_name(timeline, trace)};
}

}  // namespace

bool Drawn::changes() const noexcept {
  double least = INFINITY, most = -INFINITY;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  return least < most;
}

Curve Drawn::curve() const {
  Curve out;
  for (std::size_t i = gauge ? 0 : 1; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    out.seconds.push_back(gauge ? seconds[i] : (seconds[i] + seconds[i - 1]) / 2);
    out.values.push_back(values[i]);
  }
  return out;
}

Drawn draw(const Group& group, double seconds, std::size_t most) {
  const bool gauge = group.about->kind == Kind::kGauge;
  const std::vector<Course> courses = courses_of(group);
  std::size_t longest = 0;
  for (const Course& course : courses) longest = std::max(longest, course.seconds().size());
  if (courses.size() == 1 && longest <= most) return draw_each(courses.front(), gauge);

  Drawn out;
  out.gauge = gauge;
  const std::size_t stretches = std::min({kStretches, most, std::max<std::size_t>(longest, 2)});
  for (std::size_t k = 0; k < stretches; ++k) {
    const double begin = seconds * static_cast<double>(k) / static_cast<double>(stretches);
    const double end = seconds * static_cast<double>(k + 1) / static_cast<double>(stretches);
    double sum = 0, low = INFINITY, high = -INFINITY;
    std::size_t count = 0;
    for (const Course& course : courses) {
      const double mean = course.mean(begin, end);
      if (std::isnan(mean)) continue;
      sum += mean;
      ++count;
      // The range of single writers says nothing of their sum.
      if (gauge || courses.size() == 1) course.widen(begin, end, &low, &high);
    }
    const double value = count == 0 ? NAN : gauge ? sum / static_cast<double>(count) : sum;
    const bool range = count != 0 && low <= high;
    if (!gauge && k == 0) {
      out.seconds.push_back(begin);
      out.values.push_back(value);
      out.low.push_back(NAN);
      out.high.push_back(NAN);
    }
    out.seconds.push_back(gauge ? (begin + end) / 2 : end);
    out.values.push_back(value);
    out.low.push_back(range ? low : NAN);
    out.high.push_back(range ? high : NAN);
  }
  return out;
}

void write_numbers(std::ostream& out, const std::vector<double>& numbers, int digits) {
  out << '[';
  for (std::size_t i = 0; i < numbers.size(); ++i)
    out << (i != 0 ? "," : "")
        << (std::isfinite(numbers[i]) ? number_text(numbers[i], digits) : std::string("null"));
  out << ']';
}

void write_values(std::ostream& out, const Drawn& curve) {
  out << "\"v\":";
  write_numbers(out, curve.values, 5);
  const auto finite = [](double value) { return std::isfinite(value); };
  if (std::none_of(curve.low.begin(), curve.low.end(), finite)) return;
  out << ",\"lo\":";
  write_numbers(out, curve.low, 5);
  out << ",\"hi\":";
  write_numbers(out, curve.high, 5);
}

void write_rows(std::ostream& out, const Group& group, const Timeline& timeline) {
  std::vector<const Trace*> traces = group.traces;
  std::stable_sort(traces.begin(), traces.end(), [&](const Trace* a, const Trace* b) {
    return place_of(timeline, *a) < place_of(timeline, *b);
  });
  const std::size_t rows = std::min(kMostRows, traces.size());
  std::string names;
  std::vector<std::vector<double>> values(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t from = row * traces.size() / rows, to = (row + 1) * traces.size() / rows;
    std::string name = trace_name(timeline, *traces[from]);
    if (to - from > 1) name += " to " + trace_name(timeline, *traces[to - 1]);
    names += (row != 0 ? "," : "") + json_text(name);
    std::vector<double> sums(kHeatStretches), counts(kHeatStretches);
    for (std::size_t i = from; i < to; ++i) {
      const Course course(*traces[i]);
      for (std::size_t k = 0; k < kHeatStretches; ++k) {
        const double mean = course.mean(timeline.seconds * static_cast<double>(k) / kHeatStretches,
                                        timeline.seconds * static_cast<double>(k + 1) / kHeatStretches);
        if (std::isnan(mean)) continue;
        sums[k] += mean;
        counts[k] += 1;
      }
    }
    for (std::size_t k = 0; k < kHeatStretches; ++k)
      values[row].push_back(counts[k] == 0 ? NAN : sums[k] / counts[k]);
  }
  out << "{\"names\":[" << names << "],\"values\":[";
  for (std::size_t row = 0; row < rows; ++row) {
    if (row != 0) out << ',';
    write_numbers(out, values[row], 5);
  }
  out << "]}";
}

}  // namespace substrata::recording
