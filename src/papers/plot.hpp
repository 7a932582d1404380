// Figures as SVG: panels with two axes, and counts over two axes as blocks and as a map.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace substrata::papers {

struct Axis {
  std::string label;
  bool logarithmic = false;
  std::optional<double> least = {};  // else of what is drawn
  std::optional<double> most = {};
};

struct Series {
  std::string name;  // in the key; empty: not there
  std::vector<std::pair<double, double>> points;
  enum class Style {
    kLine,
    kImpulses,
    kBars,
    kDots,
    kPaper
  } style = Style::kLine;  // kPaper: what the text says, dashed
};

struct Panel {
  std::string title;
  Axis x;
  Axis y;
  std::vector<Series> series;
  std::vector<std::string> notes = {};  // below it: what the paper's text says
};

// One without notes or with them.
Panel panel(std::string title, Axis x, Axis y, std::vector<Series> series,
            std::vector<std::string> notes = {});

// Beside each other, so many in a row.
void write_panels(std::ostream& out, const std::string& title, const std::vector<Panel>& panels,
                  unsigned columns);

// Counts over two axes; cell (i, j) is at[i][j].
struct Field {
  Axis x;  // of the first index
  Axis y;
  std::string count;  // what is counted
  std::vector<std::vector<std::uint64_t>> at;
  double x_step = 1;  // from one index to the next
  double y_step = 1;
};
// Three axes, the height linear, seen from a corner.
void write_blocks(std::ostream& out, const std::string& title, const Field& field);
// From above; the shade is linear in the square root of the count.
void write_map(std::ostream& out, const std::string& title, const Field& field);

}  // namespace substrata::papers
