// Prints what the environment made of the library: "privileged N", "plugin N", "user_event N", "example_disabled N",
// "processors N", "kernel_events N", one a line. Also measures a region, whose report goes where the environment says.
#include <papi.h>
#include <sys/auxv.h>

#include <cstdio>

// A leak sanitizer cannot look into a program with raised rights.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

namespace {

int native_events(const char* component) {
  const int index = PAPI_get_component_index(component);
  const PAPI_component_info_t* const info = index >= 0 ? PAPI_get_component_info(index) : nullptr;
  return info != nullptr ? info->num_native_events : -1;
}

}  // namespace

int main() {
  std::printf("privileged %d\n", getauxval(AT_SECURE) != 0 ? 1 : 0);
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) return 1;
  std::printf("plugin %d\n", PAPI_get_component_index("faulty") >= 0 ? 1 : 0);
  int code = 0;
  std::printf("user_event %d\n", PAPI_event_name_to_code("OF_THE_ENVIRONMENT", &code) == PAPI_OK ? 1 : 0);
  const PAPI_component_info_t* const example = PAPI_get_component_info(PAPI_get_component_index("example"));
  std::printf("example_disabled %d\n", example != nullptr && example->disabled != 0 ? 1 : 0);
  const PAPI_hw_info_t* const hardware = PAPI_get_hardware_info();
  std::printf("processors %d\n", hardware != nullptr ? hardware->totalcpus : 0);
  std::printf("kernel_events %d\n", native_events("perf_event"));
  PAPI_hl_region_begin("region");
  PAPI_hl_region_end("region");
  PAPI_hl_stop();
  return 0;
}
