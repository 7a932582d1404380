// Runs of the modelled cluster, averages, and files for figures.
#include "papers/myrinet_runs.hpp"

#include <cstdio>
#include <ostream>
#include <stdexcept>

#include "papers/plot.hpp"
#include "tools/model_runs/workload_run.hpp"

namespace substrata::papers {
using namespace model_runs;

double myrinet_recorded(const std::string& workload, unsigned nodes, const std::string& parameters,
                        std::uint64_t seed) {
  model_runs::myrinet_begin(1);
  const double seconds = model_runs::myrinet_run(workload, nodes, parameters, seed);
  model_runs::myrinet_end();
  return seconds;
}

void write_signature(const Setting& setting, const std::string& name, const std::string& title,
                     const model_runs::Signature& signature, const std::vector<std::string>& paper) {
  setting.write(name + ".dat", [&](std::ostream& data) {
    data << "# modelled; x x_end sent received source_us lanai_us net_us dest_us\n";
    for (const substrata_myrinet_point& point : signature) {
      data << point.x << ' ' << point.x_end << ' ' << point.sent << ' ' << point.received;
      for (const double ns : point.average_ns) data << ' ' << ns / 1000;
      data << '\n';
    }
  });
  Series sent{.name = {}, .points = {}, .style = Series::Style::kImpulses};
  std::vector<Series> latencies{
      {"SourceLatency", {}}, {"LANaiLatency", {}}, {"NetLatency", {}}, {"DestLatency", {}}};
  for (const substrata_myrinet_point& point : signature) {
    // The middle of the bin.
    const double bytes = (point.x + point.x_end) / 2.0;
    sent.points.emplace_back(bytes, static_cast<double>(point.sent));
    for (std::size_t i = 0; i < latencies.size(); ++i)
      latencies[i].points.emplace_back(bytes, point.average_ns[i] / 1000);
  }
  setting.write(name + ".svg", [&](std::ostream& file) {
    // Packets that wait for a matrix to be spread would leave the others flat.
    constexpr double kMillisecond = 1000;
    bool long_waits = false;
    for (const Series& latency : latencies)
      for (const auto& [size, us] : latency.points) long_waits = long_waits || us > kMillisecond;
    const Axis bytes{"packet size (bytes)", false, 0, 4096};
    std::vector<Panel> panels;
    panels.push_back(panel("frequency", bytes, {"packets", true}, {sent}));
    panels.push_back(
        panel("average latencies", bytes, {"us", long_waits, long_waits ? 1 : 0}, latencies, paper));
    write_panels(file, title + " (modelled)", panels, 2);
  });
}

std::string microseconds(double value) {
  char text[48];
  std::snprintf(text, sizeof text, "%.2f us", value);
  return text;
}

std::string percent(double share) {
  char text[48];
  std::snprintf(text, sizeof text, "%.2f %%", share * 100);
  return text;
}

}  // namespace substrata::papers
