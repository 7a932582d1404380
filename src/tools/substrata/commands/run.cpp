// substrata run: a workload on a machine model, with events counted.
#include <substrata/feed.hpp>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "recording/sampler/measuring.hpp"
#include "tools/arguments/arguments.hpp"
#include "tools/substrata/commands.hpp"
#include "tools/substrata/commands/model_events.hpp"

namespace substrata::tool {
using namespace sampler;

int run(int argc, char** argv) {
  std::string machine, workload, parameters, record, record_probes;
  std::uint64_t nodes = 0, seed = 1;
  std::vector<std::string> event_specs;
  bool json = false;
  Arguments arguments(
      "substrata run",
      "Runs a workload on a machine model and counts events. Without --events, counts those "
      "of the component with the machine's name.\n\n"
      "  substrata run -m memory -w fft:points=65536\n"
      "  substrata run -m numachine -w radix:keys=65536 -n 16 -e 'numachine:::*MISS*'\n"
      "  substrata run -m shrimp -w lu -n 4 --record lu.trace   write a trace for `substrata replay`");
  arguments.required("-m,--machine", machine, "machine model (see `substrata workloads`)",
                     Arguments::Value::kMachine);
  arguments.required("-w,--workload", workload, "workload with its parameters: fft:points=65536",
                     Arguments::Value::kWorkload);
  arguments.number("-n,--nodes", nodes, "processors or nodes (default: the machine's)");
  arguments.number("--seed", seed, "seed; a run is repeatable with the same seed (default 1)");
  arguments.word("--parameters", parameters, "parameters of the machine: name=value:...");
  arguments.words("-e,--events", event_specs,
                  "events to count, separated by commas; '*' and '?' are wildcards",
                  Arguments::Value::kEvents);
  arguments.word("--record", record, "trace file to write", Arguments::Value::kFile);
  arguments.word("--record-probes", record_probes, "patterns of the probe points to record (default: all)");
  arguments.flag("--json", json, "print JSON");
  if (const auto status = arguments.parse(argc, argv)) return *status;
  start_library();
  if (nodes > UINT32_MAX) throw std::runtime_error("--nodes is too large");

  Measurement sets;
  choose_events(event_specs, machine, sets);
  auto options = client::sized<substrata_run_options>();
  options.processes = static_cast<std::uint32_t>(nodes);
  options.seed = seed;
  options.parameters = or_null(parameters);
  options.record = or_null(record);
  options.record_probes = or_null(record_probes);
  auto result = client::sized<substrata_run_result>();
  sets.start();
  const int status = substrata_run(machine.c_str(), workload.c_str(), &options, &result);
  const std::vector<Counted> values = sets.stop();
  if (status != 0)
    throw std::runtime_error(result.message[0] != '\0' ? result.message : substrata_feed_error());

  const double seconds = result.ticks_per_second != 0 ? static_cast<double>(result.simulated_ticks) /
                                                            static_cast<double>(result.ticks_per_second)
                                                      : 0;
  if (json) {
    const nlohmann::json report = {{"machine", machine},
                                   {"workload", workload},
                                   {"seed", seed},
                                   {"correct", result.correct != 0},
                                   {"message", result.message},
                                   {"simulated_ticks", result.simulated_ticks},
                                   {"ticks_per_second", result.ticks_per_second},
                                   {"operations", result.operations},
                                   {"transactions", result.transactions},
                                   {"events", values_as_json(values)}};
    std::printf("%s\n", report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  } else {
    std::printf("%s\n", result.message);
    std::printf("result: %s\n", result.correct != 0 ? "correct" : "WRONG");
    std::printf("simulated time: %.9g s (%llu ticks)\noperations: %llu\ntransactions published: %llu\n",
                seconds, static_cast<unsigned long long>(result.simulated_ticks),
                static_cast<unsigned long long>(result.operations),
                static_cast<unsigned long long>(result.transactions));
    if (!values.empty()) std::printf("\n");
    print_values(values);
  }
  return result.correct != 0 ? 0 : 1;
}

}  // namespace substrata::tool
