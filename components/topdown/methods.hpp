// How each kind of processor divides its slots: which counters it takes, and the published formulas on them.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <string>
#include <vector>

namespace substrata::topdown {

inline constexpr uint32_t kMostCounters = 9;

// One share of the slots, in percent.
struct Share {
  const char* name;  // PAPI's
  const char* text;
  uint32_t needs;  // bit i: counter i of the method; the first is always counted
  // `grown` are the counters' increases, in the method's order; `width` slots a cycle. False: there were no slots.
  bool (*percent)(const double* grown, double width, double* out) noexcept;
};

// What this machine's processor has.
struct Method {
  std::string source;                     // where the formulas are published, for the events' texts
  std::vector<perf_event_attr> counters;  // the first leads the group
  std::vector<Share> shares;
  double width = 0;
};

// The method for the machine whose "/" is `root`; without shares where there is none, with the reason in `why`.
// Allocates.
Method find_method(const std::string& root, std::string* why);

}  // namespace substrata::topdown
