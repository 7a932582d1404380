// What was counted within regions: exact where the program counted itself, else between bounds that the
// samples around a region set.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "recording/timeline.hpp"

namespace substrata::recording {

// All passes of the regions of one name.
struct RegionTotals {
  std::string name;
  std::size_t passes = 0;
  std::size_t open = 0;
  double seconds = 0;
  std::vector<const Region*> regions;
};
// By name, in the order of first begin.
std::vector<RegionTotals> region_totals(const Timeline& timeline);

// Passes of one name that lay in passes of one chain of others.
struct RegionPath {
  std::vector<std::string> names;  // outermost first, its own last
  std::size_t passes = 0;
  double seconds = 0;  // with what lay in it
  double own = 0;      // without
};
// Each region below the one that it lay in, in the order of first begin; a region lies in one of the same writer and
// rank that begins no later and ends no earlier. At most 16 names deep: deeper ones are within the last.
std::vector<RegionPath> region_paths(const Timeline& timeline);

// A group of series within the regions of one name: totals of all passes, levels weighted by time.
struct RegionSummary {
  double seconds = 0;  // of passes that the series cover; those that several ranks share once
  double total = 0;    // read off the straight line between samples, unless exact
  // The total lies between these: what was counted between samples within the passes, and between the
  // samples around them.
  double least = 0;
  double most = 0;
  bool exact = false;  // counted by the program itself
  double rate = 0;     // exact total by seconds, else between samples within passes; NaN without two of them
  double level = 0;    // mean of a gauge
  double min = 0;
  double max = 0;
  double rise = 0;  // of a gauge: per second, mean over the time in the region
  std::size_t samples = 0;
};
RegionSummary summarize_within(const Group& group, const RegionTotals& region, const Timeline& timeline);

// What can be said of a count's total or a gauge's level there: "1559" exact, "~1559" within a twentieth,
// "1200 to 1559", "<= 711", "-" where no sample lies within any pass of a gauge's region.
std::string region_text(const RegionSummary& summary, Kind kind);

}  // namespace substrata::recording
