// myrinet-intrusion: what the monitor costs (Liao, Martonosi, Clark, section 3, figures 7, 9 and 10).
#include <algorithm>
#include <cmath>
#include <functional>
#include <ostream>

#include "papers/claims.hpp"
#include "papers/myrinet_runs.hpp"
#include "papers/plot.hpp"

namespace substrata::papers {
using namespace model_runs;
namespace {

// Of bytes; above 128 also what lies between the powers of two.
constexpr unsigned kShortSizes[] = {4, 8, 16, 32, 64, 128};
constexpr unsigned kLongSizes[] = {130, 160, 192, 240, 256, 384, 512, 1024, 2048, 4096};

std::string stream_of(unsigned bytes, std::uint64_t messages) {
  return "ping-pong:mode=stream:bytes=" + std::to_string(bytes) + ":rounds=" + std::to_string(messages);
}

// Both nodes send at once.
std::string two_way_of(unsigned bytes, std::uint64_t messages) {
  return "ping-pong:mode=both:bytes=" + std::to_string(bytes) + ":rounds=" + std::to_string(messages);
}

// A size's amount is the points of FFT; streams have a 64th as many messages.
std::uint64_t messages_of(const Case& one) { return std::max<std::uint64_t>(one.size.amount / 64, 200); }

// One message under way at a time, there and back.
std::string alternating_of(unsigned bytes, std::uint64_t messages) {
  return "ping-pong:bytes=" + std::to_string(bytes) + ":rounds=" + std::to_string(messages / 2);
}

struct Times {
  double without, with;
};
Times times_of(const std::string& workload, unsigned nodes, const Case& one) {
  const std::string with = one.setting.empty() ? "monitor=full" : "monitor=full:" + one.setting;
  return {myrinet_run(workload, nodes, "monitor=none", one.seed),
          myrinet_run(workload, nodes, with, one.seed)};
}

struct Worst {
  double loss = 0;  // of bandwidth
  unsigned bytes = 0;
  double host_us = 0;  // a message takes so much longer
};
template <std::size_t N>
Worst worst_of(std::string (*workload)(unsigned, std::uint64_t), const unsigned (&sizes)[N],
               const Case& one) {
  Worst worst;
  for (const unsigned bytes : sizes) {
    const Times times = times_of(workload(bytes, messages_of(one)), 2, one);
    const double loss = 1 - times.without / times.with;
    if (loss > worst.loss) worst = {loss, bytes, worst.host_us};
    worst.host_us =
        std::max(worst.host_us, (times.with - times.without) / static_cast<double>(messages_of(one)) * 1e6);
  }
  return worst;
}

// The one-way latency that differs most from the paper's 5 us.
double way_of(const Case& one) {
  constexpr double kPaper = 5;
  double found = kPaper;
  for (const unsigned bytes : {4u, 64u, 128u, 512u, 1024u, 4096u}) {
    const std::uint64_t messages = messages_of(one);
    const Times times = times_of(alternating_of(bytes, messages), 2, one);
    const double more = (times.with - times.without) / static_cast<double>(messages - messages % 2) * 1e6;
    if (std::abs(more - kPaper) >= std::abs(found - kPaper)) found = more;
  }
  return found;
}

Readings measure(const Case& one) {
  Readings found;
  const auto slower = [&](const char* claim, const std::string& workload) {
    if (!one.wants(claim)) return;
    const Times times = times_of(workload, one.size.nodes, one);
    found[claim] = {times.with / times.without - 1};
  };
  slower("fft", "fft:points=" + std::to_string(one.size.amount));
  slower("radix", "radix:keys=" + std::to_string(8 * one.size.amount));
  slower("gauss", "gauss:n=" + std::to_string(static_cast<unsigned>(2 * std::sqrt(one.size.amount))));
  if (one.wants("short") || one.wants("host")) {
    const Worst worst = worst_of(stream_of, kShortSizes, one);
    found["short"] = {worst.loss, "at " + std::to_string(worst.bytes) + " bytes"};
    found["host"] = {worst.host_us};
  }
  const auto loses = [&](const char* claim, std::string (*workload)(unsigned, std::uint64_t),
                         const auto& sizes) {
    if (!one.wants(claim)) return;
    const Worst worst = worst_of(workload, sizes, one);
    found[claim] = {worst.loss, "at " + std::to_string(worst.bytes) + " bytes"};
  };
  loses("long", stream_of, kLongSizes);
  slower("sockets", "pipeline:bytes=" + std::to_string(16 * one.size.amount));
  loses("both", two_way_of, kShortSizes);
  loses("alternating-short", alternating_of, kShortSizes);
  loses("alternating-long", alternating_of, kLongSizes);
  if (one.wants("way")) found["way"] = {way_of(one)};
  return found;
}

// One figure: a value for each size and each part of the monitor.
struct Curves {
  const char* name;
  const char* title;
  Axis y;
  std::vector<unsigned> sizes;
  std::function<double(unsigned bytes, const std::string& parameters)> value;
  std::vector<std::string> paper;
  Axis apart;  // of what the monitor changes, which the curves themselves are too near to each other to show
  bool share = false;  // in per cent of the first curve that is lost, else what is added
};

std::vector<Series> apart_from_first(std::vector<Series> lines, bool share) {
  const Series first = lines.front();
  for (Series& line : lines) {
    for (std::size_t i = 0; i < line.points.size(); ++i) {
      const double without = first.points[i].second;
      double& value = line.points[i].second;
      value = share ? 100 * (1 - value / without) : value - without;
    }
  }
  return lines;
}

void draw(const Setting& setting, const Curves& curves) {
  constexpr std::pair<const char*, const char*> kParts[] = {{"none", "No performance monitor"},
                                                            {"full", "Performance monitor"},
                                                            {"sending", "(sending)"},
                                                            {"receiving", "(receiving)"},
                                                            {"clock", "(synchronized clock)"}};
  std::vector<Series> lines;
  for (const auto& [part, name] : kParts) {
    Series& line = lines.emplace_back(Series{name, {}});
    for (const unsigned bytes : curves.sizes)
      line.points.emplace_back(bytes, curves.value(bytes, std::string("monitor=") + part));
  }
  setting.write(std::string(curves.name) + ".dat", [&](std::ostream& file) {
    file << "# modelled; bytes, then " << curves.y.label
         << " without monitor, with it, with its sending, receiving, clock part alone\n";
    for (std::size_t i = 0; i < curves.sizes.size(); ++i) {
      file << curves.sizes[i];
      for (const Series& line : lines) file << ' ' << line.points[i].second;
      file << '\n';
    }
  });
  setting.write(std::string(curves.name) + ".svg", [&](std::ostream& file) {
    const Axis sizes{"message size (bytes)", true, 1};
    std::vector<Panel> panels;
    panels.push_back(panel("", sizes, curves.y, lines));
    panels.push_back(
        panel("by the monitor", sizes, curves.apart, apart_from_first(lines, curves.share), curves.paper));
    write_panels(file, std::string(curves.title) + " (modelled)", panels, 2);
  });
}

void figures(const Setting& setting) {
  constexpr double kMega = 1e6;
  const std::uint64_t messages = setting.paper_size ? 2000 : 300;
  const auto many = [messages](unsigned bytes) {
    return std::max<std::uint64_t>(20, messages * 4096 / std::max(bytes, 4096u));
  };
  const auto stream = [&](unsigned bytes, const std::string& parameters) {
    return myrinet_run(stream_of(bytes, many(bytes)), 2, parameters) / static_cast<double>(many(bytes));
  };
  // A message's way there or back, of a ping-pong.
  const auto way = [&](unsigned bytes, const std::string& parameters) {
    const std::uint64_t rounds = many(bytes) / 2;
    return myrinet_run("ping-pong:bytes=" + std::to_string(bytes) + ":rounds=" + std::to_string(rounds), 2,
                       parameters) /
           static_cast<double>(2 * rounds);
  };
  const std::vector<unsigned> all = {4,   8,   16,  32,   64,   128,  130,   160,   192,     224,    256,
                                     320, 384, 512, 1024, 2048, 4096, 16384, 65536, 1048576, 4194304};
  const std::vector<unsigned> packets = {4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 1024, 2048, 4096};
  const Axis bandwidth{"MB/s", false, 0};
  const Axis us{"us", false, 0};
  const Axis lost{"% of the bandwidth lost"};
  const Axis added{"us added"};
  draw(setting, {"myrinet-fig7",
                 "Figure 7: bandwidth one way, with parts of the monitor",
                 bandwidth,
                 all,
                 [&](unsigned bytes, const std::string& with) { return bytes / stream(bytes, with) / kMega; },
                 {"Section 3.3: within 4 % above 128 bytes, within 10 to 15 % below."},
                 lost,
                 true});
  draw(setting, {"myrinet-fig8",
                 "Figure 8: bandwidth of a ping-pong, with parts of the monitor",
                 bandwidth,
                 all,
                 [&](unsigned bytes, const std::string& with) { return bytes / way(bytes, with) / kMega; },
                 {"Section 3.3: as accurate as one way."},
                 lost,
                 true});
  draw(setting, {"myrinet-fig9",
                 "Figure 9: one-way latency between hosts, half a round trip",
                 us,
                 packets,
                 [&](unsigned bytes, const std::string& with) { return way(bytes, with) * kMega; },
                 {"Section 3.3: the monitor adds about 5 us at every size."},
                 added});
  draw(setting, {"myrinet-fig10",
                 "Figure 10: the host's overhead of a send",
                 us,
                 packets,
                 [&](unsigned bytes, const std::string& with) { return stream(bytes, with) * kMega; },
                 {"Section 3.3: the monitor adds less than 1.5 us."},
                 added});
}

}  // namespace

extern const Reproduction myrinet_intrusion =
    stated("myrinet-intrusion", "Myrinet monitor, section 3: what the monitor costs", measure, figures);

}  // namespace substrata::papers
