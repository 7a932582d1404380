// myrinet-baseline: latencies of a packet that meets no other (Liao, Martonosi, Clark, figure 5).
#include <algorithm>
#include <ostream>

#include "papers/claims.hpp"
#include "papers/myrinet_packets.hpp"
#include "papers/myrinet_runs.hpp"
#include "papers/plot.hpp"

namespace substrata::papers {
using namespace model_runs;
namespace {

// The message's type alone, without the barrier at the end of the run.
substrata_myrinet_point messages(unsigned node) {
  for (const substrata_myrinet_point& point :
       model_runs::myrinet_signature(SUBSTRATA_MYRINET_BY_TYPE, SUBSTRATA_MYRINET_ALL, node))
    if (point.x == SUBSTRATA_MYRINET_MESSAGE) return point;
  return {};
}

constexpr unsigned kSizes[] = {4, 8, 16, 32, 64, 96, 124, 256, 512, 1024, 2048, 4096};
// For the figure.
constexpr unsigned kDrawnSizes[] = {4,   8,   16,  24,  32,  48,   64,   96,   128,  160, 192,
                                    256, 320, 384, 512, 768, 1024, 1536, 2048, 3072, 4096};
constexpr double kUs = 1000;
// How many messages go to and fro; only the first of each direction finds everything idle.
std::string rounds_of(const Case& one) { return one.setting.empty() ? "rounds=1" : one.setting; }
constexpr char kFft[] = "fft in place of ping-pong";

struct Baseline {
  double source, lanai, net, dest;
};
// The first message of a ping-pong finds everything idle.
Baseline of_bytes(unsigned bytes, const Case& one) {
  myrinet_recorded("ping-pong:bytes=" + std::to_string(bytes) + ":" + rounds_of(one), one.size.nodes, "",
                   one.seed);
  const substrata_myrinet_point first = messages(0);
  const substrata_myrinet_point second = messages(1);
  const substrata_myrinet_point both = messages(SUBSTRATA_MYRINET_ALL);
  return {first.average_ns[SUBSTRATA_MYRINET_SOURCE] / kUs, first.average_ns[SUBSTRATA_MYRINET_LANAI] / kUs,
          both.average_ns[SUBSTRATA_MYRINET_NET] / kUs, second.average_ns[SUBSTRATA_MYRINET_DEST] / kUs};
}

Readings measure(const Case& one) {
  if (one.setting == kFft) {
    PacketLatencies seen;
    myrinet_run("fft:points=16384", 8, "", one.seed);
    return {{"source", {seen.average(SUBSTRATA_MYRINET_SOURCE, {0, 127})}},
            {"dest", {seen.average(SUBSTRATA_MYRINET_DEST, {0, 127})}},
            {"net-least", {seen.net_only({0, 4096})}},
            {"net-most", {seen.net_only({0, 4096})}}};
  }
  double source = 0, dest = 0, least = 1e9, most = 0;
  for (const unsigned bytes : kSizes) {
    const Baseline found = of_bytes(bytes, one);
    // Of both ways, so that the error of the two clocks cancels.
    const double net = found.net - found.lanai;
    least = std::min(least, net);
    most = std::max(most, net);
    if (bytes >= 128) continue;
    source = std::max(source, found.source);
    dest = std::max(dest, found.dest);
  }
  return {{"source", {source}}, {"dest", {dest}}, {"net-least", {least}}, {"net-most", {most}}};
}

void figures(const Setting& setting) {
  std::vector<Series> lines{
      {"SourceLatency", {}}, {"LANaiLatency", {}}, {"NetLatency", {}}, {"DestLatency", {}}};
  setting.write("myrinet-baseline.dat", [&](std::ostream& file) {
    file << "# modelled; bytes source_us lanai_us net_us dest_us\n";
    for (const unsigned bytes : kDrawnSizes) {
      const Baseline found = of_bytes(bytes, {{"", 1, 2}, 1, "", {}});
      const double values[] = {found.source, found.lanai, found.net, found.dest};
      file << bytes;
      for (std::size_t i = 0; i < lines.size(); ++i) {
        file << ' ' << values[i];
        lines[i].points.emplace_back(bytes, values[i]);
      }
      file << '\n';
    }
  });
  const auto below = [](const char* name, double us) {
    return Series{name, {{4, us}, {128, us}}, Series::Style::kPaper};
  };
  lines.push_back(below("the paper below 128 bytes: source below 11 us, dest below 5 us", 11));
  lines.push_back(below("", 5));
  setting.write("myrinet-baseline.svg", [&](std::ostream& file) {
    std::vector<Panel> panels;
    panels.push_back(panel("", {"packet size (bytes)", true, 1}, {"us", false, 0}, lines,
                           {"Section 4.2: NetLatency less LANaiLatency is 3 to 4 us."}));
    write_panels(file, "Figure 5: baseline latencies of a packet that meets no other (modelled)", panels, 1);
  });
}

}  // namespace

extern const Reproduction myrinet_baseline =
    stated("myrinet-baseline", "Myrinet monitor, figure 5: baseline latencies", measure, figures);

}  // namespace substrata::papers
