// papi_xml_event_info: the machine, its components and events as XML.
#include <cstdio>
#include <limits>

#include "tools/arguments/arguments.hpp"
#include "tools/papi_utilities/listing.hpp"

using namespace substrata::utilities;

namespace {

// Text for an attribute. Bytes that XML 1.0 forbids become '?'.
std::string escaped(const char* text) {
  std::string out;
  for (const char* at = text; *at != '\0'; ++at) {
    switch (*at) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&apos;";
        break;
      case '\n':
      case '\t':
        out += ' ';
        break;
      default:
        out += static_cast<unsigned char>(*at) < 0x20 ? '?' : *at;
    }
  }
  return out;
}

void print_hardware() {
  const PAPI_hw_info_t* hardware = PAPI_get_hardware_info();
  if (hardware == nullptr) return;
  std::printf(
      "<hardware>\n  <vendor string=\"%s\"/>\n  <vendorCode value=\"%d\"/>\n  <model string=\"%s\"/>\n",
      escaped(hardware->vendor_string).c_str(), hardware->vendor, escaped(hardware->model_string).c_str());
  std::printf("  <modelCode value=\"%d\"/>\n  <cpuRevision value=\"%f\"/>\n", hardware->model,
              static_cast<double>(hardware->revision));
  std::printf(
      "  <cpuID>\n    <family value=\"%d\"/>\n    <model value=\"%d\"/>\n    <stepping value=\"%d\"/>\n  "
      "</cpuID>\n",
      hardware->cpuid_family, hardware->cpuid_model, hardware->cpuid_stepping);
  std::printf("  <cpuMaxMegahertz value=\"%d\"/>\n  <cpuMinMegahertz value=\"%d\"/>\n", hardware->cpu_max_mhz,
              hardware->cpu_min_mhz);
  std::printf(
      "  <threads value=\"%d\"/>\n  <cores value=\"%d\"/>\n  <sockets value=\"%d\"/>\n  <nodes "
      "value=\"%d\"/>\n",
      hardware->threads, hardware->cores, hardware->sockets, hardware->nnodes);
  std::printf("  <cpuPerNode value=\"%d\"/>\n  <totalCPUs value=\"%d\"/>\n</hardware>\n", hardware->ncpu,
              hardware->totalcpus);
}

// Whether an event fits beside the given ones; always, when none were given.
class Filter {
 public:
  ~Filter() {
    if (set_ == PAPI_NULL) return;
    PAPI_cleanup_eventset(set_);
    PAPI_destroy_eventset(&set_);
  }
  int add(const std::string& name) {
    if (set_ == PAPI_NULL)
      if (const int status = PAPI_create_eventset(&set_); status != PAPI_OK) return status;
    return PAPI_add_named_event(set_, name.c_str());
  }
  bool passes(int code) {
    if (set_ == PAPI_NULL) return true;
    if (PAPI_add_event(set_, code) != PAPI_OK) return false;
    PAPI_remove_event(set_, code);
    return true;
  }

 private:
  int set_ = PAPI_NULL;
};

void print_natives(int component, Filter& filter) {
  std::printf("  <eventset type=\"NATIVE\">\n");
  unsigned index = 0;
  for (const int code : native_events(component)) {
    PAPI_event_info_t info;
    if (PAPI_get_event_info(code, &info) != PAPI_OK || !filter.passes(code)) continue;
    std::printf("    <event index=\"%u\" name=\"%s\" desc=\"%s\">\n", index++, escaped(info.symbol).c_str(),
                escaped(info.long_descr).c_str());
    const std::string event = info.symbol;
    for (const int qualifier : qualifiers(code, component)) {
      if (PAPI_get_event_info(qualifier, &info) != PAPI_OK) continue;
      const Qualifier own = own_part(info, event);
      std::printf("      <modifier name=\"%s\" desc=\"%s\"> </modifier>\n", escaped(own.name.c_str()).c_str(),
                  escaped(own.text.c_str()).c_str());
    }
    std::printf("    </event>\n");
  }
  std::printf("  </eventset>\n");
}

void print_presets(int component, Filter& filter) {
  std::printf("  <eventset type=\"PRESET\">\n");
  unsigned index = 0;
  for (const int code : presets()) {
    PAPI_event_info_t info;
    if (PAPI_get_event_info(code, &info) != PAPI_OK || info.count == 0) continue;
    if (PAPI_get_event_component(code) != component || !filter.passes(code)) continue;
    std::printf("    <event index=\"%u\" name=\"%s\" desc=\"%s\" derived=\"%s\">\n", index++,
                escaped(info.symbol).c_str(), escaped(info.long_descr).c_str(),
                is_derived(info) ? "Yes" : "No");
    std::printf("    </event>\n");
  }
  std::printf("  </eventset>\n");
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
  bool only_presets = false, only_natives = false;
  std::uint64_t chosen = kAll;
  std::vector<std::string> names;
  substrata::Arguments arguments("papi_xml_event_info", "Prints components and events as XML.");
  arguments.flag("-p", only_presets, "only presets");
  arguments.flag("-n", only_natives, "only native events");
  arguments.number("-c", chosen, "only the component of this index");
  arguments.words("EVENTS", names, "only events that can be counted beside these");
  if (const auto status = arguments.parse(argc, argv)) return *status;
  start_library();
  if (chosen != kAll && chosen >= static_cast<std::uint64_t>(PAPI_num_components())) {
    std::fprintf(stderr, "papi_xml_event_info: there is no component %llu\n",
                 static_cast<unsigned long long>(chosen));
    return 1;
  }
  Filter filter;
  for (const std::string& name : names)
    if (const int status = filter.add(name); status != PAPI_OK) {
      std::fprintf(stderr, "papi_xml_event_info: %s: %s\n", name.c_str(), message(status).c_str());
      return 1;
    }
  std::printf("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<eventinfo>\n");
  print_hardware();
  for (int component = 0; component < PAPI_num_components(); ++component) {
    if (chosen != kAll && chosen != static_cast<std::uint64_t>(component)) continue;
    const PAPI_component_info_t* info = PAPI_get_component_info(component);
    if (info == nullptr) continue;
    const std::string name = info->name;
    std::printf("<component index=\"%d\" type=\"%s\" id=\"%s\">\n", component,
                name == "perf_event" ? "CPU" : "Unknown", escaped(name.c_str()).c_str());
    if (!only_presets) print_natives(component, filter);
    if (!only_natives) print_presets(component, filter);
    std::printf("</component>\n");
  }
  std::printf("</eventinfo>\n");
  PAPI_shutdown();
  return 0;
}
