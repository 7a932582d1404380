// Messages by phase of an MPI program, as its ranks counted them themselves: exact, where samples are not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "recording/recording.hpp"

namespace substrata::recording {

// What one rank sent while it was in the phase, which is the innermost region around it.
struct PhaseCount {
  std::int64_t rank = -1;
  std::string name;
  double messages = 0;
  double bytes = 0;
};

// What one rank's calls of one function of BLAS computed in the phase.
struct BlasCount {
  std::int64_t rank = -1;
  std::string phase;
  std::string function;
  double calls = 0;
  double operations = 0;
  double seconds = 0;  // in the calls
};

// From the summary of the MPI shim that a recording of a whole job on one machine carries; empty where there is
// none or it cannot be read.
std::vector<PhaseCount> phase_counts(const Recording& recording);
std::vector<BlasCount> blas_counts(const Recording& recording);

}  // namespace substrata::recording
