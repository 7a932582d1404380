// What the reproductions of the SHRIMP paper share: runs and commands.
#pragma once

#include <cstdint>
#include <string>

namespace substrata::papers {

// Runs a workload to its end and gives the simulated time in seconds; throws when it does not run or its
// result is wrong.
double run_on_shrimp(const std::string& workload, std::uint32_t nodes, const std::string& parameters,
                     std::uint64_t seed = 1);

// A command of node 0 to all boards; throws when it is refused.
void command_all(std::uint32_t reg, std::uint64_t value);

}  // namespace substrata::papers
