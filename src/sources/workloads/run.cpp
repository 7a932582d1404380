// Puts program, memory, engine and machine together for one run.
#include "sources/workloads/run.hpp"

#include <substrata/result.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>

#include "sources/workloads/catalogue.hpp"

namespace substrata::workloads {
namespace {

Asked asked_by(const substrata_run_options* options) noexcept {
  if (options == nullptr) return {};
  return {.parameters = options->parameters != nullptr ? options->parameters : "",
          .seed = options->seed,
          .program = options->program,
          .processes = options->processes};
}

}  // namespace

Report run_workload(std::string_view spec, std::uint64_t seed, Machine& machine,
                    const EngineSettings& settings) {
  Report report;
  try {
    if (settings.processes == 0 || settings.processes > kMostProcesses) {
      report.message = std::to_string(settings.processes) + " processes are asked for, 1 to " +
                       std::to_string(kMostProcesses) + " can be run";
      return report;
    }
    const std::unique_ptr<Program> program = make_program(spec, seed, report.message, &report.workload);
    if (program == nullptr) return report;
    Memory memory;
    program->lay_out(memory, settings.processes);
    memory.commit();
    {
      Engine engine(*program, machine, memory, settings);
      report.outcome = engine.run();
    }
    report.statistics = machine.statistics();
    report.ran = report.outcome.completed;
    const std::string what = report.workload + " with " + std::to_string(settings.processes) +
                             (settings.processes == 1 ? " process on " : " processes on ") +
                             std::string(machine.name());
    if (!report.ran) {
      report.message = what + ": " + report.outcome.error;
      return report;
    }
    const std::string wrong = program->check(memory);
    report.correct = wrong.empty();
    report.message =
        what + ": " + (wrong.empty() ? std::string("the result is right") : "WRONG RESULT, " + wrong);
  } catch (const std::bad_alloc&) {
    report.ran = report.correct = false;
    report.message =
        std::string(spec.substr(0, 100)) + " needs more memory than there is; ask for a smaller size";
  } catch (const std::exception& error) {
    report.ran = report.correct = false;
    report.message = std::string(spec.substr(0, 100)) + ": " + error.what();
  }
  return report;
}

substrata_machine& machine_entry(const MachineDescription& machine, decltype(substrata_machine::run) run,
                                 decltype(substrata_machine::follow) follow, EndFollowing* end) {
  struct Kept {
    substrata_machine entry = client::sized<substrata_machine>();
    std::string parameters;
  };
  auto* const kept = new Kept;  // for the life of the process
  kept->parameters = describe(machine.parameters);
  kept->entry.default_processes = machine.default_processes;
  kept->entry.max_processes = machine.max_processes;
  kept->entry.name = machine.name;
  kept->entry.summary = machine.summary;
  kept->entry.parameters = kept->parameters.c_str();
  kept->entry.run = run;
  kept->entry.follow = follow;
  kept->entry.unfollow = end;
  return kept->entry;
}

void* follow_listed(const substrata_machine& entry, BeginFollowing* begin,
                    const substrata_run_options* options, substrata_run_result* result) noexcept {
  const char* const name = entry.name;
  try {
    std::string error;
    void* const following = begin(asked_by(options), error);
    if (following == nullptr)
      std::snprintf(result->message, sizeof result->message, "%s: %s", name, error.c_str());
    return following;
  } catch (const std::bad_alloc&) {
    std::snprintf(result->message, sizeof result->message, "%s: no memory for the machine", name);
  } catch (const std::exception& refused) {
    std::snprintf(result->message, sizeof result->message, "%s: %s", name, refused.what());
  }
  return nullptr;
}

int run_listed(const substrata_machine& entry, MakeMachine* make, const char* workload,
               const substrata_run_options* options, substrata_run_result* result) noexcept {
  constexpr int kInvalid = -1;
  constexpr int kNoMemory = -2;
  constexpr std::uint64_t kPicosecondsPerSecond = 1'000'000'000'000;
  auto unwanted = client::sized<substrata_run_result>();
  substrata_run_result& out = result != nullptr ? *result : unwanted;
  const auto set_message = [&out](const std::string& text) {
    const std::size_t length = std::min(text.size(), sizeof(out.message) - 1);
    std::memcpy(out.message, text.data(), length);
    out.message[length] = '\0';
  };
  try {
    EngineSettings settings;
    Asked asked = asked_by(options);
    if (asked.processes == 0) asked.processes = entry.default_processes;
    settings.processes = asked.processes;
    if (settings.processes > entry.max_processes) {
      set_message(std::string(entry.name) + " takes at most " + std::to_string(entry.max_processes) +
                  " processes, " + std::to_string(settings.processes) + " were asked for");
      return kInvalid;
    }
    std::string error;
    const std::unique_ptr<Machine> machine = make(asked, error);
    if (machine == nullptr) {
      set_message(std::string(entry.name) + ": " + error);
      return kInvalid;
    }
    const Report report = run_workload(workload != nullptr ? workload : "", asked.seed, *machine, settings);
    set_message(report.message);
    if (!report.ran) return kInvalid;
    out.correct = report.correct ? 1 : 0;
    out.simulated_ticks = report.outcome.time;
    out.ticks_per_second = kPicosecondsPerSecond;
    out.operations = report.outcome.operations();
    for (const Statistic& one : report.statistics) {
      if (one.name == kTransactionsStatistic) out.transactions = one.value;
    }
    return 0;
  } catch (const std::bad_alloc&) {
    std::strncpy(out.message, "no memory for the run; ask for a smaller size", sizeof(out.message) - 1);
    return kNoMemory;
  } catch (const std::exception& error) {
    std::strncpy(out.message, error.what(), sizeof(out.message) - 1);
    return kInvalid;
  }
}

}  // namespace substrata::workloads
