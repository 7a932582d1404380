// A recording in the formats of others: CSV, JSON, the trace format that Perfetto and Chrome open, OpenMetrics
// text.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "recording/timeline.hpp"

namespace substrata::recording {

// Header lines that begin with '#' (what each column is: unit, kind, origin, scope), a line of column names,
// then a line a row of a set: time in seconds, host, rank, and the raw values, counts since the start. A
// value that could not be read is an empty cell. Fields are quoted as RFC 4180 asks.
void export_csv(std::ostream& out, const Timeline& timeline);

// Everything, as one object: writers with properties and clocks, series with times and values, regions,
// damages.
void export_json(std::ostream& out, const Timeline& timeline);

// The Trace Event Format's JSON: a process a writer, a counter track a series (counts as rates per second),
// slices for regions. Names of modelled series say so.
void export_perfetto(std::ostream& out, const Timeline& timeline);

// OpenMetrics 1.0 text with a time stamp a point, as backfilling takes it.
void export_openmetrics(std::ostream& out, const Timeline& timeline);

// An OTF2 archive, for Vampir and the tools of Score-P: a new folder with traces.otf2. A process a writer, a
// location a rank with its regions, a location a series; stamps are nanoseconds. Throws std::runtime_error
// with the reason, also where this is not built in.
void export_otf2(const std::string& folder, const Timeline& timeline);
bool otf2_is_built_in() noexcept;

// A text within quotation marks, with JSON's escapes; bytes that are not valid UTF-8 become U+FFFD.
std::string json_text(std::string_view text);
// A number as JSON has it; "null" for one that is not finite.
std::string json_number(double number);
// The value of a row exactly: integers whole, doubles with all digits ("null" where not finite).
std::string exact_value(const Series& series, std::size_t row);

}  // namespace substrata::recording
