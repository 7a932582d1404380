// Reproductions of figures and claims of papers: what one gives, and how its file registers it.
#ifndef SUBSTRATA_PAPERS_REPRODUCTION_HPP
#define SUBSTRATA_PAPERS_REPRODUCTION_HPP

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace substrata::papers {

// One claim and whether it holds here. A claim is never tuned to hold: parameters have a source, and a miss
// is explained in the note.
struct Claim {
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
// "HOLDS", "DOES NOT HOLD", "CALIBRATED" (holds, and was fitted), "UNRESOLVED".
const char* verdict(const Claim& claim);

// What a reproduction may use.
struct Setting {
  std::string out;  // folder for data and figures; empty: none are written
  // Writes a file of that name into the folder, if there is one. Throws std::runtime_error when it cannot be written.
  void write(const std::string& name, const std::function<void(std::ostream&)>& fill) const;
};

// "12.34"
std::string digits(double number, int after_point);

// A reproduction. The function throws std::runtime_error when it cannot run here; that is not a miss.
struct Reproduction {
  const char* id;     // "papi-dispatch"
  const char* title;  // paper, figure or section
  std::vector<Claim> (*run)(const Setting& setting);
};

// The generated list, by id: each is the constant of that name, with '_' for '-', in the reproduction's own file.
// Adding one takes that file and a line in CMakeLists.txt.
std::vector<Reproduction> reproductions();

}  // namespace substrata::papers

#endif
