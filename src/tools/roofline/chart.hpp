// Roofs and points as text, as a picture and as JSON.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "tools/roofline/peaks.hpp"
#include "tools/roofline/points.hpp"

namespace substrata::roofline {

void write_roofs(std::ostream& out, const Peaks& peaks);
// A paragraph for each: its numbers with their sources, which roof is above it, how near it comes.
void write_points(std::ostream& out, const Peaks& peaks, const std::vector<Point>& points);
// Both axes logarithmic: FLOP/byte, FLOP/s. A point whose bytes are not known is a line across.
void write_svg(std::ostream& out, const Peaks& peaks, const std::vector<Point>& points);
void write_json(std::ostream& out, const Peaks& peaks, const std::vector<Point>& points,
                const std::vector<std::string>& notes);

// "12.3 GFLOP/s".
std::string with_letter(double number, const std::string& unit);

}  // namespace substrata::roofline
