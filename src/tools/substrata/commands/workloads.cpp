// substrata workloads: the machine models and the workloads they run.
#include <substrata/feed.h>

#include <cstdio>

#include "tools/arguments/arguments.hpp"
#include "tools/substrata/commands.hpp"

namespace substrata::tool {

int workloads(int argc, char** argv) {
  Arguments arguments("substrata workloads", "Lists the machine models and the workloads they run.");
  if (const auto status = arguments.parse(argc, argv)) return *status;
  std::printf("Machines (--machine NAME, --parameters \"name=value:...\"):\n");
  for (std::uint32_t i = 0;; ++i) {
    const substrata_machine* machine = substrata_machine_at(i);
    if (machine == nullptr) break;
    std::printf(
        "  %-14s %s\n  %-14s %u processes, at most %u; parameters: %s\n", machine->name, machine->summary, "",
        machine->default_processes, machine->max_processes,
        machine->parameters != nullptr && machine->parameters[0] != '\0' ? machine->parameters : "none");
  }
  std::printf("\nWorkloads (--workload \"name:parameter=value:...\"):\n");
  for (std::uint32_t i = 0;; ++i) {
    const substrata_workload* workload = substrata_workload_at(i);
    if (workload == nullptr) break;
    std::printf(
        "  %-14s %s\n  %-14s parameters: %s\n", workload->name, workload->summary, "",
        workload->parameters != nullptr && workload->parameters[0] != '\0' ? workload->parameters : "none");
  }
  return 0;
}

}  // namespace substrata::tool
