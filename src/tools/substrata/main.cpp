// The program `substrata`: finds the command and hands it the rest of the command line.
#include <cstdio>
#include <cstring>
#include <exception>

#include "commands.hpp"

namespace {

using namespace substrata::tool;

constexpr Command kCommands[] = {
    {"stat", "runs a command and tells what its events came to", stat},
    {"record", "runs a command and samples events of all substrates over time, into a file", record},
    {"top", "events as they count now, in the terminal", top},
    {"serve", "events as they count now, over HTTP for Prometheus and others", serve},
    {"report", "shows a record: provenance, every series, regions", report},
    {"export", "writes a record as CSV, JSON, Perfetto trace, OpenMetrics or OTF2", export_record},
    {"correlate", "how two series of a record go together: lag, gain, significance", correlate},
    {"list", "the events in one line each", list},
    {"components", "the substrates: where each comes from, whether it works here, why not and the cure",
     components},
    {"events", "the events, with unit, kind, origin and whether they open here", events},
    {"doctor", "opens every substrate and event for real and says what does not work and why", doctor},
    {"check-presets", "holds the preset events against kernels of known counts", check_presets},
    {"run", "runs a workload on a machine model, with events counted", run},
    {"replay", "replays a recorded trace, into a machine model if asked, with events counted", replay},
    {"probes", "the sources and probe points of the feed, or of a trace", probes},
    {"workloads", "the machine models and the workloads they run", workloads},
    {"import", "turns the text of another tool into a trace: import lackey TEXT TRACE", import_trace},
    {"mpirun", "starts an MPI program with the shim that counts its messages", mpirun},
    {"module", "the library of Owl modules: list, show NAME, build FILE, try NAME", module},
    {"signature", "the Myrinet monitor's latencies by packet size, of a trace or a workload", signature},
    {"completion", "what a shell needs to complete command lines: bash, zsh", completion},
    {"reproduce", "runs a figure or claim of a paper anew and says whether it holds", reproduce},
};

void print_usage(std::FILE* to) {
  std::fprintf(to, "Usage: substrata COMMAND [OPTIONS]\n\nCommands (each with --help):\n");
  for (const Command& command : kCommands) std::fprintf(to, "  %-14s %s\n", command.name, command.summary);
}

}  // namespace

std::span<const Command> substrata::tool::commands() { return kCommands; }

int main(int argc, char** argv) {
  if (argc < 2) {
    print_usage(stderr);
    return 2;
  }
  if (std::strcmp(argv[1], "--help") == 0 || std::strcmp(argv[1], "-h") == 0 ||
      std::strcmp(argv[1], "help") == 0) {
    print_usage(stdout);
    return 0;
  }
  for (const Command& command : kCommands) {
    if (std::strcmp(argv[1], command.name) != 0) continue;
    try {
      return command.run(argc - 1, argv + 1);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "substrata %s: %s\n", command.name, error.what());
      return 1;
    }
  }
  std::fprintf(stderr, "substrata: there is no command '%s'\n\n", argv[1]);
  print_usage(stderr);
  return 2;
}
