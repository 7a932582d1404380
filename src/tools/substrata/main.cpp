// The program `substrata`: finds the command and hands it the rest of the command line.
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "base/nearest.hpp"
#include "recording/sampler/child.hpp"
#include "tools/arguments/failing.hpp"
#include "tools/substrata/commands.hpp"

namespace {

using namespace substrata::tool;

constexpr Command kCommands[] = {
    {"stat", "Run a command and print event totals", stat},
    {"record", "Run a command and record samples of events to a file", record},
    {"top", "Show current event rates and levels in the terminal", top},
    {"serve", "Serve current event values over HTTP, for Prometheus and other readers", serve},
    {"report", "Show a recording: provenance, series, regions", report},
    {"compare", "Compare recordings before and after a change: findings, numbers, regions, noise", compare},
    {"export", "Write a recording as CSV, JSON, Perfetto trace, OpenMetrics or OTF2", export_record},
    {"correlate", "Correlate two series of a recording: lag, gain, significance", correlate},
    {"roofline", "Measure the machine's roofs and show a program and its regions below them", roofline},
    {"topology", "Show the machine's parts with their sensors, and which tasks of a command ran where",
     topology},
    {"accesses", "Run a program compiled with substrata-cc and print its memory accesses", accesses},
    {"list", "List events, one per line", list},
    {"components", "List substrates: origin, availability, and the cure where one does not work", components},
    {"events", "Describe events: unit, kind, origin, availability", events},
    {"doctor", "Open every substrate and event, and report what does not work and why", doctor},
    {"machine", "Record the files that substrates read of a machine, and run commands on such a recording",
     machine},
    {"check-presets", "Check preset events against kernels with known counts", check_presets},
    {"run", "Run a workload on a machine model and count events", run},
    {"replay", "Replay a recorded trace, optionally into a machine model, and count events", replay},
    {"probes", "List sources and probe points of the feed or of a trace", probes},
    {"workloads", "List machine models and workloads", workloads},
    {"import", "Convert the output of another tool to a trace: import lackey TEXT TRACE", import_trace},
    {"mpirun", "Start an MPI program with the shim that counts its messages", mpirun},
    {"owl", "Run a command and print what a line of the Owl language counts in it", owl},
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

std::string nearest_command(std::string_view word) {
  std::vector<std::string_view> names;
  for (const Command& command : kCommands) names.emplace_back(command.name);
  return std::string(substrata::nearest(word, names));
}

}  // namespace

std::span<const Command> substrata::tool::commands() { return kCommands; }

int main(int argc, char** argv) {
  substrata::fail_loudly();
  if (argc < 2) {
    print_usage(stderr);
    return 2;
  }
  char help[] = "--help";
  char* of_command[] = {argv[0], argv[1], help, nullptr};
  const bool about_command = std::strcmp(argv[1], "help") == 0 && argc > 2;
  if (about_command) {
    of_command[1] = argv[2];
    argv = of_command;
    argc = 3;
  } else if (std::strcmp(argv[1], "--help") == 0 || std::strcmp(argv[1], "-h") == 0 ||
             std::strcmp(argv[1], "help") == 0) {
    print_usage(stdout);
    return 0;
  }
  if (std::strcmp(argv[1], "--version") == 0) {
    std::printf("substrata %s\n", SUBSTRATA_VERSION);
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
  std::fprintf(stderr, "substrata: there is no command '%s'", argv[1]);
  const std::string near = nearest_command(argv[1]);
  if (!near.empty()) {
    std::fprintf(stderr, "; did you mean '%s'?\n", near.c_str());
    return 2;
  }
  std::fprintf(stderr, "\n\n");
  print_usage(stderr);
  return 2;
}
