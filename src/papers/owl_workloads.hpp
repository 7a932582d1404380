// Workloads that the reproductions of the Owl paper run, and how they are run on one processor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace substrata::papers {

struct OwlWorkload {
  const char* name;  // in tables
  const char* spec;
  bool application;  // a program with a use, and not a kernel with one pattern of accesses
};

// The paper's ten SPEC 2000 programs are not free to be carried along; these are ours, with their results
// checked.
const std::vector<OwlWorkload>& owl_workloads();

// Runs it on one processor of the memory machine with these parameters; throws std::runtime_error when it
// does not end with the right result.
void run_owl_workload(const OwlWorkload& workload, const std::string& machine_parameters);

// "12.3 %" and the like.
std::string owl_decimal(double number, int digits);

}  // namespace substrata::papers
