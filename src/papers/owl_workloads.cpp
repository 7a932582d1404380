// Runs workloads for the reproductions of the Owl paper.
#include "papers/owl_workloads.hpp"

#include <substrata/feed.h>
#include <substrata/result.hpp>

#include <stdexcept>

#include "tools/terminal/progress.hpp"

namespace substrata::papers {
using namespace tool;

void run_owl_workload(const std::string& workload, const std::string& machine_parameters,
                      std::uint64_t seed) {
  show_progress(workload + " on memory");
  auto options = client::sized<substrata_run_options>();
  options.processes = 1;
  options.seed = seed;
  options.parameters = machine_parameters.c_str();
  auto result = client::sized<substrata_run_result>();
  if (substrata_run("memory", workload.c_str(), &options, &result) != 0 || result.correct == 0) {
    throw std::runtime_error(result.message[0] != '\0' ? result.message : substrata_feed_error());
  }
}

}  // namespace substrata::papers
