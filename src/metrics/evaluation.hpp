// Numbers of metrics: from the values of terms to a value with what qualifies it.
#pragma once

#include <vector>

#include "metrics/definitions.hpp"

namespace substrata::metrics {

// Of a term: what its event counted, or a gauge's level. Of a metric: the result in its unit.
struct Number {
  bool present = false;  // false: there is no number, `value` has no meaning
  double value = 0;
  double uncertainty = 0;  // standard uncertainty, in the same unit; 0 where nothing was extrapolated
  bool scaled = false;     // extrapolated from a part of the time
  bool modelled = false;   // from a model
};

// How far an extrapolated count may lie from the true one, by its time enabled and running: as if what was
// counted in one slice of multiplexing varied as much as its mean. A standard uncertainty.
double scaling_uncertainty(double value, double enabled_ns, double running_ns);

// Several events of one term; no number where one of them has none.
Number fold(Fold how, const std::vector<Number>& numbers);

// `terms`: of each term, in the base units of its unit; `elapsed_s` and `processors` likewise. No number where
// one that the formula uses has none, or where it divides by nothing.
Number evaluate(const Metric& metric, const std::vector<Number>& terms, double elapsed_s, double processors);

double processors_online() noexcept;

}  // namespace substrata::metrics
