// substrata topology: the machine's parts, the sensors on them, and where a command's tasks ran.
#include <papi.h>
#include <poll.h>

#include <cstdio>
#include <iostream>
#include <optional>
#include <set>
#include <stdexcept>

#include "base/whole_file.hpp"
#include "recording/placement.hpp"
#include "recording/reader.hpp"
#include "recording/sampler/child.hpp"
#include "recording/sampler/measuring.hpp"
#include "recording/sampler/placement_watch.hpp"
#include "recording/sampler/run.hpp"
#include "recording/topology/drawing.hpp"
#include "recording/topology/machine.hpp"
#include "recording/topology/sensors.hpp"
#include "tools/arguments/arguments.hpp"
#include "tools/substrata/commands.hpp"

namespace substrata::tool {
using namespace sampler;
namespace {

constexpr const char* kUsage =
    "Shows packages, caches, cores, memory and devices of the machine, with the events of the sensors on "
    "them. "
    "With a recording or a command, also where its tasks ran, how long they waited for a processor and how "
    "often "
    "they moved, and warns of ranks that share a core.\n\n"
    "  substrata topology\n"
    "  substrata topology --svg machine.svg\n"
    "  substrata topology -- mpirun -n 4 ./program\n"
    "  substrata topology run.sub\n"
    "  substrata topology --input 'package:2 core:4 pu:2'     a machine that is not here\n\n"
    "Cores, packages and memory are numbered from 0 over the machine, processors as the system has them. The "
    "exit "
    "status is the command's.";

// Events that measure a part of the machine and open here; of an interface all of them are one.
std::vector<topology::Sensor> sensors_here() {
  start_library();
  std::vector<topology::Sensor> out;
  std::set<std::string> interfaces;
  for (const char* component : {"coretemp", "powercap", "nvml", "net"}) {
    const int index = PAPI_get_component_index(component);
    for (const int code : index >= 0 ? native_events(index) : std::vector<int>()) {
      PAPI_event_info_t info;
      if (PAPI_get_event_info(code, &info) != PAPI_OK || describe(code).available == 0) continue;
      std::string name = info.symbol;
      const std::string what = name.substr(name.rfind(':') + 1);
      if (std::string(component) == "net") {
        name = name.substr(0, name.find(':', 6)) + ":*";  // net:::eth0:*
        if (name.rfind("net:::", 0) != 0 || !interfaces.insert(name).second) continue;
      } else if (std::string(component) == "powercap") {
        if (name.find(":::ENERGY_UJ") == std::string::npos) continue;
      } else if (std::string(component) == "nvml") {
        if (what != "power" && what != "temperature") continue;
      } else if (name.find("::thermal-") != std::string::npos
                     ? what != "temp"
                     : describe(code).kind != 1 || std::string(info.units) != "mdegC") {
        continue;
      }
      if (std::string(component) == "coretemp")
        for (const char* limit : {"max", "min", "crit", "lcrit", "emergency"})
          if (what == limit) name.clear();
      if (!name.empty()) out.push_back({name, info.long_descr});
    }
  }
  return out;
}

// Runs the command, and looks where it is until it ends.
recording::Placement watch(const std::vector<std::string>& command, int* status) {
  constexpr std::int64_t kBetweenLooks = 10'000'000;
  Child child(command, {});
  PlacementWatch places(child.pid(), {.least_ns = kBetweenLooks, .times = 100});
  child.go();
  pollfd end{child.signals(), POLLIN, 0};
  bool ended = false;
  while (!ended) {
    poll(&end, 1, static_cast<int>(kBetweenLooks / 1'000'000));
    ended = child.take_signals();
    places.look();
  }
  rusage used{};
  *status = child.reap(&used);
  return places.result();
}

}  // namespace

int topology(int argc, char** argv) {
  std::string svg, input, record;
  bool json = false;
  Arguments arguments("substrata topology", kUsage);
  arguments.word("--svg", svg, "write a picture to this file instead of the text", Arguments::Value::kFile);
  arguments.flag("--json", json, "print JSON");
  arguments.word("--input", input, "another machine: a file of hwloc's XML, or a synthetic description",
                 Arguments::Value::kFile);
  arguments.word("FILE", record, "a recording: where its tasks ran", Arguments::Value::kFile);
  const std::optional<SplitLine> split = split_at_dashes(argc, argv);
  std::vector<char*> before(argv, argv + argc);
  if (split) before = split->before;
  if (const auto status = arguments.parse(static_cast<int>(before.size()), before.data())) return *status;
  const bool runs = split && !split->command.empty();
  if (runs && (!record.empty() || !input.empty())) {
    std::fprintf(stderr, "substrata topology: a command runs on this machine; leave out FILE and --input\n");
    return 2;
  }

  if (!svg.empty()) must_be_writable(svg);
  topology::Machine machine = topology::load(input);
  if (input.empty() && record.empty()) topology::place_sensors(sensors_here(), &machine);
  std::vector<recording::Placement> placements;
  int status = 0;
  if (runs) placements.push_back(watch(split->command, &status));
  if (!record.empty()) {
    placements = recording::placements_of(recording::read_file(record));
    if (placements.empty())
      throw std::runtime_error("'" + record +
                               "' does not say where its tasks ran: it was made by an older "
                               "version, or reduced");
  }
  // What a command prints is its own: the report stands beside it, as that of `substrata stat`.
  std::ostream& out = runs ? std::cerr : std::cout;
  if (!svg.empty()) {
    write_whole(svg, [&](std::ostream& to) {
      topology::write_svg(to, machine, placements.size() == 1 ? &placements.front() : nullptr);
    });
  }
  if (json) {
    out << "{\"machine\":\n";
    topology::write_json(out, machine);
    for (std::size_t i = 0; i < placements.size(); ++i)
      out << (i == 0 ? ",\"placements\":[" : ",\n") << recording::placement_as_json(placements[i]);
    out << (placements.empty() ? "}\n" : "]}\n");
    return status;
  }
  // The machine of a recording may be another one than this.
  if (svg.empty() && record.empty()) topology::write_text(out, machine);
  for (const recording::Placement& placement : placements) {
    out << "\n";
    topology::write_tasks(out, placement);
    topology::write_findings(out, recording::placement_findings(placement));
  }
  return status;
}

}  // namespace substrata::tool
