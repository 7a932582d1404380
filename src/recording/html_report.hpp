// A recording as one HTML file that needs nothing else.
#pragma once

#include <iosfwd>
#include <string>

#include "recording/timeline.hpp"

namespace substrata::recording {

// Time lines on one axis with regions and zoom, signatures of the regions, correlations, heat maps, tables,
// provenance. The data, the script and the style are in the file; it loads nothing. Its size does not grow
// with the number of writers, and is bounded in samples and regions: longer series are shown by the mean,
// minimum and maximum of a thousand stretches.
void write_html_report(std::ostream& out, const Timeline& timeline, const std::string& title);

}  // namespace substrata::recording
