// The list of workloads for the Owl paper's claims.
#include "papers/owl_workloads.hpp"

#include <substrata/feed.h>
#include <substrata/result.hpp>

#include <cstdio>
#include <stdexcept>

#include "terminal/progress.hpp"

namespace substrata::papers {
using namespace tool;

const std::vector<OwlWorkload>& owl_workloads() {
  static const std::vector<OwlWorkload> list{
      {"fft", "fft:points=16384", true},
      {"radix", "radix:keys=65536", true},
      {"lu", "lu", true},
      {"ocean", "ocean", true},
      {"water-spatial", "water-spatial", true},
      {"stream", "stream:elements=262144:rounds=1", false},
      {"hot-spot", "hot-spot:reads=100000", false},
      {"pointer-chase", "pointer-chase", false},
      {"conflict", "conflict:rounds=20000", false},
      {"migratory", "migratory", false},
      {"producer-consumer", "producer-consumer", false},
      {"true-sharing", "true-sharing", false},
  };
  return list;
}

void run_owl_workload(const OwlWorkload& workload, const std::string& machine_parameters) {
  show_progress(std::string(workload.spec) + " on memory");
  auto options = client::sized<substrata_run_options>();
  options.processes = 1;
  options.seed = 1;
  options.parameters = machine_parameters.c_str();
  auto result = client::sized<substrata_run_result>();
  if (substrata_run("memory", workload.spec, &options, &result) != 0 || result.correct == 0) {
    throw std::runtime_error(result.message[0] != '\0' ? result.message : substrata_feed_error());
  }
}

std::string owl_decimal(double number, int digits) {
  char line[64];
  std::snprintf(line, sizeof line, "%.*f", digits, number);
  return line;
}

}  // namespace substrata::papers
