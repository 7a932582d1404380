// shrimp-fig4: senders by sizes of the packets of an FFT (Martonosi et al., section 4.1, figure 4).
#include <substrata/shrimp.h>
#include <substrata/feed.hpp>

#include <algorithm>
#include <array>
#include <ostream>
#include <stdexcept>

#include "papers/claims.hpp"
#include "papers/counted_set.hpp"
#include "papers/plot.hpp"
#include "papers/shrimp_runs.hpp"
#include "recording/sampler/measuring.hpp"

namespace substrata::papers {
using namespace sampler;
namespace {

constexpr std::uint32_t kChunks = 16;      // as far as the figure goes
constexpr std::uint32_t kRidge = 14;       // 224 to 239 bytes
constexpr std::uint32_t kSmallChunks = 8;  // below 128 bytes

// [sender][chunk], over all receivers.
using Histogram = std::vector<std::vector<std::uint64_t>>;

// The kinds of sender 0's packets by chunk, as an observer without a monitor sees them.
class Kinds {
 public:
  Kinds() {
    client::feed::demand(observer_.try_create<&Kinds::take>(*this));
    client::feed::demand(observer_.try_subscribe("shrimp.node*.receive"));
  }
  struct Parts {
    std::uint64_t all = 0, synchronising = 0, homes = 0, pages = 0;
  };
  Parts of(std::uint32_t chunk) const { return parts_[chunk]; }

 private:
  void take(const substrata_transaction* batch, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const substrata_transaction& t = batch[i];
      if (t.kind == SUBSTRATA_COMMAND || t.initiator != 0 || t.size / 16 >= kChunks) continue;
      Parts& parts = parts_[t.size / 16];
      ++parts.all;
      if ((t.flags & SUBSTRATA_FLAG_SYNCHRONISING) != 0) ++parts.synchronising;
      if (t.kind == SUBSTRATA_RESPONSE) ++parts.homes;
      if (t.kind == SUBSTRATA_PAGE_FETCH) ++parts.pages;
    }
  }
  std::array<Parts, kChunks> parts_{};
  client::feed::Observer observer_;
};

Histogram histogram_of(const std::string& workload, std::uint32_t nodes, const std::string& parameters,
                       std::uint64_t seed) {
  substrata_shrimp_power_on();
  command_all(SUBSTRATA_SHRIMP_MULTIPLEXER, SUBSTRATA_SHRIMP_SIZE(1) | SUBSTRATA_SHRIMP_SIZE(2) |
                                                SUBSTRATA_SHRIMP_SENDER | SUBSTRATA_SHRIMP_CATEGORY);
  CountedSet set("shrimp", {"PACKETS"});
  set.start();
  run_on_shrimp(workload, nodes, parameters, seed);
  const long long packets = set.stop().front();
  std::vector<std::uint64_t> words(SUBSTRATA_SHRIMP_WORDS);
  if (substrata_shrimp_read_sum(0, SUBSTRATA_SHRIMP_WORDS, words.data()) != 0)
    throw std::runtime_error(substrata_shrimp_error());
  Histogram histogram(nodes, std::vector<std::uint64_t>(256));
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
  std::uint32_t peak_at = 0;  // chunk of sender 0's highest bin below 128 bytes
  std::uint64_t peak = 0;     // its height
  std::uint64_t next = 0;     // the highest of the other senders in the same bin
  std::size_t ridges = 0;     // of the senders from 1 on, those whose highest bin is chunk 14
  std::uint64_t ridge_least = 0;
  std::uint64_t ridge_most = 0;
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
      if (std::max_element(row.begin(), row.end()) - row.begin() == kRidge) ++shape.ridges;
    }
    shape.ridge_least = std::min(shape.ridge_least, row[kRidge]);
    shape.ridge_most = std::max(shape.ridge_most, row[kRidge]);
  }
  return shape;
}

double quotient(std::uint64_t by, std::uint64_t of) {
  return static_cast<double>(by) / static_cast<double>(std::max<std::uint64_t>(of, 1));
}

// A setting of the machine, or another program in place of the FFT.
constexpr char kUnbalanced[] = "lu in place of fft";

Readings measure(const Case& one) {
  start_library();
  const bool unbalanced = one.setting == kUnbalanced;
  const Kinds kinds;
  const Histogram histogram =
      histogram_of(unbalanced ? "lu" : "fft:points=" + std::to_string(one.size.amount), one.size.nodes,
                   unbalanced ? "" : one.setting, one.seed);
  const Shape shape = shape_of(histogram);
  const Kinds::Parts parts = kinds.of(shape.peak_at);
  return {{"peak",
           {quotient(shape.peak, shape.next),
            "bin " + std::to_string(shape.peak_at) + ": " + std::to_string(shape.peak) +
                " packets from sender 0, at most " + std::to_string(shape.next) + " from another"}},
          {"synchronisation",
           {quotient(parts.synchronising, parts.all),
            "of " + std::to_string(parts.all) + " packets of sender 0 in bin " +
                std::to_string(shape.peak_at) + " " + std::to_string(parts.synchronising) +
                " belong to locks and barriers, " + std::to_string(parts.homes) + " ask for or name homes, " +
                std::to_string(parts.pages) + " ask for pages"}},
          {"ridge",
           {quotient(shape.ridges, histogram.size() - 1),
            "sender 0 has " + std::to_string(histogram[0][kRidge]) + " packets in bin 14"}},
          {"level",
           {shape.ridge_least == 0 ? 1e9 : quotient(shape.ridge_most, shape.ridge_least),
            std::to_string(shape.ridge_least) + " to " + std::to_string(shape.ridge_most) + " packets"}}};
}

void write_table(std::ostream& file, const Histogram& histogram) {
  file << "sender,chunk_of_16_bytes,packets\n";
  for (std::size_t sender = 0; sender < histogram.size(); ++sender) {
    for (std::size_t chunk = 0; chunk < kChunks; ++chunk)
      file << sender << ',' << chunk << ',' << histogram[sender][chunk] << '\n';
  }
}

// Of senders alone and of sizes alone: section 4.1 says what each would show and hide.
void write_marginals(std::ostream& file, const Histogram& histogram) {
  file << "axis,at,packets\n";
  std::vector<std::uint64_t> by_size(kChunks);
  for (std::size_t sender = 0; sender < histogram.size(); ++sender) {
    std::uint64_t sum = 0;
    for (std::size_t chunk = 0; chunk < kChunks; ++chunk) {
      sum += histogram[sender][chunk];
      by_size[chunk] += histogram[sender][chunk];
    }
    file << "sender," << sender << ',' << sum << '\n';
  }
  for (std::size_t chunk = 0; chunk < kChunks; ++chunk)
    file << "size," << chunk << ',' << by_size[chunk] << '\n';
}

std::vector<Panel> marginals(const Histogram& histogram) {
  Series by_sender{.name = {}, .points = {}, .style = Series::Style::kBars};
  Series by_size = by_sender;
  for (std::size_t chunk = 0; chunk < kChunks; ++chunk) by_size.points.emplace_back(chunk, 0);
  for (std::size_t sender = 0; sender < histogram.size(); ++sender) {
    double sum = 0;
    for (std::size_t chunk = 0; chunk < kChunks; ++chunk) {
      sum += static_cast<double>(histogram[sender][chunk]);
      by_size.points[chunk].second += static_cast<double>(histogram[sender][chunk]);
    }
    by_sender.points.emplace_back(sender, sum);
  }
  const Axis packets{.label = "packets", .least = 0};
  std::vector<Panel> panels;
  panels.push_back(panel("all sizes together",
                         {"sender", false, -0.6, static_cast<double>(histogram.size()) - 0.4}, packets,
                         {by_sender}, {"Section 4.1: a small peak for processor 0, then roughly even."}));
  panels.push_back(panel("all senders together",
                         {"packet size (chunks of 16 bytes)", false, -0.6, kChunks - 0.4}, packets, {by_size},
                         {"Section 4.1: peaks at small and large sizes, whose senders cannot be known."}));
  return panels;
}

void figures(const Setting& setting) {
  start_library();
  const unsigned points = setting.paper_size ? 65536 : 4096;
  const Histogram histogram = histogram_of("fft:points=" + std::to_string(points), 16, "", 1);
  const std::string title =
      "Senders by packet sizes: FFT, " + std::to_string(points) + " points, 16 processors (modelled)";
  const Axis senders{"sender"}, sizes{"packet size (chunks of 16 bytes)"};
  Field field{.x = senders, .y = sizes, .count = "packets", .at = {}};
  for (const std::vector<std::uint64_t>& row : histogram)
    field.at.emplace_back(row.begin(), row.begin() + kChunks);
  // As in the paper senders go along the left of the plot, sizes along its right.
  Field turned{.x = sizes, .y = senders, .count = field.count, .at = {}};
  turned.at.resize(kChunks);
  for (const std::vector<std::uint64_t>& row : field.at)
    for (std::uint32_t chunk = 0; chunk < kChunks; ++chunk) turned.at[chunk].push_back(row[chunk]);
  setting.write("shrimp-fig4.csv", [&](std::ostream& file) { write_table(file, histogram); });
  setting.write("shrimp-fig4.svg", [&](std::ostream& file) { write_blocks(file, title, turned); });
  setting.write("shrimp-fig4-map.svg", [&](std::ostream& file) { write_map(file, title, field); });
  setting.write("shrimp-fig4-marginals.csv", [&](std::ostream& file) { write_marginals(file, histogram); });
  setting.write("shrimp-fig4-marginals.svg",
                [&](std::ostream& file) { write_panels(file, title, marginals(histogram), 2); });
}

}  // namespace

extern const Reproduction shrimp_fig4 =
    stated("shrimp-fig4", "Martonosi et al., figure 4: senders by packet sizes of an FFT", measure, figures);

}  // namespace substrata::papers
