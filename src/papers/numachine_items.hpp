// How each of the 23 recommended measurements is taken on the model, and what it is held against.
#pragma once

#include <string>
#include <vector>

#include "papers/trial.hpp"

namespace substrata::papers {

// One of them, as a claim: its number in table 4.10, or that and a letter where a row has two parts.
struct Measurement {
  std::string id;
  const char* text;
  const char* thesis;    // the table's column "Implemented?"
  const char* compared;  // with what is known
  double least, most;
  const char* mutant;   // a setting of the case
  const char* removes;  // what is absent in it
  Reading (*take)(const Case& one);
};

// By groups of the thesis's sections.
extern const std::vector<Measurement> processor_measurements;  // 1 to 7
extern const std::vector<Measurement> memory_measurements;     // 8 to 19
extern const std::vector<Measurement> software_measurements;   // 20 to 23

// Settings that stand for the monitor's, not the machine's.
inline constexpr char kOff[] = "counters=off";

}  // namespace substrata::papers
