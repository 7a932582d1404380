// Bars and blocks of processors, memory and load.
#include "tools/substrata/watching/machine_view.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/environment.hpp"
#include "recording/text_report.hpp"
#include "tools/terminal/screen.hpp"

namespace substrata::tool {
namespace {

constexpr std::size_t kMeter = 26;  // columns of one processor

int colour_of(double share) { return share >= 0.85 ? 31 : share >= 0.5 ? 33 : 32; }

std::string meter(double share, std::size_t columns, bool utf8, bool colours) {
  const std::size_t full =
      static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(columns)));
  std::string out;
  for (std::size_t i = 0; i < full; ++i) out += utf8 ? "█" : "#";
  std::string rest;
  for (std::size_t i = full; i < columns; ++i) rest += utf8 ? "░" : ".";
  return coloured(out, colour_of(share), colours) + coloured(rest, 2, colours);
}

std::string formatted(const char* pattern, double a, double b = 0, double c = 0) {
  char text[80];
  std::snprintf(text, sizeof text, pattern, a, b, c);
  return text;
}

}  // namespace

bool wants_colours() {
  const char* const no = environment("NO_COLOR");
  const char* const term = environment("TERM");
  return (no == nullptr || *no == '\0') && (term == nullptr || std::string(term) != "dumb");
}

std::string coloured(const std::string& text, int colour, bool colours) {
  if (!colours || text.empty()) return text;
  return "\x1b[" + std::to_string(colour) + "m" + text + "\x1b[0m";
}

void MachineView::take(sampler::MachineState state) {
  before_ = std::move(now_);
  now_ = std::move(state);
}

std::vector<std::string> MachineView::lines(std::size_t columns, std::size_t rows, bool utf8,
                                            bool colours) const {
  std::vector<std::string> out;
  if (columns < 40 || rows < 2) return out;
  std::vector<std::pair<int, double>> shares;  // NaN: first look
  for (const auto& [number, time] : now_.processors) {
    if (number == sampler::kAllProcessors) continue;
    const auto last = before_.processors.find(number);
    const double all =
        last == before_.processors.end() ? 0 : static_cast<double>(time.all - last->second.all);
    shares.emplace_back(number, all > 0 ? static_cast<double>(time.busy - last->second.busy) / all : 0);
  }
  const std::size_t a_line = std::max<std::size_t>(1, columns / kMeter);
  if (!shares.empty() && (shares.size() + a_line - 1) / a_line <= rows - 1) {
    for (std::size_t i = 0; i < shares.size(); i += a_line) {
      std::string line;
      for (std::size_t k = i; k < std::min(shares.size(), i + a_line); ++k)
        line += formatted("%4.0f ", shares[k].first) + meter(shares[k].second, 14, utf8, colours) +
                formatted(" %3.0f %%  ", 100 * shares[k].second).substr(0, kMeter - 19);
      const std::size_t used = kMeter * (std::min(shares.size(), i + a_line) - i);
      out.push_back(line + std::string(columns - std::min(columns, used), ' '));
    }
  } else if (!shares.empty()) {
    // Neighbours share a block where even those do not fit.
    const std::size_t blocks = std::min(shares.size(), columns - 5);
    std::vector<double> means;
    for (std::size_t b = 0; b < blocks; ++b) {
      const std::size_t from = b * shares.size() / blocks, to = (b + 1) * shares.size() / blocks;
      double sum = 0;
      for (std::size_t i = from; i < to; ++i) sum += shares[i].second;
      means.push_back(sum / static_cast<double>(to - from));
    }
    out.push_back("CPUs " + bars(means, blocks, 1, 0, 1, utf8).front() +
                  std::string(columns - 5 - blocks, ' '));
  }
  std::string text, plain;
  if (now_.memory_bytes > 0) {
    const double used = now_.memory_bytes - now_.available_bytes;
    const std::string label = " mem ", value = " " + recording::compact(used) + "B of " +
                                               recording::compact(now_.memory_bytes) + "B   ";
    text = label + meter(used / now_.memory_bytes, 14, utf8, colours) + value;
    plain = label + std::string(14, ' ') + value;
  }
  if (now_.load[0] >= 0) {
    const std::string load = formatted("load %.2f %.2f %.2f", now_.load[0], now_.load[1], now_.load[2]);
    text += load;
    plain += load;
  }
  if (!plain.empty() && plain.size() <= columns)
    out.push_back(text + std::string(columns - plain.size(), ' '));
  return out;
}

}  // namespace substrata::tool
