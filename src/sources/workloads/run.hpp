// Runs a workload, named by a spec, on a machine, and reports the outcome.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine.hpp"
#include "machine.hpp"
#include "spec.hpp"
#include "substrata/feed.h"

namespace substrata::workloads {

// A machine that publishes at probe points reports under this name how many transactions it published.
inline constexpr std::string_view kTransactionsStatistic = "transactions";

// What came of a run.
struct Report {
  bool ran = false;      // the spec was good and every process reached its end
  bool correct = false;  // and the program's own check found its result right
  std::string workload;  // the spec with every parameter
  std::string message;   // what was run and what the check found, or what went wrong
  Outcome outcome;
  std::vector<Statistic> statistics;  // the machine's
};

// Runs to the end in the calling thread. `seed` is the workload's unless its spec gives one. Never throws for
// a bad spec, a deadlock or a lack of memory: the report says so.
Report run_workload(std::string_view spec, std::uint64_t seed, Machine& machine,
                    const EngineSettings& settings);

// What the registration of a machine states, without the fields of the feed's list.
struct MachineDescription {
  const char* name;
  const char* summary;  // one line
  std::span<const Parameter> parameters;
  std::uint32_t default_processes;
  std::uint32_t max_processes;
  decltype(substrata_machine::run) run;
  decltype(substrata_machine::follow) follow = nullptr;
  decltype(substrata_machine::unfollow) unfollow = nullptr;
};
// What substrata_machine_add takes, a new one at each call, kept to the end of the process.
substrata_machine& machine_entry(const MachineDescription& machine);

// The body of such a machine's `run`: makes the machine,
// runs the workload and fills in the result. `make` gets the machine's parameters (never null) and the number
// of processes; on a bad parameter it returns null with a message in `error`. Returns 0, or a negative error
// as substrata_run does.
using MakeMachine = std::function<std::unique_ptr<Machine>(std::string_view parameters, std::uint64_t seed,
                                                           ProcessId processes, std::string& error)>;
int run_registered(const substrata_machine& entry, const MakeMachine& make, const char* workload,
                   const substrata_run_options* options, substrata_run_result* result) noexcept;

// The body of its `follow`: what `begin` returns for the machine's parameters (never null). Where `begin` returns null,
// with a message in `error`, or throws, null with the message in the result.
using BeginFollowing = std::function<void*(std::string_view parameters, std::string& error)>;
void* follow_registered(const char* name, const BeginFollowing& begin, const substrata_run_options* options,
                        substrata_run_result* result) noexcept;

}  // namespace substrata::workloads
