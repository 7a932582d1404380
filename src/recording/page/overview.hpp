// The numbers at the head of the page: where time, bytes and heat went, as a whole.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "recording/timeline.hpp"

namespace substrata::recording {

struct OverviewNumber {
  std::string name;  // "CPUs busy"
  double value = 0;
  std::string unit;   // a base unit; empty: a plain number
  std::string note;   // "of 8"; may be empty
  double also = NAN;  // in its place, a sum in another unit
  std::string also_unit;
  bool modelled = false;
  std::string origin = "measured";
};

// The timeline in base units. What the recording does not have is left out: no number stands for what nobody measured.
std::vector<OverviewNumber> overview_of(const Timeline& timeline, const std::vector<Group>& groups);

}  // namespace substrata::recording
