// Counts as a table, as lines of fields in the order of `perf stat -x`, and as JSON.
#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/substrata/stat/counts.hpp"

namespace substrata::tool {

// What stands beside an event: how much of it by the second, or a number made of several events.
struct Beside {
  std::string value;  // empty: nothing
  std::string unit;
  double number = 0;
};
Beside beside(const Line& line, const Counts& counts);

// A value as it is shown: times in milliseconds, other units without a power of ten.
struct Shown {
  std::string value;
  std::string unit;
};
Shown shown(const Line& line);

// How much of the wanted time the event counted, in per cent; 100 where that is not known.
double share_of(const Line& line);
// The standard error in per cent of the value.
double relative_error(double value, double deviation);

// Each takes the counts of one run, split by place.
void write_table(std::ostream& out, const std::vector<Counts>& parts);
// One interval of a table, each line with its time; the heading before the first.
void write_interval(std::ostream& out, const std::vector<Counts>& parts, double at_seconds, bool heading);
// `first`: fields before the others, each with its separator.
void write_fields(std::ostream& out, const std::vector<Counts>& parts, const std::string& separator,
                  const std::string& first);
nlohmann::json as_json(const std::vector<Counts>& parts);

}  // namespace substrata::tool
