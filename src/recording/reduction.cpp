// Adding up stretches and tallies.
#include "recording/reduction.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "recording/statistics.hpp"

namespace substrata::recording {
namespace {

constexpr std::int64_t kMostStretches = 512;
constexpr double kSecondNs = 1e9;
constexpr double kLongest = 3.2e8;    // seconds
constexpr double kFurthest = 2.3e18;  // nanoseconds from 0 of any clock

std::int64_t floor_of(std::int64_t value, std::int64_t step) {
  return value / step - (value % step < 0 ? 1 : 0);
}

}  // namespace

void Tally::add(double number) noexcept { add(Tally{1, number, 0, number, number}); }

void Tally::add(const Tally& other) noexcept {
  if (other.count == 0) return;
  if (count == 0) {
    *this = other;
    return;
  }
  const double mine = static_cast<double>(count), others = static_cast<double>(other.count);
  const double apart = other.sum / others - sum / mine;
  squares += other.squares + apart * apart * mine * others / (mine + others);
  sum += other.sum;
  count += other.count;
  least = std::min(least, other.least);
  most = std::max(most, other.most);
}

double Tally::deviation() const noexcept {
  return count == 0 ? 0 : std::sqrt(std::max(0.0, squares / static_cast<double>(count)));
}

void Reduction::Stretch::add(const Stretch& other) noexcept {
  if (other.writers == 0) return;
  if (writers == 0) {
    *this = other;
    return;
  }
  writers += other.writers;
  sum += other.sum;
  least = std::min(least, other.least);
  most = std::max(most, other.most);
}

void Reduction::coarsen() {
  for (auto& [key, one] : series_) {
    std::map<std::int64_t, Stretch> wider;
    for (const auto& [number, stretch] : one.stretches) wider[floor_of(number, 2)].add(stretch);
    one.stretches = std::move(wider);
  }
  step_ns_ *= 2;
}

// So that the whole time fits into the stretches.
void Reduction::fit(std::int64_t begin, std::int64_t end) {
  begin_ = writers_ == 0 ? begin : std::min(begin_, begin);
  end_ = writers_ == 0 ? end : std::max(end_, end);
  while (floor_of(end_, step_ns_) - floor_of(begin_, step_ns_) >= kMostStretches && step_ns_ < (1LL << 60))
    coarsen();
}

// Nanoseconds to add to times of another reference clock; 0 for the same one.
std::int64_t Reduction::shift_from(const std::string& reference, std::int64_t real_minus_raw,
                                   std::uint64_t writers) {
  if (writers_ == 0) {
    reference_ = reference;
    real_minus_raw_ = real_minus_raw;
    return 0;
  }
  if (reference == reference_) return 0;
  by_wall_ += writers;
  return wrapping_difference(real_minus_raw, real_minus_raw_);
}

void Reduction::add(const Timeline& timeline) {
  const Recording& recording = *timeline.recording;
  // Nanoseconds as 64 bits must not overflow, whatever a damaged record says.
  bool sane = !recording.writers.empty() && timeline.seconds <= kLongest &&
              std::abs(static_cast<double>(timeline.start_ns)) < kFurthest &&
              std::abs(static_cast<double>(timeline.real_ns)) < kFurthest;
  for (const Trace& trace : timeline.traces)
    sane = sane && (trace.seconds.empty() || trace.seconds.front() >= 0);
  for (const Region& region : timeline.regions) sane = sane && region.begin >= 0 && region.end <= kLongest;
  if (!sane)
    throw std::runtime_error(
        "a recording without writers, of more than ten years or with times before its start cannot be "
        "reduced");
  const std::int64_t shift = shift_from(
      timeline.reference, wrapping_difference(timeline.real_ns, timeline.start_ns), recording.writers.size());
  const std::int64_t start = wrapping_sum(timeline.start_ns, shift);
  fit(start, wrapping_sum(start, static_cast<std::int64_t>(timeline.seconds * kSecondNs)));
  if (writers_ == 0) {
    first_ = recording.writers.front().properties;
    first_end_ = recording.writers.front().end_properties;
  }
  writers_ += recording.writers.size();
  for (std::size_t w = 0; w < recording.writers.size(); ++w) {
    not_ended_ += recording.writers[w].ended ? 0 : 1;
    by_wall_ += timeline.clocks[w].alignment == Alignment::kWallClock ? 1 : 0;
    uncertainty_ns_ = std::max(uncertainty_ns_, timeline.clocks[w].uncertainty_ns);
  }

  for (const Trace& trace : timeline.traces) {
    const Series& about = *trace.series;
    if (trace.seconds.empty()) continue;
    const bool gauge = about.kind == Kind::kGauge;
    const std::string scope = rank_of_scope(about.scope) >= 0 ? "rank" : about.scope;
    const auto [at, is_new] = series_.try_emplace({about.name, about.unit, about.component, scope,
                                                   static_cast<std::uint8_t>(about.kind), about.origin()});
    One& one = at->second;
    if (is_new) {
      one.text = about.text;
      one.place = series_.size();
    }
    const Summary whole = summarize(trace);
    one.spread.add(gauge ? whole.level.mean : whole.total);
    if (about.name == "recorder:cpu" && about.scope == "recorder") {
      recorder_busy_ns_ += trace.values.back() - trace.values.front();
      recorder_wall_ns_ += (trace.seconds.back() - trace.seconds.front()) * kSecondNs;
    }
    const auto absolute = [&](double seconds) {
      return wrapping_sum(start, static_cast<std::int64_t>(seconds * kSecondNs));
    };
    const std::int64_t first = floor_of(absolute(trace.seconds.front()), step_ns_);
    const std::int64_t last = floor_of(absolute(trace.seconds.back()), step_ns_);
    double before = 0;  // what was counted before the first sample counts for it
    for (std::int64_t number = first; number <= last; ++number) {
      const double begin = static_cast<double>(wrapping_difference(number * step_ns_, start)) / kSecondNs;
      const double end = begin + static_cast<double>(step_ns_) / kSecondNs;
      Stretch stretch;
      stretch.writers = 1;
      if (gauge) {
        const Summary part = summarize(trace, begin, end);
        stretch.sum = part.seconds > 0 ? part.level.mean : value_at(trace, begin);
        stretch.least = part.seconds > 0 ? part.level.min : stretch.sum;
        stretch.most = part.seconds > 0 ? part.level.max : stretch.sum;
      } else {
        const double now = number == last ? trace.values.back() : value_at(trace, end);
        stretch.sum = now - before;
        before = now;
        stretch.least = stretch.most = stretch.sum * kSecondNs / static_cast<double>(step_ns_);
      }
      one.stretches[number].add(stretch);
    }
  }

  // Of each writer and rank the time in the regions of a name.
  std::map<std::pair<std::string, std::pair<std::size_t, std::int32_t>>, double> spent;
  for (const Region& region : timeline.regions) {
    const auto [at, is_new] = regions_.try_emplace(region.name);
    Span& span = at->second;
    const std::int64_t begin = wrapping_sum(start, static_cast<std::int64_t>(region.begin * kSecondNs));
    const std::int64_t end = wrapping_sum(start, static_cast<std::int64_t>(region.end * kSecondNs));
    if (is_new) span.place = regions_.size();
    span.begin = is_new ? begin : std::min(span.begin, begin);
    span.end = is_new ? end : std::max(span.end, end);
    ++span.passes;
    spent[{region.name, {region.writer, region.rank}}] += region.end - region.begin;
  }
  for (const auto& [of, seconds] : spent) regions_[of.first].seconds.add(seconds);
}

void Reduction::add(const Reduction& other) {
  if (other.writers_ == 0) return;
  if (writers_ == 0) {
    *this = other;
    return;
  }
  Reduction theirs = other;
  while (theirs.step_ns_ < step_ns_) theirs.coarsen();
  while (step_ns_ < theirs.step_ns_) coarsen();
  const std::int64_t shift = shift_from(theirs.reference_, theirs.real_minus_raw_, theirs.writers_);
  fit(wrapping_sum(theirs.begin_, shift), wrapping_sum(theirs.end_, shift));
  while (theirs.step_ns_ < step_ns_) theirs.coarsen();
  const std::int64_t stretches = floor_of(wrapping_sum(shift, step_ns_ / 2), step_ns_);
  writers_ += theirs.writers_;
  not_ended_ += theirs.not_ended_;
  if (shift == 0) by_wall_ += theirs.by_wall_;
  uncertainty_ns_ = std::max(uncertainty_ns_, theirs.uncertainty_ns_);
  recorder_busy_ns_ += theirs.recorder_busy_ns_;
  recorder_wall_ns_ += theirs.recorder_wall_ns_;
  std::vector<std::pair<const Key*, const One*>> in_order;
  for (const auto& [key, one] : theirs.series_) in_order.emplace_back(&key, &one);
  std::sort(in_order.begin(), in_order.end(),
            [](const auto& a, const auto& b) { return a.second->place < b.second->place; });
  for (const auto& [key, one] : in_order) {
    const auto [at, is_new] = series_.try_emplace(*key);
    if (is_new) {
      at->second.text = one->text;
      at->second.place = series_.size();
    }
    at->second.spread.add(one->spread);
    for (const auto& [number, stretch] : one->stretches)
      at->second.stretches[wrapping_sum(number, stretches)].add(stretch);
  }
  for (const auto& [name, span] : theirs.regions_) {
    const auto [at, is_new] = regions_.try_emplace(name);
    const std::int64_t begin = wrapping_sum(span.begin, shift), end = wrapping_sum(span.end, shift);
    if (is_new) at->second.place = regions_.size();
    at->second.begin = is_new ? begin : std::min(at->second.begin, begin);
    at->second.end = is_new ? end : std::max(at->second.end, end);
    at->second.passes += span.passes;
    at->second.seconds.add(span.seconds);
  }
}

}  // namespace substrata::recording
