// Runs of the modelled Myrinet cluster, and what its monitor keeps of them, read into vectors.
#pragma once

#include <substrata/myrinet.h>

#include <cstdint>
#include <string>
#include <vector>

namespace substrata::model_runs {

using Signature = std::vector<substrata_myrinet_point>;

// Runs a workload and gives the simulated seconds; throws std::runtime_error when it does not run or its
// result is wrong.
double myrinet_run(const std::string& workload, unsigned nodes, const std::string& parameters = "",
                   std::uint64_t seed = 1);

// Empties the statistics and begins to record; `programs` tags apart.
void myrinet_begin(unsigned programs);
void myrinet_end();

// What was recorded; by default of all programs and nodes. Throws std::runtime_error with the reason.
Signature myrinet_signature(substrata_myrinet_axis axis, unsigned program = SUBSTRATA_MYRINET_ALL,
                            unsigned node = SUBSTRATA_MYRINET_ALL);

// The operations of the layer above that were recorded, one point a kind, of all programs.
std::vector<substrata_myrinet_operation_point> myrinet_operations(unsigned node = SUBSTRATA_MYRINET_ALL);

}  // namespace substrata::model_runs
