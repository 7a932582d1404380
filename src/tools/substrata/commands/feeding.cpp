// substrata run, replay, probes, import: workloads, traces and what passes at probe points.
#include <substrata/feed.hpp>

#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "arguments/arguments.hpp"
#include "sampler/measuring.hpp"
#include "substrata_tool/commands.hpp"

namespace substrata::tool {
namespace {

const char* or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

// What the user asked for; without a wish every count and gauge of the component that carries the machine's
// name, as far as they fit into one set.
void choose_events(const std::vector<std::string>& wishes, const std::string& machine, Measurement& sets) {
  if (!wishes.empty()) {
    for (const std::string& name : expand(wishes)) sets.add(name);
    return;
  }
  const int component = machine.empty() ? -1 : PAPI_get_component_index(machine.c_str());
  if (component < 0) return;
  for (const int code : native_events(component))
    if (describe(code).kind < 2 && describe(code).available != 0) sets.try_add(event_name(code));
}

// Counts what passes at every probe point.
struct Passing {
  std::vector<std::uint64_t> counts = std::vector<std::uint64_t>(65536);
  static void take(void* owner, const substrata_transaction* batch, std::size_t count) {
    if (count != 0) static_cast<Passing*>(owner)->counts[batch->probe] += count;
  }
};

const char* time_base_name(std::uint32_t base) {
  constexpr const char* kNames[] = {"sequence numbers", "real time", "virtual time", "simulated time"};
  return base < 4 ? kNames[base] : "unknown";
}

int list_trace(const std::string& path) {
  const client::feed::Trace trace = client::feed::Trace::open(path.c_str()).value();
  const substrata_trace_info info = trace.describe().value();
  std::printf("%s: %llu transactions in %llu blocks, %llu bytes, %s\n", path.c_str(),
              static_cast<unsigned long long>(info.transactions),
              static_cast<unsigned long long>(info.blocks), static_cast<unsigned long long>(info.file_bytes),
              info.complete != 0 ? "complete" : "cut off");
  if (info.comment != nullptr && info.comment[0] != '\0') std::printf("%s\n", info.comment);
  for (std::uint32_t i = 0; i < info.probes; ++i) {
    const auto probe = trace.probe(i);
    if (!probe) break;
    std::printf("  %-40s %12llu  %s\n", probe->name, static_cast<unsigned long long>(probe->delivered),
                probe->text);
  }
  if (info.damage != nullptr) {
    std::fprintf(stderr, "%s\n", info.damage);
    return 1;
  }
  return 0;
}

}  // namespace

int run(int argc, char** argv) {
  std::string machine, workload, parameters, record, record_probes;
  std::uint64_t nodes = 0, seed = 1;
  std::vector<std::string> wishes;
  bool json = false;
  Arguments arguments(
      "substrata run",
      "Runs a workload on a machine model and counts events meanwhile. Without --events those "
      "of the component that carries the machine's name.\n\n"
      "  substrata run -m memory -w fft:points=65536\n"
      "  substrata run -m numachine -w radix:keys=65536 -n 16 -e 'numachine:::*MISS*'\n"
      "  substrata run -m shrimp -w lu -n 4 --record lu.trace   keep what passed, for `substrata replay`");
  arguments.required("-m,--machine", machine, "machine model (see `substrata workloads`)",
                     Arguments::Value::kMachine);
  arguments.required("-w,--workload", workload, "workload with its parameters: fft:points=65536",
                     Arguments::Value::kWorkload);
  arguments.number("-n,--nodes", nodes, "processors or nodes (default: the machine's)");
  arguments.number("--seed", seed, "seed; the same seed gives the same run (default 1)");
  arguments.word("--parameters", parameters, "of the machine: name=value:...");
  arguments.words("-e,--events", wishes, "events to count, separated by commas; '*' and '?' match",
                  Arguments::Value::kEvents);
  arguments.word("--record", record, "trace file to write", Arguments::Value::kFile);
  arguments.word("--record-probes", record_probes, "patterns of the probe points to record (default: all)");
  arguments.flag("--json", json, "print JSON");
  if (const auto status = arguments.parse(argc, argv)) return *status;
  start_library();
  if (nodes > UINT32_MAX) throw std::runtime_error("--nodes is too large");

  Measurement sets;
  choose_events(wishes, machine, sets);
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

int replay(int argc, char** argv) {
  std::string file, machine, parameters, patterns;
  std::vector<std::string> wishes;
  bool json = false;
  Arguments arguments(
      "substrata replay",
      "Publishes a recorded trace anew and counts events meanwhile.\n\n"
      "  substrata replay lu.trace                               the counts of the run that was recorded\n"
      "  substrata replay -m memory --probes 'mem.cpu*.accesses' accesses.trace   on a machine of other "
      "caches");
  arguments.required("FILE", file, "trace file", Arguments::Value::kFile);
  arguments.word("-m,--machine", machine, "machine model that takes the trace as its input: memory",
                 Arguments::Value::kMachine);
  arguments.word("--parameters", parameters, "of the machine: name=value:...");
  arguments.word(
      "--probes", patterns,
      "only these probe points (patterns separated by commas); with --machine leave out what the machine "
      "publishes itself");
  arguments.words("-e,--events", wishes, "events to count, separated by commas; '*' and '?' match",
                  Arguments::Value::kEvents);
  arguments.flag("--json", json, "print JSON");
  if (const auto status = arguments.parse(argc, argv)) return *status;
  start_library();

  client::feed::Following following;
  if (!machine.empty())
    following = client::feed::Following::begin(machine.c_str(), or_null(parameters)).value();
  Measurement sets;
  choose_events(wishes, machine, sets);
  auto summary = client::sized<substrata_replay_summary>();
  sets.start();
  const int status = substrata_replay(file.c_str(), or_null(patterns), &summary);
  const std::string error = status != 0 ? substrata_feed_error() : "";
  substrata_flush();
  const std::vector<Counted> values = sets.stop();

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

int probes(int argc, char** argv) {
  std::string file, machine, workload;
  std::uint64_t nodes = 0;
  Arguments arguments("substrata probes",
                      "Lists sources and probe points. Machines make theirs when they run: name one with its "
                      "workload to see them and what passes there.\n\n"
                      "  substrata probes                          what there is before anything runs\n"
                      "  substrata probes -m shrimp -w fft -n 4    what passes inside a machine\n"
                      "  substrata probes lu.trace                 what a trace holds");
  arguments.word("FILE", file, "list the probe points of this trace", Arguments::Value::kFile);
  arguments.word("-m,--machine", machine, "run this machine first", Arguments::Value::kMachine);
  arguments.word("-w,--workload", workload, "what it runs", Arguments::Value::kWorkload);
  arguments.number("-n,--nodes", nodes, "its processors or nodes");
  if (const auto status = arguments.parse(argc, argv)) return *status;
  if (!file.empty()) return list_trace(file);
  if (machine.empty() != workload.empty()) throw std::runtime_error("--machine and --workload go together");
  start_library();

  Passing passing;
  client::feed::Observer observer;
  if (!machine.empty()) {
    client::feed::demand(observer.try_create(Passing::take, &passing));
    observer.subscribe("*").value();
    auto options = client::sized<substrata_run_options>();
    options.processes = static_cast<std::uint32_t>(nodes);
    options.seed = 1;
    auto result = client::sized<substrata_run_result>();
    if (substrata_run(machine.c_str(), workload.c_str(), &options, &result) != 0)
      throw std::runtime_error(result.message[0] != '\0' ? result.message : substrata_feed_error());
  }
  std::printf("Sources:\n");
  for (std::uint32_t i = 0; i < substrata_source_count(); ++i) {
    auto source = client::sized<substrata_source_info>();
    if (substrata_source_at(i, &source) != 0) break;
    std::printf("  %-14s %s (%s)\n", source.name, source.summary, time_base_name(source.time_base));
    if (source.why_not != nullptr) std::printf("  %-14s not available: %s\n", "", source.why_not);
  }
  std::printf("\nProbe points:\n");
  for (std::uint32_t i = 0; i < substrata_probe_count(); ++i) {
    auto probe = client::sized<substrata_probe_info>();
    if (substrata_probe_at(i, &probe) != 0) break;
    std::printf("  %-32s %12llu  %s\n", probe.name, static_cast<unsigned long long>(passing.counts[i]),
                probe.text);
  }
  return 0;
}

int import_trace(int argc, char** argv) {
  std::string format, text, trace;
  Arguments arguments("substrata import",
                      "Turns the text of another tool into a trace.\n\n"
                      "  valgrind --tool=lackey --trace-mem=yes --log-fd=3 ./program 3>&1 >/dev/null | "
                      "substrata import lackey - "
                      "ls.trace\n"
                      "  substrata replay -m memory ls.trace");
  arguments.choice("FORMAT", format, {"lackey"}, "lackey: valgrind --tool=lackey --trace-mem=yes");
  arguments.required("TEXT", text, "the text; - is standard input", Arguments::Value::kFile);
  arguments.required("TRACE", trace, "the trace to write", Arguments::Value::kFile);
  if (const auto status = arguments.parse(argc, argv)) return *status;
  auto summary = client::sized<substrata_import_summary>();
  if (substrata_import_lackey(text.c_str(), trace.c_str(), &summary) != 0)
    throw std::runtime_error(substrata_feed_error());
  std::printf("%llu lines: %llu transactions, %llu lines of the tool itself left out\n",
              static_cast<unsigned long long>(summary.lines),
              static_cast<unsigned long long>(summary.transactions),
              static_cast<unsigned long long>(summary.ignored_lines));
  return 0;
}

}  // namespace substrata::tool
