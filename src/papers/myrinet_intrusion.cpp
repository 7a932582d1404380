// myrinet-intrusion: what the monitor costs (Liao, Martonosi, Clark, section 3, figures 7, 9 and 10).
#include <algorithm>
#include <fstream>

#include "papers/myrinet_runs.hpp"

namespace substrata::papers {
using namespace model_runs;
namespace {

std::vector<Claim> run(const Setting& setting) {
  std::ofstream data;
  if (!setting.out.empty()) data.open(setting.out + "/myrinet-intrusion.dat");
  if (data)
    data << "# modelled; bytes, then seconds of a stream without monitor, with it, with its sending, "
            "receiving, "
            "clock part alone\n";
  constexpr unsigned kMessages = 2000;
  double worst_short = 0;
  double worst_long = 0;
  double least_short = 1;
  double host = 0;
  double parts = 0;  // the most a part alone costs beyond the whole
  for (const unsigned bytes : {4u, 8u, 16u, 32u, 64u, 128u, 256u, 512u, 1024u, 2048u, 4096u, 65536u}) {
    const std::string stream = "ping-pong:mode=stream:bytes=" + std::to_string(bytes) +
                               ":rounds=" + std::to_string(bytes > 4096 ? kMessages / 10 : kMessages);
    const double without = model_runs::myrinet_run(stream, 2, "monitor=none");
    const double with = model_runs::myrinet_run(stream, 2, "monitor=full");
    const double loss = 1 - without / with;
    if (bytes <= 128) {
      worst_short = std::max(worst_short, loss);
      least_short = std::min(least_short, loss);
      host = std::max(host, (with - without) / kMessages * 1e6);
    } else {
      worst_long = std::max(worst_long, loss);
    }
    if (data) data << bytes << ' ' << without << ' ' << with;
    for (const char* part : {"sending", "receiving", "clock"}) {
      const double alone = model_runs::myrinet_run(stream, 2, std::string("monitor=") + part);
      parts = std::max(parts, alone / with - 1);
      if (data) data << ' ' << alone;
    }
    if (data) data << '\n';
  }
  double least_way = 1e9;
  double most_way = 0;
  for (const unsigned bytes : {4u, 64u, 128u, 512u, 1024u, 4096u}) {
    constexpr unsigned kRounds = 1000;
    const std::string there_and_back =
        "ping-pong:bytes=" + std::to_string(bytes) + ":rounds=" + std::to_string(kRounds);
    const double more = (model_runs::myrinet_run(there_and_back, 2, "monitor=full") -
                         model_runs::myrinet_run(there_and_back, 2, "monitor=none")) /
                        (2 * kRounds) * 1e6;
    least_way = std::min(least_way, more);
    most_way = std::max(most_way, more);
  }
  double slowdown = 0;
  std::string each;
  for (const char* program : {"fft:points=262144", "radix:keys=2097152", "gauss:n=1024:pivoting=1"}) {
    const double cost = model_runs::myrinet_run(program, 8, "monitor=full") /
                            model_runs::myrinet_run(program, 8, "monitor=none") -
                        1;
    slowdown = std::max(slowdown, cost);
    each += (each.empty() ? "" : ", ") + std::string(program) + " " + percent(cost);
  }
  const std::string fitted = "the monitor's costs in the model are fitted to this figure";
  return {{"slowdown of applications", "less than 3 % (section 3.1)", each, slowdown < 0.03,
           "predicted: nothing is fitted to applications. Another timing is another order of locks and "
           "requests, so a "
           "program may also end earlier"},
          {"loss of bandwidth up to 128 bytes, one way", "within 10 to 15 % (figure 7)",
           percent(least_short) + " to " + percent(worst_short), worst_short <= 0.15, fitted,
           Claim::Kind::kFitted},
          {"loss of bandwidth above 128 bytes, one way", "within 4 % (figure 7)",
           "at most " + percent(worst_long), worst_long <= 0.04,
           fitted + "; measured at powers of two from 256 bytes on", Claim::Kind::kFitted},
          {"one-way latency (half a round trip)", "about 5 us more, the same for all sizes (figure 9)",
           microseconds(least_way) + " to " + microseconds(most_way) + " more",
           least_way >= 4 && most_way <= 6 && most_way - least_way < 1, fitted, Claim::Kind::kFitted},
          {"host overhead of a send, from the one-way stream", "less than 1.5 us more (figure 10)",
           "at most " + microseconds(host) + " more", host < 1.5, fitted, Claim::Kind::kFitted},
          {"no part alone costs more than the whole",
           "curves of figures 7 to 10",
           parts <= 0.001 ? "none does" : percent(parts) + " more",
           parts <= 0.001,
           {}}};
}

}  // namespace

extern const Reproduction myrinet_intrusion{"myrinet-intrusion",
                                            "Myrinet monitor, section 3: what the monitor costs", run};

}  // namespace substrata::papers
