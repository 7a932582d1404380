// Metrics in the files of other tools: groups of LIKWID, and the vendors' metrics as perf has them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/definitions.hpp"

namespace substrata::metrics {

// What a file does not say.
struct Foreign {
  std::string file;                     // its name, for messages
  std::vector<std::string> processors;  // counter units that it is for; empty: all
  double clock_hz = 0;                  // of the reference clock; 0: not known
};

// A group of LIKWID: SHORT, EVENTSET, METRICS, LONG. It becomes the group "likwid:NAME" and a metric
// LIKWID_NAME_WORDS for each of its lines, in the unit that the line has in brackets; its formulas bear no dimensions,
// so none are checked. A metric that is not understood is left out, and the fault is given.
std::vector<Fault> parse_likwid_group(std::string_view text, const std::string& name, const Foreign& about,
                                      Definitions* out);

// Our names of an event of LIKWID on one of its counters, the likeliest first: its name with the underscore between
// event and unit mask as a colon. Empty, and *why, where there is none.
std::vector<std::string> events_of_likwid(std::string_view counter, std::string_view event,
                                          const std::vector<std::string>& processors, std::string* unit,
                                          std::string* why);

// The counter units of a processor by the name of LIKWID's folder of its groups ("skylakeX"); empty: not known.
std::vector<std::string> processors_of_likwid(std::string_view folder);

inline constexpr size_t kMostVendorBytes = size_t{8} << 20;  // of a vendor's file

// Codes of events by the vendor's names, for names that libpfm4 spells otherwise.
using VendorCodes = std::map<std::string, std::string, std::less<>>;
// A JSON list of events (EventName, EventCode, UMask ...) adds codes; one of metrics (MetricName, MetricExpr,
// ScaleUnit ...) definitions, and a group for each name in MetricGroup. One file may hold both.
std::vector<Fault> parse_vendor_codes(std::string_view text, const std::string& file, VendorCodes* out);
std::vector<Fault> parse_vendor_metrics(std::string_view text, const Foreign& about, const VendorCodes& codes,
                                        Definitions* out);

}  // namespace substrata::metrics
