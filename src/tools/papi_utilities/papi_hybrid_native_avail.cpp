// papi_hybrid_native_avail: the processor's native events by type of core, for processors with more than one.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tools/arguments/arguments.hpp"
#include "tools/papi_utilities/listing.hpp"

using namespace substrata::utilities;

namespace {

struct CoreType {
  std::string pmu;         // "cpu_core", "armv8_cortex_a72"
  std::string processors;  // "0-7"
};

// The kernel gives the PMU of each type of core a file with its processors; a processor of one type has none.
std::vector<CoreType> core_types(const std::string& devices) {
  std::vector<CoreType> types;
  std::error_code none;
  for (const auto& device : std::filesystem::directory_iterator(devices, none)) {
    std::ifstream file(device.path() / "cpus");
    CoreType type{device.path().filename().string(), {}};
    if (file && std::getline(file, type.processors)) types.push_back(type);
  }
  std::sort(types.begin(), types.end(), [](const CoreType& a, const CoreType& b) { return a.pmu < b.pmu; });
  return types;
}

}  // namespace

int main(int argc, char** argv) {
  bool detail = false, no_masks = false, no_groups = false;
  std::string event, mic, devices = "/sys/bus/event_source/devices";
  NativeChoice choice;
  substrata::Arguments arguments("papi_hybrid_native_avail",
                                 "Lists the processor's native events and its types of cores.");
  arguments.flag("-d", detail, "accepted; descriptions are always shown");
  arguments.word("-e", event, "only this event, with details");
  arguments.word("-i", choice.include, "only names with this text in them");
  arguments.word("-x", choice.exclude, "no names with this text in them");
  arguments.flag("--noumasks", no_masks, "without qualifiers");
  arguments.flag("--nogroups", no_groups, "accepted; no groups are known");
  arguments.word("--mic", mic, "events of a coprocessor card; none is known");
  arguments.word("--devices", devices, "where the kernel describes its PMUs");
  if (const auto status = arguments.parse(argc, argv)) return *status;
  if (!mic.empty()) {
    std::fprintf(stderr, "papi_hybrid_native_avail: there is no coprocessor card %s\n", mic.c_str());
    return 1;
  }
  choice.qualifiers = !no_masks;
  start_library();
  print_machine("Available native events and hardware information.");
  const std::vector<CoreType> types = core_types(devices);
  if (types.size() < 2) std::printf("The processor has one type of core.\n\n");
  for (const CoreType& type : types)
    if (types.size() >= 2)
      std::printf("Core type %-20s processors %s\n", type.pmu.c_str(), type.processors.c_str());
  if (types.size() >= 2)
    std::printf("An event without a core type's name is the sum over all types; %s/EVENT/ counts on one.\n\n",
                types.front().pmu.c_str());
  if (!event.empty()) {
    PAPI_event_info_t info;
    if (!describe("papi_hybrid_native_avail", event, &info)) return 1;
    print_native_details(info);
    return 0;
  }
  print_rule(79, '=');
  std::printf(" Native Events of the Processor\n");
  print_rule(79, '=');
  std::printf("\nTotal events reported: %u\n", print_native_events(native_events(0), choice));
  PAPI_shutdown();
  return 0;
}
