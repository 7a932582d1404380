// Walks a formula's steps.
#include "metrics/evaluation.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace substrata::metrics {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

// NaN where it divides by nothing, or a value is NaN.
double compute(const std::vector<Formula::Step>& steps, const std::vector<double>& values) {
  std::vector<double> stack;
  stack.reserve(steps.size());
  for (const Formula::Step& step : steps) {
    if (step.op == 'n' || step.op == 'c') {
      stack.push_back(step.op == 'c' ? step.constant : values[step.term]);
      continue;
    }
    const double right = stack.back();
    stack.pop_back();
    double& left = stack.back();
    if (step.op == '+') left += right;
    if (step.op == '-') left -= right;
    if (step.op == '*') left *= right;
    if (step.op == '/') left = right == 0 ? kNothing : left / right;
    // Of a number and none there is none.
    if (step.op == '<') left = right < left || std::isnan(right) ? right : left;
    if (step.op == '>') left = right > left || std::isnan(right) ? right : left;
  }
  return stack.back();
}

}  // namespace

double scaling_uncertainty(double value, double enabled_ns, double running_ns) {
  if (!(enabled_ns > 0) || running_ns >= enabled_ns || !(running_ns > 0)) return 0;
  constexpr double kSliceNs = 4e6;  // the kernel's rotation of multiplexed events
  const double slices = std::max(1.0, running_ns / kSliceNs);
  return std::fabs(value) * std::sqrt((1 - running_ns / enabled_ns) / slices);
}

Number fold(Fold how, const std::vector<Number>& numbers) {
  if (numbers.empty()) return {};
  Number out = numbers.front();
  double squares = out.uncertainty * out.uncertainty;
  for (size_t i = 1; i < numbers.size(); ++i) {
    const Number& one = numbers[i];
    out.present = out.present && one.present;
    out.scaled = out.scaled || one.scaled;
    out.modelled = out.modelled || one.modelled;
    squares += one.uncertainty * one.uncertainty;
    if (how == Fold::kMin)
      out.value = std::min(out.value, one.value);
    else if (how == Fold::kMax)
      out.value = std::max(out.value, one.value);
    else
      out.value += one.value;
  }
  out.uncertainty = std::sqrt(squares);
  if (how == Fold::kMean) {
    out.value /= static_cast<double>(numbers.size());
    out.uncertainty /= static_cast<double>(numbers.size());
  }
  return out;
}

Number evaluate(const Metric& metric, const std::vector<Number>& terms, double elapsed_s, double processors) {
  Number out;
  const std::vector<Formula::Step> steps = metric.formula.steps();
  std::vector<double> values;
  for (const Number& term : terms) values.push_back(term.present ? term.value : kNothing);
  values.push_back(elapsed_s > 0 ? elapsed_s : kNothing);
  values.push_back(processors > 0 ? processors : kNothing);
  const double result = compute(steps, values);
  out.present = std::isfinite(result);
  if (!out.present) return out;
  out.value = result / metric.unit.factor;
  // Every term is moved by its uncertainty alone, so that a term that occurs twice counts once.
  double squares = 0;
  for (const Formula::Step& step : steps) {
    if (step.op != 'n' || step.term >= terms.size()) continue;
    out.scaled = out.scaled || terms[step.term].scaled;
    out.modelled = out.modelled || terms[step.term].modelled;
  }
  for (size_t i = 0; i < terms.size(); ++i) {
    if (!(terms[i].uncertainty > 0)) continue;
    std::vector<double> moved = values;
    moved[i] += terms[i].uncertainty;
    const double change = (compute(steps, moved) - result) / metric.unit.factor;
    if (std::isfinite(change)) squares += change * change;
  }
  out.uncertainty = std::sqrt(squares);
  return out;
}

double processors_online() noexcept { return static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN)); }

}  // namespace substrata::metrics
