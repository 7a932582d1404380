// Tries claims: at several sizes and seeds, with what has no source swept, and in the model without the named cause.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "papers/claim.hpp"

namespace substrata::papers {

inline constexpr std::uint64_t kSeeds = 5;
inline constexpr std::size_t kLeastSizes = 3;

// How large a run is; what `amount` counts is the study's.
struct Size {
  std::string name;  // "65536 points, 16 nodes"
  std::uint64_t amount;
  unsigned nodes;
};

// One run of the model.
struct Case {
  Size size;
  std::uint64_t seed;
  std::string setting;           // of a mutant or a swept parameter; empty: the model as it is
  std::set<std::string> wanted;  // the claims whose readings are asked for

  bool wants(const std::string& claim) const { return wanted.contains(claim); }
};

// What a run gave for a claim.
struct Reading {
  double value;
  std::string shown = {};  // what stands behind the number
};
using Readings = std::map<std::string, Reading>;

// The claims of one reproduction, and how they are measured. Of the sizes the last is the paper's, or the nearest to it
// that takes seconds; mutants and swept parameters are run at that size.
struct Study {
  std::vector<Claim> claims;
  std::vector<Size> reduced;
  std::vector<Size> full;
  std::function<Readings(const Case&)> measure;
};

struct Span {
  double least = 0;
  double mean = 0;
  double most = 0;
};
Span span_of(const std::vector<double>& values, Interval interval);

enum class Position { kInside, kOutside, kAstride };
Position position_of(const Span& span, const Criterion& criterion);

// The readings of all seeds at one size, in one setting.
struct Part {
  std::string name;  // of the size, or the setting
  Span span;
  Position position;
  std::string shown;  // of the first seed
};

enum class Verdict { kHolds, kDiffers, kUndecided, kRefused };
const char* name_of(Verdict verdict);

struct Trial {
  std::vector<Part> sizes;
  std::vector<Part> swept;
  Part mutant;
  Verdict verdict;
  std::string why;
};

// One for each claim. Throws std::invalid_argument when a study has too few sizes or a claim has no reading, and what
// the measurements throw. A claim that holds without its cause is refused.
std::vector<Trial> try_claims(const Study& study, bool full);

// "12.3 us", "4.5 %".
std::string shown(double value, const std::string& unit);
std::string shown(const Span& span, const std::string& unit);
std::string shown(const Criterion& criterion);

}  // namespace substrata::papers
