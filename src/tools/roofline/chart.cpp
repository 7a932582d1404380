// The chart's scales, lines and words.
#include "tools/roofline/chart.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <ostream>

#include "base/format.hpp"
#include "base/json.hpp"

namespace substrata::roofline {
namespace {

std::string amount_text(const Amount& amount, const char* unit) {
  if (amount.source == Source::kNone) return "not known";
  return with_letter(amount.value, unit) + ", " + source_name(amount.source) + " (" + amount.from + ")";
}

// Of the roofs: a slope and a ceiling each for one core and for all.
struct Roofs {
  double slope = 0;
  double ceiling = 0;
};
Roofs of_all(const Peaks& peaks) { return {peaks.memory_bandwidth(false), peaks.most_operations(false)}; }

double to_range(double value, double low, double high) { return std::min(high, std::max(low, value)); }

// Pixels of logarithmic axes.
struct Scale {
  double low, high, from, to;
  double at(double value) const {
    return from + (std::log10(to_range(value, low, high)) - std::log10(low)) /
                      (std::log10(high) - std::log10(low)) * (to - from);
  }
};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

class Picture {
 public:
  explicit Picture(std::ostream& out) : out_(out) {}
  void line(double x1, double y1, double x2, double y2, const char* style) {
    print("<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", style, x1, y1, x2, y2);
  }
  void circle(double x, double y) {
    print("<circle class=\"point\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"/>\n", x, y);
  }
  // Above all lines, whenever they come.
  void text(double x, double y, const char* anchor, const std::string& words) {
    texts_ += printed("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor) + escaped(words) +
              "</text>\n";
  }
  void end() { out_ << texts_ << "</svg>\n"; }
  template <typename... Values>
  void print(const char* pattern, Values... values) {
    out_ << printed(pattern, values...);
  }

 private:
  template <typename... Values>
  static std::string printed(const char* pattern, Values... values) {
    char text[500];
    std::snprintf(text, sizeof text, pattern, values...);
    return text;
  }
  std::ostream& out_;
  std::string texts_;
};

struct Place {
  double x, y;  // of the text's beginning
};

// Names of lines, none above another.
class Labels {
 public:
  explicit Labels(Picture& picture) : picture_(picture) {}
  void keep_free(double x, double y, const std::string& words) { taken_.push_back(box(x, y, words)); }
  // At the first free place of where(0) to where(1).
  template <typename Where>
  void place(const std::string& words, Where&& where) {
    constexpr int kPlaces = 24;
    Place at = where(0.0);
    for (int i = 0; i <= kPlaces; ++i) {
      const Place next = where(static_cast<double>(i) / kPlaces);
      const Box wanted = box(next.x, next.y, words);
      if (std::any_of(taken_.begin(), taken_.end(), [&](const Box& one) { return one.meets(wanted); }))
        continue;
      at = next;
      break;
    }
    keep_free(at.x, at.y, words);
    picture_.text(at.x, at.y, "start", words);
  }

 private:
  struct Box {
    double left, top, right, bottom;
    bool meets(const Box& other) const {
      return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
    }
  };
  static Box box(double x, double y, const std::string& words) {
    return {x, y - 11, x + 6.5 * static_cast<double>(words.size()), y + 4};
  }
  Picture& picture_;
  std::vector<Box> taken_;
};

void write_rates(std::ostream& out, const std::vector<Rate>& rates, const std::string& unit,
                 std::uint64_t cores) {
  for (const Rate& one : rates) {
    char line[200];
    const std::string size = one.bytes == 0 ? "" : ", in " + topology::size_text(one.bytes);
    std::snprintf(line, sizeof line, "  %-20s %16s", (one.name + size).c_str(),
                  with_letter(one.one, unit).c_str());
    out << line;
    std::snprintf(line, sizeof line, " %16s", with_letter(one.all, unit).c_str());
    out << (cores > 1 ? line : "") << "\n";
  }
}

void write_rate_list(std::ostream& out, const char* name, const std::vector<Rate>& rates) {
  out << "\"" << name << "\":[";
  for (std::size_t i = 0; i < rates.size(); ++i)
    out << (i == 0 ? "" : ",") << "{\"name\":" << json_quoted(rates[i].name)
        << ",\"one\":" << number_text(rates[i].one, 9) << ",\"all\":" << number_text(rates[i].all, 9) << "}";
  out << "]";
}

}  // namespace

std::string with_letter(double number, const std::string& unit) {
  constexpr const char* kLetters[] = {"", "k", "M", "G", "T", "P"};
  std::size_t letter = 0;
  for (; number >= 1000 && letter + 1 < std::size(kLetters); ++letter) number /= 1000;
  return format("%.4g ", number) + kLetters[letter] + unit;
}

void write_roofs(std::ostream& out, const Peaks& peaks) {
  out << "Roofs of " << (peaks.processor.empty() ? "this machine" : peaks.processor) << ", measured\n";
  char line[200];
  std::snprintf(line, sizeof line, "  %-20s %16s", "", "one core");
  out << line;
  std::snprintf(line, sizeof line, " %9llu cores", static_cast<unsigned long long>(peaks.cores));
  out << (peaks.cores > 1 ? line : "") << "\n";
  write_rates(out, peaks.operations, "FLOP/s", peaks.cores);
  write_rates(out, peaks.memory, "B/s", peaks.cores);
  out << "  Operations: multiply and add, double precision, by vector width. Bytes: STREAM's triad, 24 bytes "
         "an element.\n";
  if (!peaks.memory.empty() && peaks.memory.back().bytes < 4 * peaks.last_cache)
    out << "  Memory was measured in less than four times the largest cache, which is said to hold "
        << topology::size_text(peaks.last_cache) << ":\n  a part of its rate may be the cache's.\n";
}

void write_points(std::ostream& out, const Peaks& peaks, const std::vector<Point>& points) {
  for (const Point& point : points) {
    out << "\n" << point.name << ": " << format("%.6g s", point.seconds);
    if (point.has_rate()) out << ", " << with_letter(point.rate(), "FLOP/s");
    if (point.has_intensity()) out << ", " << format("%.4g FLOP/byte", point.intensity());
    out << "\n  operations: " << amount_text(point.flops, "FLOP")
        << "\n  memory:     " << amount_text(point.bytes, "B") << "\n";
    if (!point.has_rate()) continue;
    const double ceiling = peaks.most_operations(point.one_core);
    const char* cores = point.one_core && peaks.cores > 1 ? " of one core" : "";
    if (!point.has_intensity()) {
      out << "  " << format("%.3g %%", 100 * point.rate() / ceiling) << " of the highest roof of operations"
          << cores << ". Without its bytes it has no place under the slope.\n";
      continue;
    }
    const double roof = roof_above(peaks, point.intensity(), point.one_core);
    const bool slope = roof < ceiling;
    out << "  under the " << (slope ? "slope: bound by memory" : "flat roof: bound by operations")
        << ", at most " << with_letter(roof, "FLOP/s") << cores << "; it reached "
        << format("%.3g %%", 100 * point.rate() / roof) << ".\n";
    if (point.bytes.source == Source::kModelled) out << "  The time has the access tracer in it.\n";
    if (point.bytes.source == Source::kTraced)
      out << "  These are the bytes that loads and stores asked for, before any cache, and the time has the "
             "tracer in it.\n";
  }
}

void write_svg(std::ostream& out, const Peaks& peaks, const std::vector<Point>& points) {
  constexpr double kWidth = 720, kHeight = 460;
  const Roofs roofs = of_all(peaks);
  double least = 0.01, most = 100, lowest = roofs.ceiling / 1e4;
  for (const Point& point : points) {
    if (point.has_rate() && point.rate() > 0) lowest = std::min(lowest, point.rate() / 2);
    if (!point.has_intensity() || !(point.intensity() > 0)) continue;
    least = std::min(least, point.intensity() / 2);
    most = std::max(most, point.intensity() * 2);
  }
  double nearest = roofs.slope;
  for (const Rate& one : peaks.memory) nearest = std::max(nearest, one.all);
  const Scale x{least, most, 70, kWidth - 20}, y{lowest, 2 * roofs.ceiling, kHeight - 50, 20};
  Picture picture(out);
  picture.print(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n",
      kWidth, kHeight, kWidth, kHeight);
  out << "<style>svg{background:#fff}text{fill:#1a1a1a;stroke:#fff;stroke-width:3px;paint-order:stroke}.axis{"
         "stroke:#333}.grid{stroke:#e3e5e9}"
         ".roof{stroke:#1f4e8c;stroke-width:2}.other{stroke:#7d97b8;stroke-dasharray:5 "
         "3}.one{stroke:#3f8f5b;stroke-width:2}"
         ".point{fill:#d1603d}.across{stroke:#d1603d;stroke-dasharray:2 3}\n"
         "@media "
         "(prefers-color-scheme:dark){svg{background:#16181c}text{fill:#e8e8e8;stroke:#16181c}.axis{stroke:#"
         "bbb}"
         ".grid{stroke:#2c3036}.roof{stroke:#7fb2f0}.other{stroke:#58708f}}</style>\n";
  for (double at = std::pow(10, std::ceil(std::log10(least))); at <= most * 1.0001; at *= 10) {
    picture.line(x.at(at), y.from, x.at(at), y.to, "grid");
    picture.text(x.at(at), y.from + 16, "middle", format("%g", at));
  }
  for (double at = std::pow(10, std::ceil(std::log10(lowest))); at <= 2 * roofs.ceiling; at *= 10) {
    picture.line(x.from, y.at(at), x.to, y.at(at), "grid");
    picture.text(x.from - 6, y.at(at) + 4, "end", with_letter(at, ""));
  }
  picture.line(x.from, y.from, x.to, y.from, "axis");
  picture.line(x.from, y.from, x.from, y.to, "axis");
  picture.text((x.from + x.to) / 2, kHeight - 12, "middle",
               "operations a byte of memory traffic (FLOP/byte)");
  picture.text(x.from, 13, "start", "FLOP/s");
  Labels labels(picture);
  for (const Point& point : points)
    if (point.has_rate() && point.rate() > 0 && point.has_intensity())
      labels.keep_free(x.at(point.intensity()) - 6, y.at(point.rate()) + 4, point.name + "  ");
  const auto slope = [&](double bandwidth, const char* style, const std::string& name) {
    // From where it enters the chart to where it meets the ceiling.
    const double first = std::max(least, lowest / bandwidth),
                 last = std::min(most, roofs.ceiling / bandwidth);
    if (!(first < last)) return;
    picture.line(x.at(first), y.at(first * bandwidth), x.at(last), y.at(last * bandwidth), style);
    labels.place(name, [&](double share) {
      const double at = first * std::pow(last / first, share);
      return Place{x.at(at) + 6, y.at(at * bandwidth) + 8};
    });
  };
  for (const Rate& one : peaks.memory)
    slope(one.all, &one == &peaks.memory.back() ? "roof" : "other",
          one.name + " " + with_letter(one.all, "B/s"));
  const auto ceiling = [&](double rate, double from, const char* style, const std::string& name) {
    picture.line(x.at(from), y.at(rate), x.to, y.at(rate), style);
    const double right = x.to - 130, left = std::min(x.at(from), right - 300);
    labels.place(name, [&](double share) {
      const bool below = share > 0.5;
      return Place{right - (2 * share - (below ? 1 : 0)) * (right - left), y.at(rate) + (below ? 13 : -4)};
    });
  };
  for (const Rate& one : peaks.operations) {
    const bool highest = one.all == roofs.ceiling;
    ceiling(one.all, one.all / (highest ? roofs.slope : nearest), highest ? "roof" : "other",
            one.name + " " + with_letter(one.all, "FLOP/s"));
  }
  if (peaks.cores > 1 &&
      std::any_of(points.begin(), points.end(), [](const Point& point) { return point.one_core; })) {
    const double rate = peaks.most_operations(true), bandwidth = peaks.memory_bandwidth(true);
    slope(bandwidth, "one", "one core " + with_letter(bandwidth, "B/s"));
    ceiling(rate, rate / bandwidth, "one", "one core " + with_letter(rate, "FLOP/s"));
  }
  for (const Point& point : points) {
    if (!point.has_rate() || !(point.rate() > 0)) continue;
    if (point.has_intensity()) {
      picture.circle(x.at(point.intensity()), y.at(point.rate()));
      picture.text(x.at(point.intensity()) + 8, y.at(point.rate()) + 4, "start", point.name);
    } else {
      picture.line(x.from, y.at(point.rate()), x.to, y.at(point.rate()), "across");
      labels.place(point.name + ", bytes not known", [&](double share) {
        return Place{x.from + 8 + share * (x.to - x.from), y.at(point.rate()) - 4};
      });
    }
  }
  picture.end();
}

void write_json(std::ostream& out, const Peaks& peaks, const std::vector<Point>& points,
                const std::vector<std::string>& notes) {
  out << "{\"processor\":" << json_quoted(peaks.processor) << ",\"cores\":" << peaks.cores << ",\n";
  write_rate_list(out, "flops_per_second", peaks.operations);
  out << ",\n";
  write_rate_list(out, "bytes_per_second", peaks.memory);
  out << ",\n\"points\":[";
  const auto amount = [&](const char* name, const Amount& one) {
    out << ",\"" << name << "\":{\"source\":" << json_quoted(source_name(one.source));
    if (one.source != Source::kNone)
      out << ",\"value\":" << number_text(one.value, 17) << ",\"from\":" << json_quoted(one.from);
    out << "}";
  };
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Point& point = points[i];
    out << (i == 0 ? "\n" : ",\n") << "{\"name\":" << json_quoted(point.name)
        << ",\"seconds\":" << number_text(point.seconds, 9);
    amount("flops", point.flops);
    amount("bytes", point.bytes);
    if (point.has_rate()) out << ",\"flops_per_second\":" << number_text(point.rate(), 9);
    if (point.has_intensity())
      out << ",\"flops_per_byte\":" << number_text(point.intensity(), 17)
          << ",\"roof\":" << number_text(roof_above(peaks, point.intensity(), point.one_core), 9);
    out << "}";
  }
  out << "],\n\"notes\":[";
  for (std::size_t i = 0; i < notes.size(); ++i) out << (i == 0 ? "" : ",") << json_quoted(notes[i]);
  out << "]}\n";
}

}  // namespace substrata::roofline
