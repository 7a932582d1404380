// Reproductions of figures and claims of papers: what one gives, and how its file registers it.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "papers/trial.hpp"

namespace substrata::papers {

// What one run found about a statement of a paper, in a reproduction whose statements are not claims yet: no sizes, no
// seeds, no mutant. Parameters have a source, and a miss is explained in the note.
struct Observation {
  std::string claim;
  std::string paper;  // the paper's value, with unit
  std::string ours;
  bool holds = false;
  std::string note;  // how it was measured, or why it misses; may be empty
  // Fitted: the model's parameters come from this very figure, so that it holds by construction. Unresolved:
  // what is bounded is smaller than what can be measured here.
  enum class Kind { kTested, kFitted, kUnresolved };
  Kind kind = Kind::kTested;
};
Verdict verdict(const Observation& observation);

// What a reproduction may use.
struct Setting {
  std::string out;         // folder for data and figures; empty: none are written
  bool paper_size = true;  // figures of runs at the paper's size; else smaller ones that take seconds
  // Writes a file of that name into the folder, if there is one. Throws std::runtime_error when it cannot be written.
  void write(const std::string& name, const std::function<void(std::ostream&)>& fill) const;
};

// "12.34"
std::string digits(double number, int after_point);

// A reproduction: a study of claims, or a run that observes. The functions throw std::runtime_error when it cannot run
// here; that is no verdict.
struct Reproduction {
  const char* id;     // "papi-dispatch"
  const char* title;  // paper, figure or section
  std::vector<Observation> (*run)(const Setting& setting) = nullptr;
  std::function<Study()> study = nullptr;
  void (*figures)(const Setting& setting) = nullptr;  // data and figures of a study, at the paper's size
};

// The generated list, by id: each is the constant of that name, with '_' for '-', in the reproduction's own file.
// Adding one takes that file and a line in CMakeLists.txt.
std::vector<Reproduction> reproductions();

// The recorded report of a reproduction, JSON of two reports, "reduced" and "full"; empty if there is none. Generated
// from the folder verdicts.
std::string recorded_verdicts(const std::string& id);

}  // namespace substrata::papers
