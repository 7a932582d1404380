// What a recording shows to be wrong, by rules with thresholds (advice.rules).
#pragma once

#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "recording/finding.hpp"
#include "recording/timeline.hpp"

namespace substrata::recording {

struct Advice {
  std::vector<Finding> findings;
  std::vector<std::string> quiet;                            // rules that looked and found nothing
  std::vector<std::pair<std::string, std::string>> without;  // rules that lack data, and which
};

// The timeline in base units (in_base_units). A rule whose data the recording does not have finds nothing and is
// listed.
Advice advise(const Timeline& timeline);

// A paragraph each; what looked and found nothing in one line, what could not look in another.
void write_advice(std::ostream& out, const Advice& advice);

}  // namespace substrata::recording
