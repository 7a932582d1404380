// The program `substrata`: finds the command and hands it the rest of the command line.
#include <cstdio>
#include <cstring>
#include <exception>

#include "commands.hpp"
#include "sampler/child.hpp"

namespace {

using namespace substrata::tool;

constexpr Command kCommands[] = {
    {"stat", "Run a command and print event totals", stat},
    {"record", "Run a command and record samples of events to a file", record},
    {"top", "Show current event rates and levels in the terminal", top},
    {"serve", "Serve current event values over HTTP, for Prometheus and other readers", serve},
    {"report", "Show a record: provenance, series, regions", report},
    {"export", "Write a record as CSV, JSON, Perfetto trace, OpenMetrics or OTF2", export_record},
    {"correlate", "Correlate two series of a record: lag, gain, significance", correlate},
    {"list", "List events, one per line", list},
    {"components", "List substrates: origin, availability, and the cure where one does not work", components},
    {"events", "Describe events: unit, kind, origin, availability", events},
    {"doctor", "Open every substrate and event, and report what does not work and why", doctor},
    {"check-presets", "Check preset events against kernels with known counts", check_presets},
    {"run", "Run a workload on a machine model and count events", run},
    {"replay", "Replay a recorded trace, optionally into a machine model, and count events", replay},
    {"probes", "List sources and probe points of the feed or of a trace", probes},
    {"workloads", "List machine models and workloads", workloads},
    {"import", "Convert the output of another tool to a trace: import lackey TEXT TRACE", import_trace},
    {"mpirun", "Start an MPI program with the shim that counts its messages", mpirun},
    {"module", "Manage the library of Owl modules: list, show NAME, build FILE, try NAME", module},
    {"signature", "Print the Myrinet monitor's latencies by packet size, of a trace or a workload",
     signature},
    {"completion", "Print command-line completion code for bash or zsh", completion},
    {"reproduce", "Reproduce a figure or claim of a paper and report whether it holds", reproduce},
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
    } catch (const substrata::sampler::CommandError& error) {
      std::fprintf(stderr, "substrata %s: %s\n", command.name, error.what());
      return error.status();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "substrata %s: %s\n", command.name, error.what());
      return 1;
    }
  }
  std::fprintf(stderr, "substrata: there is no command '%s'\n\n", argv[1]);
  print_usage(stderr);
  return 2;
}
