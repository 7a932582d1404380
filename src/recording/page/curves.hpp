// Series as the page draws them: bounded in points, whatever the number of samples and writers.
#pragma once

#include <iosfwd>
#include <vector>

#include "recording/statistics.hpp"
#include "recording/timeline.hpp"

namespace substrata::recording {

// Counts as rates, each over the interval that ends at its time; gauges as levels. NaN: nothing.
struct Drawn {
  bool gauge = false;
  std::vector<double> seconds;
  std::vector<double> values;     // of several writers: the sum of rates, the mean of levels
  std::vector<double> low, high;  // of the samples that a point stands for; empty where it stands for one

  bool changes() const noexcept;
  // For a correlation: each rate at the middle of its interval.
  Curve curve() const;
};

// Series of up to `most` samples one by one, longer ones and those of several writers by as many stretches, a thousand
// at most. An interval
// shorter than half of the usual one, such as that before the end of the recording, is joined to the one before: alone
// its rate would be a spike of the clock's making.
Drawn draw(const Group& group, double seconds, std::size_t most);

// "v":[...], and "lo", "hi" where there are such.
void write_values(std::ostream& out, const Drawn& curve);

// The writers of a group over time, by rank: {"names":[...],"values":[[...]]}, at most 64 rows of 120 stretches;
// neighbours share a row where there are more.
void write_rows(std::ostream& out, const Group& group, const Timeline& timeline);

// [1,null,2.5]: null for what is not finite.
void write_numbers(std::ostream& out, const std::vector<double>& numbers, int digits);

}  // namespace substrata::recording
