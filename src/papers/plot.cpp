// Panels, blocks and maps as SVG text.
#include "papers/plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <ostream>
#include <utility>

namespace substrata::papers {
namespace {

constexpr double kWidth = 520;  // of a panel
constexpr double kHeight = 340;
constexpr double kLeft = 70;
constexpr double kRight = 20;
constexpr double kTop = 40;
constexpr double kBottom = 50;
constexpr double kLine = 15;  // of text
constexpr std::array kColours = {"#1f5fa8", "#c8501e", "#2d8a4e", "#7a3fa0", "#8a6d1d", "#5b6470"};

std::string number(double value) {
  char text[32];
  const double size = std::abs(value);
  if (size < 1e-9) return "0";
  if (size >= 1e6)
    std::snprintf(text, sizeof text, "%.3gM", value / 1e6);
  else if (size >= 1e4)
    std::snprintf(text, sizeof text, "%.3gk", value / 1e3);
  else
    std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}
std::string at(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}
std::string escaped(const std::string& text) {
  std::string made;
  for (const char c : text) made += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return made;
}

void text(std::ostream& out, double x, double y, const std::string& shown, const char* more = "") {
  out << "<text x=\"" << at(x) << "\" y=\"" << at(y) << "\" " << more << '>' << escaped(shown) << "</text>\n";
}
// Wide enough for the title.
void begin(std::ostream& out, double width, double height, const std::string& title) {
  width = std::max(width, 40 + 7.6 * static_cast<double>(title.size()));
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " << at(width) << ' ' << at(height)
      << "\" width=\"" << at(width) << "\" height=\"" << at(height)
      << "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
         "fill=\"white\"/>\n";
  text(out, 20, 22, title, "font-size=\"15\"");
}
void line(std::ostream& out, double x1, double y1, double x2, double y2, const std::string& style) {
  out << "<line x1=\"" << at(x1) << "\" y1=\"" << at(y1) << "\" x2=\"" << at(x2) << "\" y2=\"" << at(y2)
      << "\" " << style << "/>\n";
}

// From values to places along one axis.
class Scale {
 public:
  Scale(const Axis& axis, double least, double most, double from, double to)
      : logarithmic_(axis.logarithmic), from_(from), to_(to) {
    if (logarithmic_) {
      least_ = std::floor(std::log10(axis.least.value_or(least)) + 1e-9);
      most_ = std::ceil(std::log10(axis.most.value_or(most)) - 1e-9);
      if (most_ <= least_) most_ = least_ + 1;
      for (double decade = least_; decade <= most_; ++decade) ticks_.push_back(std::pow(10, decade));
      return;
    }
    least_ = axis.least.value_or(std::min(least, 0.0));
    const double span = std::max(axis.most.value_or(most) - least_, 1e-9);
    const double rough = std::pow(10, std::floor(std::log10(span / 5)));
    double step = rough;
    for (const double times : {2.0, 5.0, 10.0})
      if (span / step > 7) step = rough * times;
    most_ = axis.most.value_or(std::ceil((least_ + span) / step) * step);
    for (double tick = std::ceil(least_ / step) * step; tick <= most_ + step / 1000; tick += step)
      ticks_.push_back(tick);
  }
  double operator()(double value) const {
    const double place = logarithmic_ ? std::log10(std::max(value, std::pow(10, least_))) : value;
    return from_ + (to_ - from_) * (std::clamp(place, least_, most_) - least_) / (most_ - least_);
  }
  const std::vector<double>& ticks() const { return ticks_; }

 private:
  bool logarithmic_;
  double from_, to_;
  double least_ = 0, most_ = 1;
  std::vector<double> ticks_;
};

struct Range {
  double least = std::numeric_limits<double>::infinity();
  double most = -least;
  void hold(double value, bool positive) {
    if (positive && value <= 0) return;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  bool empty() const { return least > most; }
};

void draw_series(std::ostream& out, const Series& series, const Scale& x, const Scale& y, double base,
                 const std::string& colour) {
  const std::string stroke = "stroke=\"" + colour + "\" fill=\"none\" stroke-width=\"1.6\"";
  const auto dots = [&](const char* radius) {
    for (const auto& [a, b] : series.points)
      out << "<circle cx=\"" << at(x(a)) << "\" cy=\"" << at(y(b)) << "\" r=\"" << radius << "\" fill=\""
          << colour << "\"/>\n";
  };
  switch (series.style) {
    case Series::Style::kDots:
      return dots("1.2");
    case Series::Style::kImpulses:
      for (const auto& [a, b] : series.points) line(out, x(a), base, x(a), y(b), stroke);
      return;
    case Series::Style::kBars: {
      const double width = series.points.size() > 1
                               ? 0.8 * std::abs(x(series.points[1].first) - x(series.points[0].first))
                               : 20;
      for (const auto& [a, b] : series.points)
        out << "<rect x=\"" << at(x(a) - width / 2) << "\" y=\"" << at(y(b)) << "\" width=\"" << at(width)
            << "\" height=\"" << at(base - y(b)) << "\" fill=\"" << colour << "\"/>\n";
      return;
    }
    case Series::Style::kLine:
    case Series::Style::kPaper: {
      const bool paper = series.style == Series::Style::kPaper;
      out << "<polyline " << (paper ? "stroke=\"#444\" fill=\"none\" stroke-dasharray=\"6 4\"" : stroke)
          << " points=\"";
      for (const auto& [a, b] : series.points) out << at(x(a)) << ',' << at(y(b)) << ' ';
      out << "\"/>\n";
      if (!paper && series.points.size() <= 60) dots("2.2");
    }
  }
}

void draw_panel(std::ostream& out, const Panel& panel, double left, double top) {
  const double x0 = left + kLeft, x1 = left + kWidth - kRight;
  const double y0 = top + kHeight - kBottom, y1 = top + kTop;
  Range along, up;
  for (const Series& series : panel.series) {
    for (const auto& [a, b] : series.points) {
      along.hold(a, panel.x.logarithmic);
      up.hold(b, panel.y.logarithmic);
    }
  }
  text(out, x0, top + 22, panel.title, "font-weight=\"bold\"");
  if (along.empty() || up.empty()) {
    text(out, x0, top + 60, "nothing was counted");
    return;
  }
  const Scale x(panel.x, along.least, along.most, x0, x1);
  // The key is above what is drawn.
  const auto keys = static_cast<double>(std::count_if(panel.series.begin(), panel.series.end(),
                                                      [](const Series& one) { return !one.name.empty(); }));
  const double most =
      panel.y.logarithmic ? up.most : up.most * (1 + keys * kLine / (kHeight - kTop - kBottom) * 1.4);
  const Scale y(panel.y, panel.y.logarithmic ? std::min(up.least, 1.0) : up.least, most, y0, y1);
  for (const double tick : x.ticks()) {
    line(out, x(tick), y0, x(tick), y1, "stroke=\"#e4e4e4\"");
    text(out, x(tick), y0 + kLine, number(tick), "text-anchor=\"middle\"");
  }
  for (const double tick : y.ticks()) {
    line(out, x0, y(tick), x1, y(tick), "stroke=\"#e4e4e4\"");
    text(out, x0 - 6, y(tick) + 4, number(tick), "text-anchor=\"end\"");
  }
  out << "<path d=\"M" << at(x0) << ' ' << at(y1) << 'V' << at(y0) << 'H' << at(x1)
      << "\" fill=\"none\" stroke=\"#333\"/>\n";
  text(out, (x0 + x1) / 2, y0 + 2 * kLine + 3, panel.x.label, "text-anchor=\"middle\"");
  out << "<g transform=\"translate(" << at(left + 16) << ' ' << at((y0 + y1) / 2) << ") rotate(-90)\">";
  text(out, 0, 0, panel.y.label, "text-anchor=\"middle\"");
  out << "</g>\n";
  std::size_t colour = 0;
  double key = y1 + 12;
  for (const Series& series : panel.series) {
    const bool paper = series.style == Series::Style::kPaper;
    const std::string chosen = paper ? "#444" : kColours[colour++ % kColours.size()];
    draw_series(out, series, x, y, y0, chosen);
    if (series.name.empty()) continue;
    line(out, x0 + 10, key - 4, x0 + 34, key - 4,
         "stroke=\"" + chosen + "\" stroke-width=\"2\"" + (paper ? " stroke-dasharray=\"6 4\"" : ""));
    text(out, x0 + 40, key, series.name);
    key += kLine;
  }
}

// A colour between nearly white and dark blue.
std::string shade(double share) {
  const auto part = [share](int from, int to) {
    return std::to_string(from + static_cast<int>((to - from) * share));
  };
  return "rgb(" + part(238, 16) + ',' + part(243, 60) + ',' + part(250, 130) + ')';
}

std::uint64_t highest(const Field& field) {
  std::uint64_t most = 1;
  for (const auto& row : field.at) most = std::max(most, *std::max_element(row.begin(), row.end()));
  return most;
}

// Every so many indices have a label.
std::size_t label_step(std::size_t cells) { return cells <= 16 ? 1 : (cells + 15) / 16; }

}  // namespace

Panel panel(std::string title, Axis x, Axis y, std::vector<Series> series, std::vector<std::string> notes) {
  Panel made;
  made.title = std::move(title);
  made.x = std::move(x);
  made.y = std::move(y);
  made.series = std::move(series);
  made.notes = std::move(notes);
  return made;
}

void write_panels(std::ostream& out, const std::string& title, const std::vector<Panel>& panels,
                  unsigned columns) {
  std::size_t notes = 0;
  for (const Panel& panel : panels) notes = std::max(notes, panel.notes.size());
  const double each = kHeight + kLine * static_cast<double>(notes);
  const auto rows = (panels.size() + columns - 1) / columns;
  begin(out, kWidth * columns, 30 + each * static_cast<double>(rows), title);
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const double left = kWidth * static_cast<double>(i % columns);
    const std::size_t row = i / columns;
    const double top = 30 + each * static_cast<double>(row);
    draw_panel(out, panels[i], left, top);
    for (std::size_t n = 0; n < panels[i].notes.size(); ++n)
      text(out, left + 20, top + kHeight + kLine * static_cast<double>(n), panels[i].notes[n],
           "fill=\"#444\"");
  }
  out << "</svg>\n";
}

void write_blocks(std::ostream& out, const std::string& title, const Field& field) {
  constexpr double kAcross = 420;  // of either axis in the plane
  constexpr double kUp = 260;
  constexpr double kCos = 0.866, kSin = 0.42;
  const auto nx = static_cast<double>(field.at.size());
  const auto ny = static_cast<double>(field.at.front().size());
  const double middle = 40 + kAcross * kCos, ground = 60 + kUp;
  const auto place = [&](double i, double j, double height) {
    return std::pair{middle + (j / ny - i / nx) * kAcross * kCos,
                     ground + (j / ny + i / nx) * kAcross * kSin - height * kUp};
  };
  const auto corner = [&](double i, double j, double height) {
    const auto [a, b] = place(i, j, height);
    return at(a) + ',' + at(b) + ' ';
  };
  begin(out, 2 * middle + 60, ground + 2 * kAcross * kSin + 60, title);
  const Scale height({}, 0, static_cast<double>(highest(field)), 0, 1);
  for (const double tick : height.ticks()) {
    out << "<polyline fill=\"none\" stroke=\"#ddd\" points=\"" << corner(nx, 0, height(tick))
        << corner(0, 0, height(tick)) << corner(0, ny, height(tick)) << "\"/>\n";
    const auto [a, b] = place(nx, 0, height(tick));
    text(out, a - 4, b + 4, number(tick), "text-anchor=\"end\"");
  }
  text(out, 8, 46, field.count);
  out << "<polygon fill=\"#f6f6f6\" stroke=\"#999\" points=\"" << corner(0, 0, 0) << corner(0, ny, 0)
      << corner(nx, ny, 0) << corner(nx, 0, 0) << "\"/>\n";
  // From the far corner to the near one.
  for (std::size_t i = 0; i < field.at.size(); ++i) {
    for (std::size_t j = 0; j < field.at[i].size(); ++j) {
      if (field.at[i][j] == 0) continue;
      const double h = height(static_cast<double>(field.at[i][j]));
      const double a = static_cast<double>(i) + 0.1, b = a + 0.8;
      const double c = static_cast<double>(j) + 0.1, d = c + 0.8;
      const auto face = [&](const char* fill, const std::string& corners) {
        out << "<polygon fill=\"" << fill << "\" stroke=\"#24507f\" stroke-width=\"0.4\" points=\"" << corners
            << "\"/>";
      };
      face("#5f8fc4", corner(b, c, 0) + corner(b, d, 0) + corner(b, d, h) + corner(b, c, h));
      face("#3b6ea8", corner(a, d, 0) + corner(b, d, 0) + corner(b, d, h) + corner(a, d, h));
      face("#a9c6e6", corner(a, c, h) + corner(b, c, h) + corner(b, d, h) + corner(a, d, h));
      out << '\n';
    }
  }
  for (std::size_t i = 0; i < field.at.size(); i += label_step(field.at.size())) {
    const auto [a, b] = place(static_cast<double>(i) + 0.5, ny, 0);
    text(out, a + 6, b + 12, number(static_cast<double>(i) * field.x_step));
  }
  for (std::size_t j = 0; j < field.at[0].size(); j += label_step(field.at[0].size())) {
    const auto [a, b] = place(nx, static_cast<double>(j) + 0.5, 0);
    text(out, a - 6, b + 12, number(static_cast<double>(j) * field.y_step), "text-anchor=\"end\"");
  }
  const auto [ax, ay] = place(nx / 2, ny * 1.08, 0);
  text(out, ax + 20, ay + 30, field.x.label);
  const auto [bx, by] = place(nx * 1.08, ny / 2, 0);
  text(out, std::max(10.0, bx - 180), by + 34, field.y.label);
  out << "</svg>\n";
}

void write_map(std::ostream& out, const std::string& title, const Field& field) {
  const double cell = std::clamp(600 / static_cast<double>(field.at[0].size()), 4.0, 26.0);
  const double left = 70, top = 50;
  const double width = cell * static_cast<double>(field.at[0].size());
  const double height = cell * static_cast<double>(field.at.size());
  const std::uint64_t most = highest(field);
  begin(out, left + width + 30, top + height + 60, title);
  text(out, left, 42, "darkest: " + number(static_cast<double>(most)) + ' ' + field.count);
  for (std::size_t i = 0; i < field.at.size(); ++i) {
    const double y = top + cell * static_cast<double>(i);
    if (i % label_step(field.at.size()) == 0)
      text(out, left - 6, y + cell / 2 + 4, number(static_cast<double>(i) * field.x_step),
           "text-anchor=\"end\"");
    for (std::size_t j = 0; j < field.at[i].size(); ++j) {
      const std::uint64_t count = field.at[i][j];
      if (count == 0) continue;
      out << "<rect x=\"" << at(left + cell * static_cast<double>(j)) << "\" y=\"" << at(y) << "\" width=\""
          << at(cell) << "\" height=\"" << at(cell) << "\" fill=\""
          << shade(std::sqrt(static_cast<double>(count) / static_cast<double>(most))) << "\"><title>" << count
          << "</title></rect>\n";
    }
  }
  for (std::size_t j = 0; j < field.at[0].size(); j += label_step(field.at[0].size()))
    text(out, left + cell * (static_cast<double>(j) + 0.5), top + height + kLine,
         number(static_cast<double>(j) * field.y_step), "text-anchor=\"middle\"");
  out << "<rect x=\"" << at(left) << "\" y=\"" << at(top) << "\" width=\"" << at(width) << "\" height=\""
      << at(height) << "\" fill=\"none\" stroke=\"#999\"/>\n";
  text(out, left + width / 2, top + height + 2 * kLine + 6, field.y.label, "text-anchor=\"middle\"");
  out << "<g transform=\"translate(18 " << at(top + height / 2) << ") rotate(-90)\">";
  text(out, 0, 0, field.x.label, "text-anchor=\"middle\"");
  out << "</g>\n</svg>\n";
}

}  // namespace substrata::papers
