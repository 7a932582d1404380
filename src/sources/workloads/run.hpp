// Runs a workload, named by a spec, on a machine, and reports the outcome.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sources/workloads/engine.hpp"
#include "sources/workloads/machine.hpp"
#include "sources/workloads/spec.hpp"
#include "substrata/feed.h"
#include "substrata/feed.hpp"

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

// What the feed's list of machines says of one.
struct MachineDescription {
  const char* name;
  const char* summary;  // one line
  std::span<const Parameter> parameters;
  std::uint32_t default_processes;
  std::uint32_t max_processes;
};

// What a machine is made for.
struct Asked {
  std::string_view parameters;
  std::uint64_t seed = 0;
  std::uint16_t program = 0;
  ProcessId processes = 0;  // of a run
};

// Makes the machine of a run; begins one that follows what is published, until `end` gets what `begin` returned. A bad
// parameter: null, with a message in `error`.
using MakeMachine = std::unique_ptr<Machine>(const Asked& asked, std::string& error);
using BeginFollowing = void*(const Asked& asked, std::string& error);
using EndFollowing = void(void* following);

// What substrata_machine_add takes, a new one at each call, kept to the end of the process.
substrata_machine& machine_entry(const MachineDescription& machine, decltype(substrata_machine::run) run,
                                 decltype(substrata_machine::follow) follow, EndFollowing* end);
// Makes the machine, runs the workload and fills in the result, as substrata_run does.
int run_listed(const substrata_machine& entry, MakeMachine* make, const char* workload,
               const substrata_run_options* options, substrata_run_result* result) noexcept;
// Where `begin` returns null or throws: null, with the message in the result.
void* follow_listed(const substrata_machine& entry, BeginFollowing* begin,
                    const substrata_run_options* options, substrata_run_result* result) noexcept;

// A machine on the feed's list: `Model` has description and make, and begin and end where it can follow what is
// published.
template <class Model>
class ListedMachine {
 public:
  static void add() { static_cast<void>(substrata_machine_add(&entry())); }
  // With the source of what it publishes.
  static void add(const client::feed::Source& source) {
    static_cast<void>(source.try_add());
    add();
  }

 private:
  static substrata_machine& entry() {
    static substrata_machine& made = []() -> substrata_machine& {
      if constexpr (requires { &Model::begin; })
        return machine_entry(Model::description(), run, follow, Model::end);
      else
        return machine_entry(Model::description(), run, nullptr, nullptr);
    }();
    return made;
  }
  static int run(const char* workload, const substrata_run_options* options, substrata_run_result* result) {
    return run_listed(entry(), Model::make, workload, options, result);
  }
  static void* follow(const substrata_run_options* options, substrata_run_result* result) {
    return follow_listed(entry(), Model::begin, options, result);
  }
};

}  // namespace substrata::workloads
