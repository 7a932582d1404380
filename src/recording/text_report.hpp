// A recording as text for a terminal.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "recording/timeline.hpp"

namespace substrata::recording {

// Where the recording comes from, whether it is whole, what recording cost, a table of all series with a time
// line each, and one of the regions. Its length does not depend on the number of ranks or samples.
void write_text_report(std::ostream& out, const Timeline& timeline, const std::string& title);

// A number in at most 8 characters, with the letter of its thousand: 1.234G, 12.3k, 87, 0.0123.
std::string compact(double number);

// The origin's name, and whether values were scaled, stale or missing.
std::string origin_of(const Group& group);

// Of CLOCK_REALTIME, in UTC.
std::string time_of_day(std::int64_t real_ns);

// What is cut off or damaged, one line each; empty for a whole recording.
std::vector<std::string> what_is_missing(const Timeline& timeline);

// What is known of the recorder's own cost; empty when the recording does not have it.
std::string overhead_text(const Timeline& timeline);
// How the rows of a long recording were merged when it was read; empty where none were.
std::string merged_rows_text(const Recording& recording);

}  // namespace substrata::recording
