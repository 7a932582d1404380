// Two programs at once on one cluster: their engines take turns by simulated time, their processes share each
// node's processor.
#pragma once

#include <array>
#include <string>

#include "myrinet/machine.hpp"
#include "sources/workloads/run.hpp"

namespace substrata::myrinet {

inline constexpr std::uint32_t kCoscheduled = 2;
using Reports = std::array<workloads::Report, kCoscheduled>;

// Runs both to their ends; program tags 0 and 1. The first runs in the calling thread, the second in one that
// lives as long as the call; only one of them runs at a time, so the outcome depends on the seed alone.
// Throws std::bad_alloc and std::system_error when it cannot begin.
Reports run_coscheduled(const std::array<std::string, kCoscheduled>& workloads,
                        const MachineParameters& parameters, std::uint32_t nodes, std::uint64_t seed);

}  // namespace substrata::myrinet
