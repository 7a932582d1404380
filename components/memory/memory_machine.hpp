// The memory machine: runs workloads on processors with private caches, and follows live programs.
#pragma once

#include <string>
#include <string_view>

#include "models/cache/cache_model.hpp"

namespace substrata::memory {

// What the machine's parameters say ("l1=64k:line=128:memory_cycles=200").
struct MachineParameters {
  Geometry geometry;
  uint64_t cycle_ps = 1000;
  uint64_t l1_cycles = 1;  // an access that hits in the first level
  uint64_t l2_cycles = 10;
  uint64_t memory_cycles = 100;
};

// False: not understood or impossible; `error` says why.
bool parse_machine_parameters(std::string_view text, MachineParameters* out, std::string& error);

}  // namespace substrata::memory
