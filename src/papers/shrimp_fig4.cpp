// shrimp-fig4: senders by sizes of the packets of an FFT (Martonosi et al., section 4.1, figure 4).
#include <substrata/shrimp.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>
#include <stdexcept>

#include "papers/counted_set.hpp"
#include "papers/reproduction.hpp"
#include "papers/shrimp_runs.hpp"
#include "sampler/measuring.hpp"

namespace substrata::papers {
using namespace sampler;
namespace {

constexpr std::uint32_t kChunks = 16;      // as far as the figure goes
constexpr std::uint32_t kRidge = 14;       // 224 to 239 bytes
constexpr std::uint32_t kSmallChunks = 8;  // below 128 bytes
constexpr double kSharp = 3;               // how many times the other senders' a sharp peak is; ours
constexpr double kNearlyEqual = 1.25;      // largest by smallest; ours

// [sender][chunk], over all receivers.
using Histogram = std::vector<std::vector<std::uint64_t>>;

struct Case {
  const char* workload;
  std::uint32_t nodes;
};

Histogram measure(const Case& one) {
  substrata_shrimp_power_on();
  command_all(SUBSTRATA_SHRIMP_MULTIPLEXER, SUBSTRATA_SHRIMP_SIZE(1) | SUBSTRATA_SHRIMP_SIZE(2) |
                                                SUBSTRATA_SHRIMP_SENDER | SUBSTRATA_SHRIMP_CATEGORY);
  CountedSet set("shrimp", {"PACKETS"});
  set.start();
  run_on_shrimp(one.workload, one.nodes, "");
  const long long packets = set.stop().front();
  std::vector<std::uint64_t> words(SUBSTRATA_SHRIMP_WORDS);
  if (substrata_shrimp_read_sum(0, SUBSTRATA_SHRIMP_WORDS, words.data()) != 0)
    throw std::runtime_error(substrata_shrimp_error());
  Histogram histogram(one.nodes, std::vector<std::uint64_t>(256));
  std::uint64_t counted = 0;
  for (std::uint32_t i = 0; i < SUBSTRATA_SHRIMP_WORDS; ++i) {
    counted += words[i];
    const std::uint32_t sender = i >> 8 & 0xff;
    if (words[i] != 0) histogram.at(sender)[i & 0xff] += words[i];
  }
  if (counted != static_cast<std::uint64_t>(packets))
    throw std::runtime_error("the histograms hold " + std::to_string(counted) + " packets of " +
                             std::to_string(packets));
  return histogram;
}

struct Shape {
  std::uint32_t peak_at = 0;     // chunk of sender 0's highest bin below 128 bytes
  std::uint64_t peak = 0;        // its height
  std::uint64_t next = 0;        // the highest of the other senders in the same bin
  bool ridge_everywhere = true;  // the highest bin of each other sender is chunk 14
  std::uint64_t ridge_least = 0;
  std::uint64_t ridge_most = 0;

  bool sharp() const { return static_cast<double>(peak) >= kSharp * static_cast<double>(next) && peak > 0; }
  bool level() const {
    return ridge_least > 0 &&
           static_cast<double>(ridge_most) <= kNearlyEqual * static_cast<double>(ridge_least);
  }
};

Shape shape_of(const Histogram& histogram) {
  Shape shape;
  const auto small = std::max_element(histogram[0].begin(), histogram[0].begin() + kSmallChunks);
  shape.peak_at = static_cast<std::uint32_t>(small - histogram[0].begin());
  shape.peak = *small;
  shape.ridge_least = histogram[0][kRidge];
  for (std::size_t sender = 0; sender < histogram.size(); ++sender) {
    const std::vector<std::uint64_t>& row = histogram[sender];
    if (sender != 0) {
      shape.next = std::max(shape.next, row[shape.peak_at]);
      shape.ridge_everywhere =
          shape.ridge_everywhere && std::max_element(row.begin(), row.end()) - row.begin() == kRidge;
    }
    shape.ridge_least = std::min(shape.ridge_least, row[kRidge]);
    shape.ridge_most = std::max(shape.ridge_most, row[kRidge]);
  }
  return shape;
}

void write_table(std::ostream& file, const Histogram& histogram) {
  file << "sender,chunk_of_16_bytes,packets\n";
  for (std::size_t sender = 0; sender < histogram.size(); ++sender) {
    for (std::size_t chunk = 0; chunk < kChunks; ++chunk)
      file << sender << ',' << chunk << ',' << histogram[sender][chunk] << '\n';
  }
}

// A heat map; the shade grows with the logarithm of the count.
void draw(std::ostream& file, const Histogram& histogram) {
  constexpr int kCell = 24;
  constexpr int kLeft = 60;
  constexpr int kTop = 40;
  std::uint64_t most = 1;
  for (const auto& row : histogram)
    most = std::max(most, *std::max_element(row.begin(), row.begin() + kChunks));
  const int width = kLeft + kCell * static_cast<int>(kChunks) + 20;
  const int height = kTop + kCell * static_cast<int>(histogram.size()) + 50;
  file << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << width << "\" height=\"" << height
       << "\" font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" "
          "fill=\"white\"/>\n"
       << "<text x=\"" << kLeft
       << "\" y=\"20\">packets by sender and size, modelled; most in one bin: " << most << "</text>\n";
  for (std::size_t sender = 0; sender < histogram.size(); ++sender) {
    const int y = kTop + kCell * static_cast<int>(sender);
    file << "<text x=\"" << kLeft - 8 << "\" y=\"" << y + 16 << "\" text-anchor=\"end\">" << sender
         << "</text>\n";
    for (std::size_t chunk = 0; chunk < kChunks; ++chunk) {
      const std::uint64_t count = histogram[sender][chunk];
      const double shade =
          count == 0 ? 0 : std::log1p(static_cast<double>(count)) / std::log1p(static_cast<double>(most));
      const int light = 255 - static_cast<int>(shade * 215);
      file << "<rect x=\"" << kLeft + kCell * static_cast<int>(chunk) << "\" y=\"" << y << "\" width=\""
           << kCell << "\" height=\"" << kCell << "\" fill=\"rgb(" << light << ',' << light
           << ",255)\" stroke=\"#ddd\"><title>" << count << "</title></rect>\n";
    }
  }
  const int below = kTop + kCell * static_cast<int>(histogram.size()) + 16;
  for (std::uint32_t chunk = 0; chunk < kChunks; ++chunk)
    file << "<text x=\"" << kLeft + kCell * static_cast<int>(chunk) + kCell / 2 << "\" y=\"" << below
         << "\" text-anchor=\"middle\">" << chunk << "</text>\n";
  file << "<text x=\"" << kLeft << "\" y=\"" << below + 20 << "\">size in chunks of 16 bytes</text>\n"
       << "<text x=\"14\" y=\"" << kTop + 60 << "\" transform=\"rotate(-90 14 " << kTop + 60
       << ")\" text-anchor=\"end\">sender</text>\n</svg>\n";
}

std::string range_text(const Shape& shape) {
  return std::to_string(shape.ridge_least) + " to " + std::to_string(shape.ridge_most) + " packets";
}

std::string peak_text(const Shape& shape) {
  return "bin " + std::to_string(shape.peak_at) + ": " + std::to_string(shape.peak) +
         " packets from sender 0, at most " + std::to_string(shape.next) + " from another";
}

std::vector<Claim> run_figure(const Setting& setting) {
  start_library();
  std::vector<Claim> claims;
  const Case figure{"fft:points=65536", 16};
  const Histogram histogram = measure(figure);
  const Shape shape = shape_of(histogram);
  claims.push_back(
      {"a sharp peak of small packets has sender 0",
       "sharp (no figure given; taken here as three times the bin of any other sender)", peak_text(shape),
       shape.sharp(),
       "FFT of 65536 points on 16 nodes; node 0 keeps locks, barriers and the directory of homes"});
  claims.push_back(
      {"a ridge of packets of roughly 224 bytes (bin 14) stretches over all senders",
       "bin 14 for each sender",
       shape.ridge_everywhere ? "bin 14 is the highest of every sender from 1 on, and sender 0 has " +
                                    std::to_string(histogram[0][kRidge]) + " packets in it"
                              : "another bin is higher at some sender",
       shape.ridge_everywhere && histogram[0][kRidge] > 0, "a page of 4096 bytes leaves in bursts of 224"});
  claims.push_back({"the ridge is nearly uniform over the senders",
                    "nearly uniform (taken here as within 25 %)",
                    range_text(shape),
                    shape.level(),
                    {}});
  for (const Case& other :
       {Case{"fft:points=65536", 8}, Case{"fft:points=65536", 32}, Case{"fft:points=16384", 16}}) {
    const Shape found = shape_of(measure(other));
    claims.push_back({std::string("the same shape with ") + other.workload + " on " +
                          std::to_string(other.nodes) + " nodes",
                      "not in the paper",
                      peak_text(found) + "; ridge " + range_text(found),
                      found.sharp() && found.ridge_everywhere && found.level(),
                      {}});
  }
  setting.write("shrimp-fig4.csv", [&](std::ostream& file) { write_table(file, histogram); });
  setting.write("shrimp-fig4.svg", [&](std::ostream& file) { draw(file, histogram); });
  return claims;
}

}  // namespace

extern const Reproduction shrimp_fig4{
    "shrimp-fig4", "Martonosi et al., figure 4: senders by packet sizes of an FFT", run_figure};

}  // namespace substrata::papers
