// myrinet-baseline: latencies of a packet that meets no other (Liao, Martonosi, Clark, figure 5).
#include <algorithm>
#include <fstream>

#include "papers/myrinet_runs.hpp"

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

std::vector<Claim> run(const Setting& setting) {
  constexpr double kUs = 1000;
  double source = 0;
  double dest = 0;
  double least_net = 1e9;
  double most_net = 0;
  std::ofstream data;
  if (!setting.out.empty()) data.open(setting.out + "/myrinet-baseline.dat");
  if (data) data << "# modelled; bytes source_us lanai_us net_us dest_us\n";
  for (const unsigned bytes : {4u, 8u, 16u, 32u, 64u, 96u, 124u, 256u, 512u, 1024u, 2048u, 4096u}) {
    // One message there and one back: the first finds everything idle.
    myrinet_recorded("ping-pong:bytes=" + std::to_string(bytes) + ":rounds=1", 2);
    const substrata_myrinet_point first = messages(0);
    const substrata_myrinet_point second = messages(1);
    const substrata_myrinet_point both = messages(SUBSTRATA_MYRINET_ALL);
    // Of both ways, so that the error of the two clocks cancels.
    const double net =
        (both.average_ns[SUBSTRATA_MYRINET_NET] - both.average_ns[SUBSTRATA_MYRINET_LANAI]) / kUs;
    least_net = std::min(least_net, net);
    most_net = std::max(most_net, net);
    if (bytes < 128) {
      source = std::max(source, first.average_ns[SUBSTRATA_MYRINET_SOURCE] / kUs);
      dest = std::max(dest, second.average_ns[SUBSTRATA_MYRINET_DEST] / kUs);
    }
    if (data)
      data << bytes << ' ' << first.average_ns[SUBSTRATA_MYRINET_SOURCE] / kUs << ' '
           << first.average_ns[SUBSTRATA_MYRINET_LANAI] / kUs << ' '
           << both.average_ns[SUBSTRATA_MYRINET_NET] / kUs << ' '
           << second.average_ns[SUBSTRATA_MYRINET_DEST] / kUs << '\n';
  }
  const std::string fitted =
      "the costs of the DMA engine and of the network are fitted to this figure; what it shows is that the "
      "monitor measures what the model was given";
  return {{"SourceLatency below 128 bytes, nothing else under way", "below 11 us (figure 5, section 4.2)",
           "at most " + microseconds(source), source < 11, fitted, Claim::Kind::kFitted},
          {"DestLatency below 128 bytes", "below 5 us (figure 5, section 4.2)",
           "at most " + microseconds(dest), dest < 5, fitted, Claim::Kind::kFitted},
          {"NetLatency less LANaiLatency, 4 to 4096 bytes", "3 to 4 us (section 4.2)",
           microseconds(least_net) + " to " + microseconds(most_net), least_net >= 3 && most_net <= 4, fitted,
           Claim::Kind::kFitted}};
}

}  // namespace

extern const Reproduction myrinet_baseline{"myrinet-baseline",
                                           "Myrinet monitor, figure 5: baseline latencies", run};

}  // namespace substrata::papers
