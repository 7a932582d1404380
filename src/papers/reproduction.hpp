// Reproductions of figures and claims of papers: what one gives, and how its file registers it.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "papers/trial.hpp"

namespace substrata::papers {

// What a reproduction may use.
struct Setting {
  std::string out;         // folder for data and figures; empty: none are written
  bool paper_size = true;  // figures of runs at the paper's size; else smaller ones that take seconds
  // Writes a file of that name into the folder, if there is one. Throws std::runtime_error when it cannot be written.
  void write(const std::string& name, const std::function<void(std::ostream&)>& fill) const;
};

// "12.34"
std::string digits(double number, int after_point);

// A study of claims. The functions throw std::runtime_error when it cannot run here; that is no verdict.
struct Reproduction {
  const char* id;     // "papi-dispatch"
  const char* title;  // paper, figure or section
  std::function<Study()> study;
  void (*figures)(const Setting& setting) = nullptr;  // data and figures, at the paper's size
};

// The generated list, by id: each is the constant of that name, with '_' for '-', in the reproduction's own file.
// Adding one takes that file and a line in CMakeLists.txt.
std::vector<Reproduction> reproductions();

}  // namespace substrata::papers
