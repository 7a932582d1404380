// Runs the cases that claims need, each once, and judges what they gave.
#include "papers/trial.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace substrata::papers {

namespace {

void demand(bool there, const std::string& id, const char* what) {
  if (!there) throw std::invalid_argument("the claim '" + id + "' lacks " + what);
}

}  // namespace

Claim::Claim(std::string id, Statement statement, Criterion criterion, Interval interval, std::string fitted,
             std::vector<Unsourced> unsourced, Mutant mutant)
    : id_(std::move(id)),
      statement_(std::move(statement)),
      criterion_(std::move(criterion)),
      interval_(interval),
      fitted_(std::move(fitted)),
      unsourced_(std::move(unsourced)),
      mutant_(std::move(mutant)) {
  demand(!id_.empty(), id_, "an id");
  demand(!statement_.section.empty() && !statement_.text.empty() && !statement_.value.empty(), id_,
         "the paper's section, statement or value");
  demand(!criterion_.compared.empty() && criterion_.least <= criterion_.most, id_, "a criterion");
  demand(std::isfinite(criterion_.least) || std::isfinite(criterion_.most), id_, "a bound");
  demand(!fitted_.empty(), id_, "what was fitted");
  for (const Unsourced& one : unsourced_)
    demand(!one.parameter.empty() && !one.settings.empty(), id_, "the range of an unsourced parameter");
  demand(!mutant_.setting.empty() && !mutant_.removes.empty(), id_, "a mutant");
}

Span span_of(const std::vector<double>& values, Interval interval) {
  if (values.empty()) throw std::invalid_argument("an interval of no values");
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  Span span{*least, std::accumulate(values.begin(), values.end(), 0.0) / count, *most};
  if (interval == Interval::kRange || values.size() < 2) return span;
  double squares = 0;
  for (const double value : values) squares += (value - span.mean) * (value - span.mean);
  constexpr double kStudent = 2.776;  // 95 %, five values
  const double half = kStudent * std::sqrt(squares / (count - 1) / count);
  return {span.mean - half, span.mean, span.mean + half};
}

Position position_of(const Span& span, const Criterion& criterion) {
  if (span.least >= criterion.least && span.most <= criterion.most) return Position::kInside;
  if (span.most < criterion.least || span.least > criterion.most) return Position::kOutside;
  return Position::kAstride;
}

const char* name_of(Verdict verdict) {
  constexpr const char* kNames[] = {"holds", "differs", "undecided", "refused"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::string shown(double value, const std::string& unit) {
  char text[64];
  const double scaled = unit == "%" ? 100 * value : value;
  const double size = std::abs(scaled);
  const int digits = scaled == std::floor(scaled) && size < 1e15 ? 0 : size < 10 ? 3 : size < 1000 ? 1 : 0;
  std::snprintf(text, sizeof text, "%.*f", digits, scaled);
  return unit.empty() ? text : text + (" " + unit);
}

std::string shown(const Span& span, const std::string& unit) {
  const std::string least = shown(span.least, unit), most = shown(span.most, unit);
  return least == most ? most : least + " to " + most;
}

std::string shown(const Criterion& criterion) {
  if (criterion.least == criterion.most) return shown(criterion.least, criterion.unit);
  if (!std::isfinite(criterion.least)) return "at most " + shown(criterion.most, criterion.unit);
  if (!std::isfinite(criterion.most)) return "at least " + shown(criterion.least, criterion.unit);
  return shown(Span{criterion.least, criterion.least, criterion.most}, criterion.unit);
}

namespace {

// The readings of all seeds in one setting at one size, measured once for the claims that want them.
class Runs {
 public:
  explicit Runs(const Study& study) : study_(study) {}
  void want(const Size& size, const std::string& setting, const std::string& claim) {
    wanted_[{size.name, setting}].insert(claim);
  }
  Part part(const Size& size, const std::string& setting, const Claim& claim, const std::string& name) {
    const auto key = std::pair{size.name, setting};
    const auto [found, added] = made_.try_emplace(key);
    std::vector<Readings>& readings = found->second;
    for (std::uint64_t seed = 1; added && seed <= kSeeds; ++seed)
      readings.push_back(study_.measure({size, seed, setting, wanted_.at(key)}));
    std::vector<double> values;
    std::string behind;
    for (const Readings& of_seed : readings) {
      const auto reading = of_seed.find(claim.id());
      if (reading == of_seed.end() || std::isnan(reading->second.value))
        throw std::invalid_argument("no reading of '" + claim.id() + "' at " + size.name + " " + setting);
      if (values.empty()) behind = reading->second.shown;
      values.push_back(reading->second.value);
    }
    const Span span = span_of(values, claim.interval());
    return {name, span, position_of(span, claim.criterion()), behind};
  }

 private:
  using Key = std::pair<std::string, std::string>;
  const Study& study_;
  std::map<Key, std::set<std::string>> wanted_;
  std::map<Key, std::vector<Readings>> made_;
};

bool all(const std::vector<Part>& parts, Position position) {
  return std::all_of(parts.begin(), parts.end(), [&](const Part& part) { return part.position == position; });
}

void judge(const Claim& claim, Trial& trial) {
  if (trial.mutant.position == Position::kInside) {
    trial.verdict = Verdict::kRefused;
    trial.why = "holds also without " + claim.mutant().removes + ", so that nothing is tested";
    return;
  }
  std::string depends;
  const auto add = [&](const std::string& on) { depends += (depends.empty() ? "" : "; ") + on; };
  const Position base = trial.sizes.back().position;
  if (!all(trial.sizes, base)) add("it depends on the size");
  if (base == Position::kAstride) add("the interval contains the bound");
  auto next = trial.swept.begin();
  for (const Unsourced& unsourced : claim.unsourced()) {
    const auto end = next + static_cast<std::ptrdiff_t>(unsourced.settings.size());
    if (std::any_of(next, end, [&](const Part& part) { return part.position != base; }))
      add("it depends on a parameter without a source: " + unsourced.parameter);
    next = end;
  }
  trial.verdict = !depends.empty()            ? Verdict::kUndecided
                  : base == Position::kInside ? Verdict::kHolds
                                              : Verdict::kDiffers;
  trial.why = !depends.empty() ? depends
                               : std::string(base == Position::kInside ? "within" : "outside") +
                                     " the criterion at every size and seed" +
                                     (trial.swept.empty() ? "" : " and in every swept setting");
}

}  // namespace

std::vector<Trial> try_claims(const Study& study, bool full) {
  const std::vector<Size>& sizes = full ? study.full : study.reduced;
  if (sizes.size() < kLeastSizes) throw std::invalid_argument("a claim is tried at three sizes at least");
  Runs runs(study);
  const Size& last = sizes.back();
  for (const Claim& claim : study.claims) {
    for (const Size& size : sizes) runs.want(size, {}, claim.id());
    runs.want(last, claim.mutant().setting, claim.id());
    for (const Unsourced& one : claim.unsourced())
      for (const std::string& setting : one.settings) runs.want(last, setting, claim.id());
  }
  std::vector<Trial> trials;
  for (const Claim& claim : study.claims) {
    Trial& trial = trials.emplace_back();
    for (const Size& size : sizes) trial.sizes.push_back(runs.part(size, {}, claim, size.name));
    for (const Unsourced& one : claim.unsourced())
      for (const std::string& setting : one.settings)
        trial.swept.push_back(runs.part(last, setting, claim, setting));
    trial.mutant = runs.part(last, claim.mutant().setting, claim, claim.mutant().setting);
    judge(claim, trial);
  }
  return trials;
}

}  // namespace substrata::papers
