// substrata replay: a recorded trace, into a machine model if asked, with events counted.
#include <substrata/feed.hpp>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "recording/sampler/measuring.hpp"
#include "tools/arguments/arguments.hpp"
#include "tools/substrata/commands.hpp"
#include "tools/substrata/commands/model_events.hpp"

namespace substrata::tool {
using namespace sampler;

int replay(int argc, char** argv) {
  std::string file, machine, parameters, patterns;
  std::vector<std::string> event_specs;
  bool json = false;
  Arguments arguments(
      "substrata replay",
      "Replays a recorded trace and counts events.\n\n"
      "  substrata replay lu.trace                               what the models count that is not 0\n"
      "  substrata replay -m memory --probes 'mem.cpu*.accesses' accesses.trace   on a machine with other "
      "caches");
  arguments.required("FILE", file, "trace file", Arguments::Value::kFile);
  arguments.word("-m,--machine", machine, "machine model that takes the trace as its input, such as memory",
                 Arguments::Value::kMachine);
  arguments.word("--parameters", parameters, "parameters of the machine: name=value:...");
  arguments.word(
      "--probes", patterns,
      "only these probe points (patterns separated by commas); with --machine, leave out those that the "
      "machine publishes itself");
  arguments.words("-e,--events", event_specs,
                  "events to count, separated by commas; '*' and '?' are wildcards (default: those of the "
                  "machine, else all counts of models that are not 0)",
                  Arguments::Value::kEvents);
  arguments.flag("--json", json, "print JSON");
  if (const auto status = arguments.parse(argc, argv)) return *status;
  start_library();

  client::feed::Following following;
  if (!machine.empty())
    following = client::feed::Following::begin(machine.c_str(), or_null(parameters)).value();
  Measurement sets;
  const bool all_models = event_specs.empty() && machine.empty();
  if (all_models)
    choose_models(sets);
  else
    choose_events(event_specs, machine, sets);
  auto summary = client::sized<substrata_replay_summary>();
  sets.start();
  const int status = substrata_replay(file.c_str(), or_null(patterns), &summary);
  const std::string error = status != 0 ? substrata_feed_error() : "";
  substrata_flush();
  std::vector<Counted> values = sets.stop();
  if (all_models) std::erase_if(values, [](const Counted& one) { return one.value.value == 0; });

  if (json) {
    const nlohmann::json report = {{"file", file},
                                   {"transactions", summary.transactions},
                                   {"batches", summary.batches},
                                   {"probes", summary.probes},
                                   {"skipped", summary.skipped},
                                   {"complete", summary.complete != 0},
                                   {"error", error},
                                   {"events", values_as_json(values)}};
    std::printf("%s\n", report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  } else {
    std::printf("%llu transactions in %llu batches at %u probe points; %llu left out\n",
                static_cast<unsigned long long>(summary.transactions),
                static_cast<unsigned long long>(summary.batches), summary.probes,
                static_cast<unsigned long long>(summary.skipped));
    if (!values.empty()) std::printf("\n");
    print_values(values);
  }
  if (status != 0) std::fprintf(stderr, "substrata replay: %s\n", error.c_str());
  return status == 0 ? 0 : 1;
}

}  // namespace substrata::tool
