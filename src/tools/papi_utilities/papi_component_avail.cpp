// papi_component_avail: the components, which of them are active, and why others are not.
#include <cstdio>

#include "tools/arguments/arguments.hpp"
#include "tools/papi_utilities/listing.hpp"

using namespace substrata::utilities;

int main(int argc, char** argv) {
  bool detail = false;
  substrata::Arguments arguments("papi_component_avail", "Lists the components of the library.");
  arguments.flag("-d", detail, "with everything that is known of each");
  if (const auto status = arguments.parse(argc, argv)) return *status;
  start_library();
  print_machine("Available components and hardware information.");

  std::printf("Compiled-in components:\n");
  for (int i = 0; i < PAPI_num_components(); ++i) {
    const PAPI_component_info_t* info = PAPI_get_component_info(i);
    if (info == nullptr) continue;
    std::printf("Name:   %-23s %s\n", info->name, info->description);
    if (info->disabled != 0) std::printf("   \\-> Disabled: %s\n", info->disabled_reason);
    if (info->partially_disabled != 0)
      std::printf("   \\-> Partially disabled: %s\n", info->partially_disabled_reason);
    if (detail)
      std::printf(
          "                                Version: %s, support library: %s, kernel: %s\n"
          "                                Multiplexed counters: %d, kernel multiplexing: %s\n"
          "                                Domains: 0x%x (default 0x%x), granularities: 0x%x (default 0x%x)\n"
          "                                Attach: %s, CPU: %s, inherit: %s, fast read: %s\n",
          info->version, info->support_version, info->kernel_version, info->num_mpx_cntrs,
          info->kernel_multiplex != 0 ? "yes" : "no", static_cast<unsigned>(info->available_domains),
          static_cast<unsigned>(info->default_domain), static_cast<unsigned>(info->available_granularities),
          static_cast<unsigned>(info->default_granularity), info->attach != 0 ? "yes" : "no",
          info->cpu != 0 ? "yes" : "no", info->inherit != 0 ? "yes" : "no",
          info->fast_counter_read != 0 ? "yes" : "no");
  }
  std::printf("\nActive components:\n");
  for (int i = 0; i < PAPI_num_components(); ++i) {
    const PAPI_component_info_t* info = PAPI_get_component_info(i);
    if (info == nullptr || info->disabled != 0) continue;
    std::printf("Name:   %-23s %s\n", info->name, info->description);
    std::printf("%32sNative: %d, Preset: %d, Counters: %d\n", "", info->num_native_events,
                info->num_preset_events, info->num_cntrs);
    if (info->pmu_names[0] != nullptr) {
      std::printf("%32sPMUs supported: ", "");
      for (int k = 0; k < PAPI_PMU_MAX && info->pmu_names[k] != nullptr; ++k)
        std::printf("%s%s", k != 0 ? ", " : "", info->pmu_names[k]);
      std::printf("\n");
    }
    std::printf("\n");
  }
  std::printf("\n");
  print_rule(80);
  PAPI_shutdown();
  return 0;
}
