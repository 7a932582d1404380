// Merging rows in place.
#include "recording/thinning.hpp"

#include <algorithm>
#include <utility>

namespace substrata::recording {
namespace {

// Two rows of `series` at `to` from `count` at `from`, which are not before them.
void merge(Series& series, std::size_t from, std::size_t count, std::size_t to) {
  const std::size_t middle = from + count / 2 - 1, end = from + count - 1;
  std::uint8_t seen = 0;
  for (std::size_t row = from; row <= end; ++row) seen |= series.flags[row];
  seen &= static_cast<std::uint8_t>(~kAbsent);
  std::size_t first = middle, second = end;
  if (series.kind == Kind::kGauge) {
    std::size_t least = count, most = count;  // from `from` on; count: none yet
    for (std::size_t i = 0; i < count; ++i) {
      if (!series.present_at(from + i)) continue;
      if (least == count || series.value_at(from + i) < series.value_at(from + least)) least = i;
      if (most == count || series.value_at(from + i) > series.value_at(from + most)) most = i;
    }
    if (least != count) first = from + std::min(least, most), second = from + std::max(least, most);
  }
  const std::pair<std::int64_t, std::uint8_t> kept[2] = {
      {series.values[first], static_cast<std::uint8_t>(series.flags[first] | seen)},
      {series.values[second], static_cast<std::uint8_t>(series.flags[second] | seen)}};
  for (std::size_t i = 0; i < 2; ++i)
    series.values[to + i] = kept[i].first, series.flags[to + i] = kept[i].second;
}

// Of every `group` rows from `from` to `end` two stay; the rest behind the last group moves up. Gives how many stay of
// the groups.
std::size_t thin(Writer& writer, SampleSet& set, std::size_t from, std::size_t end, std::size_t group) {
  const std::size_t groups = (end - from) / group, kept = 2 * groups;
  if (groups == 0) return 0;
  const auto series = writer.series.begin() + static_cast<std::ptrdiff_t>(set.first_series);
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t first = from + g * group, to = from + 2 * g;
    const std::pair<std::int64_t, std::int64_t> times = {set.times[first + group / 2 - 1],
                                                         set.times[first + group - 1]};
    const auto skews = set.skews.begin() + static_cast<std::ptrdiff_t>(first);
    const std::int64_t skew = *std::max_element(skews, skews + static_cast<std::ptrdiff_t>(group));
    set.times[to] = times.first, set.times[to + 1] = times.second;
    set.skews[to] = set.skews[to + 1] = skew;
  }
  const auto gone_from = static_cast<std::ptrdiff_t>(from + kept);
  const auto gone_to = static_cast<std::ptrdiff_t>(from + groups * group);
  const auto erase = [&](auto& rows) { rows.erase(rows.begin() + gone_from, rows.begin() + gone_to); };
  erase(set.times);
  erase(set.skews);
  for (std::size_t i = 0; i < set.series_count; ++i) {
    Series& one = series[static_cast<std::ptrdiff_t>(i)];
    for (std::size_t g = 0; g < groups; ++g) merge(one, from + g * group, group, from + 2 * g);
    erase(one.values);
    erase(one.flags);
  }
  set.merged_rows += groups * (group - 2);
  return kept;
}

}  // namespace

std::size_t& Thinning::settled(std::size_t set) {
  if (settled_.size() <= set) settled_.resize(set + 1);
  return settled_[set];
}

void Thinning::settle(Writer& writer, std::size_t set) {
  SampleSet& rows = writer.sets[set];
  if (rows.step == 1) return;
  std::size_t& done = settled(set);
  done += thin(writer, rows, done, rows.times.size(), 2 * rows.step);
}

void Thinning::halve(Writer& writer, std::size_t shortest) {
  for (std::size_t i = 0; i < writer.sets.size(); ++i) {
    SampleSet& set = writer.sets[i];
    if (set.times.size() < shortest) continue;
    std::size_t& done = settled(i);
    if (set.step == 1) done = set.times.size();
    // Totals begin at the first row. Of the other settled rows some may be over: they stay, between the others.
    const std::size_t over = (done - 1) % 4;
    done = 1 + thin(writer, set, 1, done - over, 4) + over;
    set.step *= 2;
    settle(writer, i);
  }
}

}  // namespace substrata::recording
