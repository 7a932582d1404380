// What a person asks of series: totals, levels and rates, over all or within regions, and how two of them go
// together.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "recording/timeline.hpp"

namespace substrata::recording {

// Minimum, mean, maximum and standard deviation (of the population) of some numbers.
struct Spread {
  std::size_t count = 0;
  double min = 0;
  double mean = 0;
  double max = 0;
  double deviation = 0;
};
Spread spread_of(const std::vector<double>& numbers);

// Of one series over a stretch of time. `level` of a gauge: weighted by time, straight lines between samples.
// `rate` of a count: per second, between samples; intervals shorter than half of the usual one are left out
// of min and max.
struct Summary {
  std::size_t samples = 0;
  double seconds = 0;  // covered
  double total = 0;    // of a count
  double change = 0;   // of a gauge: last less first
  Spread level;
  Spread rate;
};
Summary summarize(const Trace& trace);
// Between two times; counts at the borders are read off the straight line between samples. `samples` is how
// many lie within; 0 means that the values come from neighbouring samples only.
Summary summarize(const Trace& trace, double begin, double end);

// The value at a time, on the straight line between samples; that of the first or last sample outside of
// them.
double value_at(const Trace& trace, double seconds);

// A series as one curve: a gauge's levels, a count's rates per second, each at the middle of its interval.
struct Curve {
  std::vector<double> seconds;
  std::vector<double> values;
};
Curve curve_of(const Trace& trace);

// How B follows A.
struct Correlation {
  std::size_t points = 0;       // of the common grid
  double step = 0;              // of the grid, seconds
  double at_zero = 0;           // Pearson's r without lag
  double best = 0;              // r at the lag where |r| is largest
  double lag = 0;               // seconds by which B comes after A there, refined by a parabola
  double gain = 0;              // slope of B over A at that lag
  double effective_points = 0;  // after Bartlett's correction for each series' own memory
  double lags_tried = 0;
  // Probability of |r| at least this large at one of the lags tried, if the two had nothing to do with each
  // other.
  double p_value = 1;
  std::vector<double> lags;  // seconds
  std::vector<double> coefficients;
};

// Cross-correlation of two curves on the grid of the coarser (of at most 20,000 points), over lags up to
// `most_lag` seconds either way (0: a quarter of the common time). Throws std::runtime_error with the reason
// when there is nothing to compare: no common time, fewer than 8 points, a curve that does not change.
//
// Significance: r is compared by Fisher's z with n_eff - 3 degrees of freedom, n_eff = n / (1 + 2 sum (1 -
// k/n) ra(k) rb(k)) (M. S. Bartlett, "Some aspects of the time-correlation problem", J. Roy. Stat. Soc. 98,
// 1935), and corrected for the number of independent lags by Sidak's formula.
Correlation correlate(const Curve& a, const Curve& b, double most_lag = 0);

// Why a correlation of the two would show a model instead of the machine; empty where it would not: the
// thermal model and what drives it.
std::string shared_origin(const Series& a, const Series& b);

// Pearson's r of two curves at the same times, on the same grid. Throws as correlate does; 3 points suffice.
double correlation_without_lag(const Curve& a, const Curve& b);

}  // namespace substrata::recording
