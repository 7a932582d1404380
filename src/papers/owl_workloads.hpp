// Runs workloads for the reproductions of the Owl paper.
#pragma once

#include <cstdint>
#include <string>

namespace substrata::papers {

// Runs a workload, "radix:keys=65536", on one processor of the memory machine with these parameters; throws
// std::runtime_error when it does not end with the right result.
void run_owl_workload(const std::string& workload, const std::string& machine_parameters, std::uint64_t seed);

}  // namespace substrata::papers
