// Metrics and groups of them as text files define them; docs/reference/metrics.md describes the form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/events/derived.hpp"
#include "metrics/unit.hpp"

namespace substrata::metrics {

// What becomes of the events that a pattern finds.
enum class Fold : uint8_t { kSum, kMean, kMin, kMax };

// A name of the formula and the events that may stand for it.
struct Term {
  std::string name;
  Unit unit;  // as declared; counts otherwise
  Fold fold = Fold::kSum;
  std::vector<std::string> events;  // alternatives, the first that can be counted is taken; '*' in patterns
};

// Terms of every formula that are no events: seconds measured, and processors online.
inline constexpr const char* kElapsed = "elapsed";
inline constexpr const char* kProcessors = "processors";

struct Metric {
  std::string name;
  std::string text;  // one line
  std::string formula_text;
  std::string unit_text = "1";
  std::string needs;
  std::string source;
  std::string beside;  // the event beside which it is printed; empty: in groups only
  Unit unit;
  Formula formula;  // over the terms, then kElapsed and kProcessors
  std::vector<Term> terms;
  std::vector<std::string> processors;  // counter units, with '*'; empty: all
  std::string place;                    // "file:line"
};

struct Group {
  std::string name;
  std::string text;
  std::vector<std::string> metrics;
  std::vector<std::string> processors;
  std::string place;
};

struct Definitions {
  std::vector<Metric> metrics;
  std::vector<Group> groups;
};

// What is wrong at a place of a file.
struct Fault {
  std::string file;
  unsigned line = 0;
  unsigned column = 0;
  std::string what;
  std::string text() const;  // "file:line:column: what"
};

// Adds what `text` defines. A metric with a fault is left out, and the fault is given; so are sums of what
// has not the same dimension, and a result whose dimension is not that of its unit.
std::vector<Fault> parse_definitions(std::string_view text, const std::string& file, Definitions* out);

// Makes the formula of its text, over its terms. What is wrong, else empty.
std::string compile_formula(Metric* metric);

inline constexpr size_t kMostBytes = size_t{1} << 20;  // of a file

// Hands a file's text to a reader line by line, and gives what it found wrong.
template <typename Reader>
std::vector<Fault> read_by_lines(std::string_view text, const std::string& file, Reader& reader) {
  if (text.size() > kMostBytes) return {{file, 1, 1, "the file is larger than 1 MiB"}};
  while (!text.empty()) {
    const size_t end = text.find('\n');
    reader.line(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  reader.finish();
  return std::move(reader.faults);
}

}  // namespace substrata::metrics
