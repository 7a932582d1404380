// Runs on the machine shrimp, and commands to its monitors.
#include "papers/shrimp_runs.hpp"

#include <substrata/shrimp.h>

#include <stdexcept>

#include "tools/model_runs/workload_run.hpp"

namespace substrata::papers {
using namespace model_runs;

double run_on_shrimp(const std::string& workload, std::uint32_t nodes, const std::string& parameters,
                     std::uint64_t seed) {
  return model_runs::seconds_of(model_runs::run_workload("shrimp", workload, nodes, parameters, seed));
}

void command_all(std::uint32_t reg, std::uint64_t value) {
  if (substrata_shrimp_command(0, SUBSTRATA_SHRIMP_EVERY_NODE, reg, value) != 0)
    throw std::runtime_error(substrata_shrimp_error());
}

}  // namespace substrata::papers
