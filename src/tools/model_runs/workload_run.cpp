// Runs of a workload whose result must be right.
#include "tools/model_runs/workload_run.hpp"

#include <substrata/result.hpp>

#include <stdexcept>

#include "tools/terminal/progress.hpp"

namespace substrata::model_runs {

substrata_run_result run_workload(const char* machine, const std::string& workload, std::uint32_t processes,
                                  const std::string& parameters, std::uint64_t seed) {
  tool::show_progress(workload + " on " + machine + ", " + std::to_string(processes) + " processors");
  auto options = client::sized<substrata_run_options>();
  options.processes = processes;
  options.seed = seed;
  options.parameters = parameters.c_str();
  auto result = client::sized<substrata_run_result>();
  if (substrata_run(machine, workload.c_str(), &options, &result) != 0)
    throw std::runtime_error(result.message[0] != '\0' ? result.message : substrata_feed_error());
  if (result.correct == 0) throw std::runtime_error(result.message);
  return result;
}

}  // namespace substrata::model_runs
