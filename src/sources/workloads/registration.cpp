// Makes the workloads and the machine without a model known to the feed, so that substrata_run finds them by
// name.
#include <deque>
#include <string>

#include "sources/workloads/catalogue.hpp"
#include "sources/workloads/run.hpp"
#include "sources/workloads/trivial_machine.hpp"
#include "substrata/feed.h"

namespace substrata::workloads {
namespace {

constexpr Parameter kParameters[] = {
    {"jitter", "cycles that a batch or a synchronisation may take longer, at random", 0, 0, 1'000'000'000},
    {"quantum", "cycles one process may be charged ahead of another", 100'000, 0, 1'000'000'000},
};

// The workloads' entries, kept to the end of the process.
struct Entries {
  std::deque<std::string> texts;
  std::deque<substrata_workload> known;

  const char* keep(std::string text) { return texts.emplace_back(std::move(text)).c_str(); }

  Entries() {
    for (const Workload* workload : workloads()) {
      substrata_workload& entry = known.emplace_back();
      entry.struct_size = sizeof(entry);
      entry.name = keep(std::string(workload->name));
      entry.summary = keep(std::string(workload->summary));
      entry.parameters = keep(describe(workload->parameters));
    }
  }
};

Entries& entries() {
  static auto* const made = new Entries;
  return *made;
}

struct Trivial {
  static MachineDescription description() {
    return {.name = "trivial",
            .summary = "every operation takes one cycle of a nanosecond; no caches, no probe points",
            .parameters = kParameters,
            .default_processes = 1,
            .max_processes = kMostProcesses};
  }
  static std::unique_ptr<Machine> make(const Asked& asked, std::string& error) {
    Values values(kParameters);
    if (!values.set(asked.parameters, error)) return nullptr;
    return std::make_unique<TrivialMachine>(
        TrivialParameters{.jitter = values["jitter"], .quantum = values["quantum"], .seed = asked.seed});
  }
};

}  // namespace

}  // namespace substrata::workloads

namespace substrata::built_in {

void workloads() {
  workloads::Entries& all = workloads::entries();
  for (substrata_workload& workload : all.known) static_cast<void>(substrata_workload_add(&workload));
  workloads::ListedMachine<workloads::Trivial>::add();
}

}  // namespace substrata::built_in
