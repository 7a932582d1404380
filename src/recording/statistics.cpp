// Totals, levels, rates and cross-correlation.
#include "recording/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace substrata::recording {
namespace {

constexpr double kMostPoints = 20000;

// The usual distance of neighbouring times.
double median_step(const std::vector<double>& seconds) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < seconds.size(); ++i)
    if (seconds[i] > seconds[i - 1]) steps.push_back(seconds[i] - seconds[i - 1]);
  if (steps.empty()) return 0;
  std::nth_element(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2), steps.end());
  return steps[steps.size() / 2];
}

double interpolate(const std::vector<double>& x, const std::vector<double>& y, double at) {
  if (x.empty()) return 0;
  const auto right = std::lower_bound(x.begin(), x.end(), at);
  if (right == x.begin()) return y.front();
  if (right == x.end()) return y.back();
  const std::size_t i = static_cast<std::size_t>(right - x.begin());
  const double width = x[i] - x[i - 1];
  return width <= 0 ? y[i] : y[i - 1] + (y[i] - y[i - 1]) * ((at - x[i - 1]) / width);
}

// The mean of a curve over stretches of a grid, by its integral: nothing between the grid's points is lost.
std::vector<double> resample(const Curve& curve, double begin, double step, std::size_t points) {
  std::vector<double> integral(curve.seconds.size());
  for (std::size_t i = 1; i < integral.size(); ++i)
    integral[i] = integral[i - 1] +
                  (curve.seconds[i] - curve.seconds[i - 1]) * (curve.values[i] + curve.values[i - 1]) / 2;
  const auto up_to = [&](double at) {
    const auto right = std::lower_bound(curve.seconds.begin(), curve.seconds.end(), at);
    if (right == curve.seconds.begin()) return 0.0;
    if (right == curve.seconds.end()) return integral.back();
    const std::size_t i = static_cast<std::size_t>(right - curve.seconds.begin());
    const double here = interpolate(curve.seconds, curve.values, at);
    return integral[i - 1] + (at - curve.seconds[i - 1]) * (here + curve.values[i - 1]) / 2;
  };
  std::vector<double> out(points);
  for (std::size_t i = 0; i < points; ++i) {
    const double from = begin + static_cast<double>(i) * step;
    out[i] = (up_to(from + step) - up_to(from)) / step;
  }
  return out;
}

void standardise(std::vector<double>* numbers) {
  const Spread spread = spread_of(*numbers);
  for (double& number : *numbers) number = (number - spread.mean) / spread.deviation;
}

// Pearson's r of a[i] and b[i + lag] over the part that both have; 0 where one of them does not change there.
double pearson(const std::vector<double>& a, const std::vector<double>& b, std::ptrdiff_t lag) {
  const std::ptrdiff_t n = static_cast<std::ptrdiff_t>(a.size());
  const std::ptrdiff_t begin = std::max<std::ptrdiff_t>(0, -lag);
  const std::ptrdiff_t end = std::min(n, n - lag);
  double sum_a = 0, sum_b = 0;
  for (std::ptrdiff_t i = begin; i < end; ++i) {
    sum_a += a[static_cast<std::size_t>(i)];
    sum_b += b[static_cast<std::size_t>(i + lag)];
  }
  const double count = static_cast<double>(end - begin);
  const double mean_a = sum_a / count, mean_b = sum_b / count;
  double aa = 0, bb = 0, ab = 0;
  for (std::ptrdiff_t i = begin; i < end; ++i) {
    const double da = a[static_cast<std::size_t>(i)] - mean_a;
    const double db = b[static_cast<std::size_t>(i + lag)] - mean_b;
    aa += da * da;
    bb += db * db;
    ab += da * db;
  }
  return aa > 1e-12 * count && bb > 1e-12 * count ? ab / std::sqrt(aa * bb) : 0;
}

// A series' correlation with itself, of standardised numbers.
double memory(const std::vector<double>& z, std::size_t lag) {
  double sum = 0;
  for (std::size_t i = 0; i + lag < z.size(); ++i) sum += z[i] * z[i + lag];
  return sum / static_cast<double>(z.size());
}

}  // namespace

Spread spread_of(const std::vector<double>& numbers) {
  Spread out;
  out.count = numbers.size();
  if (numbers.empty()) return out;
  out.min = *std::min_element(numbers.begin(), numbers.end());
  out.max = *std::max_element(numbers.begin(), numbers.end());
  double sum = 0;
  for (const double number : numbers) sum += number;
  out.mean = sum / static_cast<double>(numbers.size());
  double squares = 0;
  for (const double number : numbers) squares += (number - out.mean) * (number - out.mean);
  out.deviation = std::sqrt(squares / static_cast<double>(numbers.size()));
  return out;
}

double value_at(const Trace& trace, double seconds) {
  return interpolate(trace.seconds, trace.values, seconds);
}

Curve curve_of(const Trace& trace) {
  if (trace.series->kind == Kind::kGauge) return {trace.seconds, trace.values};
  Curve curve;
  for (std::size_t i = 1; i < trace.seconds.size(); ++i) {
    const double width = trace.seconds[i] - trace.seconds[i - 1];
    if (width <= 0) continue;
    curve.seconds.push_back(trace.seconds[i] - width / 2);
    curve.values.push_back((trace.values[i] - trace.values[i - 1]) / width);
  }
  return curve;
}

Summary summarize(const Trace& trace) {
  if (trace.seconds.empty()) return {};
  Summary out = summarize(trace, trace.seconds.front(), trace.seconds.back());
  // A count is 0 when it starts, which is before its first sample.
  if (trace.series->kind != Kind::kGauge) out.total = trace.values.back();
  return out;
}

Summary summarize(const Trace& trace, double begin, double end) {
  Summary out;
  if (trace.seconds.empty()) return out;
  begin = std::max(begin, trace.seconds.front());
  end = std::min(end, trace.seconds.back());
  if (end < begin) return out;
  out.seconds = end - begin;
  const double first = value_at(trace, begin), last = value_at(trace, end);
  std::vector<double> times{begin}, values{first};
  const auto from = std::lower_bound(trace.seconds.begin(), trace.seconds.end(), begin);
  for (std::size_t i = static_cast<std::size_t>(from - trace.seconds.begin());
       i < trace.seconds.size() && trace.seconds[i] <= end; ++i) {
    ++out.samples;
    if (trace.seconds[i] == begin || trace.seconds[i] == end) continue;
    times.push_back(trace.seconds[i]);
    values.push_back(trace.values[i]);
  }
  if (end > begin) {
    times.push_back(end);
    values.push_back(last);
  }
  out.change = last - first;
  if (trace.series->kind == Kind::kGauge) {
    out.level = spread_of(values);
    double area = 0, squares = 0;
    for (std::size_t i = 1; i < times.size(); ++i)
      area += (times[i] - times[i - 1]) * (values[i] + values[i - 1]) / 2;
    if (out.seconds > 0) {
      out.level.mean = area / out.seconds;
      for (std::size_t i = 1; i < times.size(); ++i) {
        const double a = values[i - 1] - out.level.mean, b = values[i] - out.level.mean;
        squares += (times[i] - times[i - 1]) * (a * a + a * b + b * b) / 3;
      }
      out.level.deviation = std::sqrt(squares / out.seconds);
    }
    return out;
  }
  out.total = last - first;
  const double usual = median_step(times);
  std::vector<double> rates;
  for (std::size_t i = 1; i < times.size(); ++i)
    if (times[i] - times[i - 1] >= usual / 2 && times[i] > times[i - 1])
      rates.push_back((values[i] - values[i - 1]) / (times[i] - times[i - 1]));
  out.rate = spread_of(rates);
  if (out.seconds > 0) out.rate.mean = out.total / out.seconds;
  return out;
}

namespace {

// Two curves on one grid, standardised.
struct Pair {
  double step = 0;
  std::size_t points = 0;
  std::vector<double> x, y;
  Spread spread_x, spread_y;
};
Pair bring_together(const Curve& a, const Curve& b, double least_points) {
  if (a.seconds.size() < 2 || b.seconds.size() < 2)
    throw std::runtime_error("one of the series has fewer than two samples: there is nothing to compare");
  const double begin = std::max(a.seconds.front(), b.seconds.front());
  const double end = std::min(a.seconds.back(), b.seconds.back());
  Pair out;
  out.step = std::max(median_step(a.seconds), median_step(b.seconds));
  if (!(out.step > 0) || !(end > begin)) throw std::runtime_error("the two series have no time in common");
  const double fits = std::floor((end - begin) / out.step + 1e-9);
  if (fits < least_points)
    throw std::runtime_error("the two series have only " + std::to_string(static_cast<long>(fits)) +
                             " points of time in common; " + std::to_string(static_cast<long>(least_points)) +
                             " are needed: record longer or with a shorter interval");
  // The work grows with the square of the points: a long record is looked at on a coarser grid.
  out.points = static_cast<std::size_t>(std::min(fits, kMostPoints));
  if (fits > kMostPoints) out.step = (end - begin) / kMostPoints;
  out.x = resample(a, begin, out.step, out.points);
  out.y = resample(b, begin, out.step, out.points);
  out.spread_x = spread_of(out.x);
  out.spread_y = spread_of(out.y);
  const auto flat = [](const Spread& spread) {
    return !(spread.deviation > 1e-9 * std::max(std::fabs(spread.min), std::fabs(spread.max)));
  };
  if (flat(out.spread_x) || flat(out.spread_y))
    throw std::runtime_error("one of the two series does not change: no correlation is defined");
  standardise(&out.x);
  standardise(&out.y);
  return out;
}

}  // namespace

double correlation_without_lag(const Curve& a, const Curve& b) {
  const Pair pair = bring_together(a, b, 3);
  return pearson(pair.x, pair.y, 0);
}

std::string shared_origin(const Series& a, const Series& b) {
  // The thermal model computes its values from the use of the processors.
  const auto thermal = [](const Series& one) { return one.modelled && one.component == "thermal_model"; };
  const auto of_use = [&](const Series& one) {
    return thermal(one) || one.component == "perf_event" || one.component == "process" ||
           one.component == "record";
  };
  for (const auto& [model, input] : {std::pair(&a, &b), std::pair(&b, &a)})
    if (model != input && thermal(*model) && of_use(*input))
      return model->name + " is computed from the use of the processors, as " + input->name +
             " follows from it: their correlation is the model's own and shows nothing of the machine. "
             "Correlate with a measured temperature (coretemp, lmsensors)";
  return {};
}

Correlation correlate(const Curve& a, const Curve& b, double most_lag) {
  const Pair pair = bring_together(a, b, 8);
  const std::vector<double>&x = pair.x, &y = pair.y;
  const Spread &spread_x = pair.spread_x, &spread_y = pair.spread_y;
  Correlation out;
  out.step = pair.step;
  out.points = pair.points;

  const double n = static_cast<double>(out.points);
  std::ptrdiff_t most = static_cast<std::ptrdiff_t>(out.points / 4);
  if (most_lag > 0)
    most = static_cast<std::ptrdiff_t>(
        std::clamp(std::floor(most_lag / out.step + 1e-9), 0.0, std::floor(3 * n / 4)));
  std::size_t best = 0;
  for (std::ptrdiff_t lag = -most; lag <= most; ++lag) {
    const double r = pearson(x, y, lag);
    out.lags.push_back(static_cast<double>(lag) * out.step);
    out.coefficients.push_back(r);
    if (lag == 0) out.at_zero = r;
    if (std::fabs(r) > std::fabs(out.coefficients[best])) best = out.coefficients.size() - 1;
  }
  out.best = out.coefficients[best];
  out.lag = out.lags[best];
  if (best > 0 && best + 1 < out.coefficients.size()) {
    const double left = out.coefficients[best - 1], middle = out.best, right = out.coefficients[best + 1];
    const double bend = left - 2 * middle + right;
    if (bend != 0) out.lag += out.step * std::clamp(0.5 * (left - right) / bend, -0.5, 0.5);
  }
  const std::ptrdiff_t lag_steps = static_cast<std::ptrdiff_t>(best) - most;
  // The slope over the part that overlaps at that lag: r times the ratio of the deviations there.
  std::vector<double> x_part, y_part;
  for (std::ptrdiff_t i = std::max<std::ptrdiff_t>(0, -lag_steps);
       i < std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(out.points),
                                    static_cast<std::ptrdiff_t>(out.points) - lag_steps);
       ++i) {
    x_part.push_back(x[static_cast<std::size_t>(i)]);
    y_part.push_back(y[static_cast<std::size_t>(i + lag_steps)]);
  }
  const double ratio = spread_of(y_part).deviation / std::max(spread_of(x_part).deviation, 1e-300);
  out.gain = out.best * ratio * spread_y.deviation / spread_x.deviation;

  double memories = 0;
  const std::size_t longest = std::min(out.points - 1, std::max<std::size_t>(out.points / 4, 10));
  for (std::size_t k = 1; k <= longest; ++k)
    memories += (1 - static_cast<double>(k) / n) * memory(x, k) * memory(y, k);
  const double overlap = static_cast<double>(x_part.size());
  out.effective_points = std::clamp(overlap / std::max(1 + 2 * memories, 1e-9), 2.0, overlap);
  // Neighbouring lags are as alike as neighbouring points.
  out.lags_tried = std::max(1.0, static_cast<double>(out.lags.size()) * out.effective_points / overlap);
  if (out.effective_points > 3) {
    const double r = std::min(std::fabs(out.best), 1 - 1e-15);
    const double z = std::atanh(r) * std::sqrt(out.effective_points - 3);
    const double single = std::erfc(z / std::sqrt(2.0));
    out.p_value = -std::expm1(out.lags_tried * std::log1p(-std::min(single, 1 - 1e-16)));
  }
  return out;
}

}  // namespace substrata::recording
