// Runs of a program before and after a change, side by side: what they counted, and what was found in them.
#pragma once

#include <cmath>
#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "recording/timeline.hpp"

namespace substrata::recording {

// A number of one side: its mean over the runs that have it. Of a region whose borders lie between samples `least` and
// `most` bound it, else they are the value.
struct ComparedSide {
  std::size_t runs = 0;
  double value = NAN;
  double least = NAN;
  double most = NAN;
};

enum class Change { kNone, kLess, kMore, kOnlyBefore, kOnlyAfter };

struct ComparedNumber {
  std::string region;  // empty: of the whole run
  std::string name;    // a series, "time", or a number of the report's head: "Wall time"
  std::string unit;    // a base unit
  bool gauge = false;  // a mean level; else a total
  bool modelled = false;
  bool head = false;  // of the report's head
  ComparedSide before;
  ComparedSide after;
  double ratio = NAN;  // after by before
  double noise =
      NAN;  // how far the means of equal programs may lie apart, as a share of `before`; NaN: not known
  Change change = Change::kNone;
};

// In how many runs of a side a rule found something, of those in which it had the data that it looks at.
struct ComparedFinding {
  struct Side {
    std::size_t found = 0;
    std::size_t looked = 0;
    std::string text;      // of the last run in which it was found
    std::string evidence;  // likewise
  };
  std::string rule;
  Side before;
  Side after;
  // "new", "gone", "in both", "not in every run", "not comparable": a side that has runs, none of which had the data.
  const char* state() const noexcept;
};

struct Comparison {
  std::vector<std::string> before;  // titles of the runs
  std::vector<std::string> after;
  std::vector<std::string> notes;       // why the runs may not be comparable, or not beyond noise
  std::vector<ComparedNumber> numbers;  // the whole run, then the regions
  std::vector<ComparedFinding> findings;
  double least_share = 0;
};

struct ComparedRun {
  std::string title;
  const Timeline* timeline = nullptr;
};

// A number has changed if its means differ by more than `least_share` of the old one, by more than 99 of 100 pairs of
// equal programs would (Welch's test over the runs; of a side with one run the other's spread is taken; with one run
// each the noise is not known), and, where they are bounds, if these do not overlap. Neither side may be empty.
Comparison compare(const std::vector<ComparedRun>& before, const std::vector<ComparedRun>& after,
                   double least_share);

// `all`: also what did not change within regions.
void write_comparison_text(std::ostream& out, const Comparison& comparison, bool all);
void write_comparison_json(std::ostream& out, const Comparison& comparison);
void write_comparison_page(std::ostream& out, const Comparison& comparison);

}  // namespace substrata::recording
