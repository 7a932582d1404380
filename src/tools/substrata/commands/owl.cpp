// substrata owl: runs a program, and prints what one line of the Owl language counts in it.
#include <poll.h>
#include <substrata/owl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <substrata/feed.hpp>
#include <utility>
#include <vector>

#include "base/environment.hpp"
#include "base/temporary_folder.hpp"
#include "base/whole_file.hpp"
#include "recording/sampler/child.hpp"
#include "recording/sampler/mpi_launching.hpp"
#include "recording/sampler/run.hpp"
#include "tools/arguments/arguments.hpp"
#include "tools/substrata/commands.hpp"
#include "tools/substrata/commands/model_events.hpp"
#include "tools/substrata/commands/owl_observing.hpp"
#include "tools/substrata/commands/owl_tables.hpp"
#include "tools/terminal/progress.hpp"

namespace substrata::tool {
using namespace sampler;
namespace {

constexpr int kProgressMs = 500;

constexpr const char* kUsage =
    "Runs a program and prints what a line of the Owl language counts in it "
    "(docs/guide/owl_one_liners.md).\n\n"
    "  substrata owl -e 'mem.accesses: filter(write) -> count by object, line' -- ./program\n"
    "  substrata owl -e 'mpi.send: count, sum(size) by target' -- mpirun -n 4 ./program\n"
    "  substrata owl -e 'page-faults: count by object' -- ./program\n"
    "  substrata owl -e 'mem.l1-l2: filter(fill) -> count by object' --machine memory --workload fft\n\n"
    "Accesses are seen in programs that were compiled with substrata-cc, substrata-c++ or substrata-fc. The "
    "exit status is "
    "the command's.";

std::vector<std::string> preloading(std::vector<std::string> command, const OwlObserving& observing,
                                    OwlObserving::Environment* environment) {
  std::string preload = observing.preload();
  const char* const others = substrata::environment("LD_PRELOAD");
  if (others != nullptr && *others != '\0') preload += std::string(":") + others;
  if (observing.observes("mpi")) {
    if (is_mpi_launcher(command.front())) {
      setenv("LD_PRELOAD", preload.c_str(), 1);  // to be handed to the ranks
      command = preloading_command(command.front(), {command.begin() + 1, command.end()});
      unsetenv("LD_PRELOAD");
      return command;
    }
    preload = shim_for_program(command.front()) + ":" + preload;
  }
  environment->emplace_back("LD_PRELOAD", preload);
  return command;
}

int run_observed(const std::vector<std::string>& words, const OwlRequest& request, OwlTables* tables) {
  OwlObserving observing(request);
  OwlObserving::Environment environment = observing.environment();
  const std::vector<std::string> command = preloading(words, observing, &environment);
  Child child(command, environment);
  child.go();
  pollfd end{child.signals(), POLLIN, 0};
  const bool progress = request.progress_ms != 0;
  while (!child.take_signals()) {
    poll(&end, 1, progress ? kProgressMs : -1);
    if (!progress) continue;
    observing.take(tables);
    if (isatty(STDERR_FILENO) != 0)
      show_progress(tables->progress());
    else
      std::fprintf(stderr, "%s\n", tables->progress().c_str());
  }
  ProgressLine::clear();
  rusage used{};
  const int status = child.reap(&used);
  observing.take(tables);
  return status;
}

// A workload on a machine model, in this process.
int run_workload(const std::string& machine, const std::string& workload, std::uint64_t nodes,
                 const OwlRequest& request, OwlTables* tables) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "rows").string();
  std::FILE* const file = std::fopen(path.c_str(), "w");
  if (file == nullptr) throw std::runtime_error("'" + path + "' cannot be written");
  substrata_owl_query* query = nullptr;
  if (substrata_owl_query_start(request.text.data(), request.text.size(), request.origin.c_str(),
                                fileno(file), &query) != 0) {
    std::fclose(file);
    throw std::runtime_error(substrata_owl_error());
  }
  auto options = client::sized<substrata_run_options>();
  options.processes = static_cast<std::uint32_t>(nodes);
  options.seed = 1;
  auto result = client::sized<substrata_run_result>();
  const int refused = substrata_run(machine.c_str(), workload.c_str(), &options, &result);
  const std::string why = refused == 0                ? ""
                          : result.message[0] != '\0' ? result.message
                                                      : substrata_feed_error();
  static_cast<void>(substrata_owl_query_stop(query));
  std::fclose(file);
  if (refused != 0) throw std::runtime_error(why);
  tables->take(contents_of(path));
  return result.correct != 0 ? 0 : 1;
}

// To standard output, or into the file.
void print_all(const OwlTables& tables, std::uint64_t rows, bool json, const std::string& output) {
  std::fflush(stdout);
  if (!output.empty() && std::freopen(output.c_str(), "w", stdout) == nullptr)
    throw std::runtime_error("'" + output + "' cannot be written: " + std::strerror(errno));
  if (json) {
    std::printf("%s\n", tables.as_text(SIZE_MAX, 2).c_str());
    return;
  }
  if (output.empty()) std::printf("\n");
  tables.print(rows);
  for (const std::string& message : tables.messages())
    std::fprintf(stderr, "substrata owl: %s\n", message.c_str());
  if (tables.dropped() != 0)
    std::fprintf(stderr, "substrata owl: %llu rows were lost\n",
                 static_cast<unsigned long long>(tables.dropped()));
}

}  // namespace

int owl(int argc, char** argv) {
  OwlRequest request;
  std::string file, machine, workload, output;
  std::uint64_t nodes = 0, rows = 20;
  bool json = false, progress = false;
  Arguments arguments("substrata owl", kUsage);
  arguments.word("-e,--expression", request.text,
                 "what to count: 'PROBES: filter(...) -> count by KEY, ...'");
  arguments.word("-f,--file", file, "file that holds it", Arguments::Value::kFile);
  arguments.number("--rows", rows, "rows to print of each table (default 20)");
  arguments.flag("--json", json, "print JSON, with all rows");
  arguments.word("-o,--output", output, "file for the tables, beside what the program prints",
                 Arguments::Value::kFile);
  arguments.flag("--progress", progress, "show the greatest row while the program runs");
  arguments.word("--counters", request.counters,
                 "PAPI events that are read while the program runs, as the stream counters",
                 Arguments::Value::kEvents);
  arguments.number("--interval", request.interval, "milliseconds between two readings of them (default 20)");
  arguments.word("--follow", request.follow,
                 "machine model that follows the program's accesses: memory, numachine");
  arguments.word("--machine", machine, "machine model to run a workload on, in the place of a program",
                 Arguments::Value::kMachine);
  arguments.word("--workload", workload, "the workload with its parameters", Arguments::Value::kWorkload);
  arguments.number("--nodes", nodes, "processors or nodes of the machine");
  const std::optional<SplitLine> split = split_at_dashes(argc, argv);
  std::vector<char*> before(argv, argv + argc);
  if (split) before = split->before;
  if (const auto status = arguments.parse(static_cast<int>(before.size()), before.data())) return *status;
  if (!file.empty()) {
    request.text = contents_of(file);
    request.origin = file;
  }
  const bool runs = split && !split->command.empty();
  if (request.text.empty() || runs != machine.empty() || machine.empty() != workload.empty()) {
    std::fprintf(
        stderr,
        "substrata owl: name what to count with -e or -f, and a program after '--' or --machine with "
        "--workload\n");
    return 2;
  }
  std::string probes;
  try {
    probes = probes_of_query(request);
  } catch (const std::runtime_error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  if (!output.empty()) must_be_writable(output);
  if (progress || isatty(STDERR_FILENO) != 0) request.progress_ms = kProgressMs;
  OwlTables tables(request.text);
  const int status = runs ? run_observed(split->command, request, &tables)
                          : run_workload(machine, workload, nodes, request, &tables);
  tables.resolve();
  print_all(tables, rows, json, output);
  if (tables.seen() == 0)
    std::fprintf(stderr, "substrata owl: nothing passed at %s%s\n", probes.c_str(),
                 cure_of_nothing(probes).c_str());
  return status;
}

}  // namespace substrata::tool
