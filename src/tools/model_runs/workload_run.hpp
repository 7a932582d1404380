// A workload that runs on a machine to its end with the right result, or not at all.
#pragma once

#include <substrata/feed.h>

#include <cstdint>
#include <string>

namespace substrata::model_runs {

// What substrata_run reported. Throws std::runtime_error with its message when the workload does not
// run or its result is wrong.
substrata_run_result run_workload(const char* machine, const std::string& workload, std::uint32_t processes,
                                  const std::string& parameters, std::uint64_t seed = 1);

// The simulated time of a run.
inline double seconds_of(const substrata_run_result& result) {
  return static_cast<double>(result.simulated_ticks) / static_cast<double>(result.ticks_per_second);
}

}  // namespace substrata::model_runs
