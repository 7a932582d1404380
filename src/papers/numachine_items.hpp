// How each of the 23 recommended measurements is taken on the model.
#pragma once

#include <string>
#include <vector>

#include "papers/trial.hpp"

namespace substrata::papers {

// One of them, a claim of claims/numachine-table410.json: its number in table 4.10, or that and a word where a row has
// several parts.
struct Measurement {
  std::string id;
  Reading (*take)(const Case& one);
};

// By groups of the thesis's sections.
extern const std::vector<Measurement> processor_measurements;  // 1 to 7
extern const std::vector<Measurement> memory_measurements;     // 8 to 19
extern const std::vector<Measurement> software_measurements;   // 20 to 23

// Settings that stand for the monitor's, not the machine's.
inline constexpr char kOff[] = "counters=off";

}  // namespace substrata::papers
