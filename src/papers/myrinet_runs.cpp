// Runs of the modelled cluster, averages, and files for figures.
#include "papers/myrinet_runs.hpp"

#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "model_runs/workload_run.hpp"

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
                     const model_runs::Signature& signature) {
  if (setting.out.empty()) return;
  const std::string base = setting.out + "/" + name;
  std::ofstream data(base + ".dat");
  data << "# modelled; x x_end sent received source_us lanai_us net_us dest_us\n";
  for (const substrata_myrinet_point& point : signature) {
    data << point.x << ' ' << point.x_end << ' ' << point.sent << ' ' << point.received;
    for (const double ns : point.average_ns) data << ' ' << ns / 1000;
    data << '\n';
  }
  std::ofstream plot(base + ".gp");
  plot << "# gnuplot " << name << ".gp draws " << name << ".png\n"
       << "set terminal pngcairo size 1200,500\nset output '" << name << ".png'\n"
       << "set multiplot layout 1,2 title '" << title << " (modelled)'\n"
       << "set xlabel 'packet size (bytes)'\nset ylabel 'packets'\nset logscale y\n"
       << "plot '" << name << ".dat' using 1:3 with impulses lw 2 title 'sent'\n"
       << "unset logscale y\nset ylabel 'average latency (us)'\nset key left top\n"
       << "plot '" << name
       << ".dat' using 1:5 with linespoints title 'Source', '' using 1:6 with linespoints "
       << "title 'LANai', '' using 1:7 with linespoints title 'Net', '' using 1:8 with linespoints title "
       << "'Dest'\nunset multiplot\n";
  if (!data || !plot) throw std::runtime_error("the signature cannot be written to " + base + ".dat");
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
