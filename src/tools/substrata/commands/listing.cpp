// substrata components, events, list: what can be measured.

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/glob.hpp"
#include "recording/sampler/event_spec.hpp"
#include "recording/sampler/measuring.hpp"
#include "tools/arguments/arguments.hpp"
#include "tools/substrata/commands.hpp"

namespace substrata::tool {
using namespace sampler;
namespace {

// The presets and native events whose name has that text in it, or matches it if it has '*' or '?' in it.
std::vector<int> matching_events(std::string pattern) {
  if (pattern.find_first_of("*?") == std::string::npos) pattern = "*" + pattern + "*";
  std::vector<int> codes = presets();
  for (int i = 0; i < PAPI_num_components(); ++i) {
    // Of an event that does not open for want of a descriptor the other list may find that it does: asked for in this
    // order it is in both then, and not in neither.
    std::vector<int> closed = unavailable_events(i);
    const std::vector<int> open = native_events(i);
    const std::set<int> known(open.begin(), open.end());
    std::erase_if(closed, [&](int code) { return known.contains(code); });
    codes.insert(codes.end(), open.begin(), open.end());
    codes.insert(codes.end(), closed.begin(), closed.end());
  }
  std::erase_if(codes, [&](int code) {
    const std::string name = event_name(code);
    return name.empty() || !glob(pattern, name);
  });
  return codes;
}

// An event once, with its other names.
struct Listed {
  std::string name;
  std::string text;
  int component;
  substrata_event event;
  std::string others;
};

// Names of one event have one text; the kernel's constant is the last choice for its name.
void add(std::vector<Listed>* listed, int code, const std::string& name, const substrata_event& event) {
  PAPI_event_info_t info{};
  PAPI_get_event_info(code, &info);
  const int component = PAPI_get_event_component(code);
  const auto same = std::find_if(listed->begin(), listed->end(), [&](const Listed& one) {
    return one.component == component && one.text == info.long_descr &&
           event.available == one.event.available;
  });
  if (same == listed->end() || IS_PRESET(code) || info.long_descr[0] == '\0') {
    listed->push_back({name, info.long_descr, component, event, {}});
    return;
  }
  std::string other = name;
  if (same->name.find("PERF_COUNT_") != std::string::npos) std::swap(same->name, other);
  same->others += (same->others.empty() ? "" : ", ") + other;
}

void take_pattern(Arguments* arguments, std::string* pattern) {
  arguments->word("PATTERN", *pattern,
                  "only names that contain this text or match it ('*', '?' are wildcards)",
                  Arguments::Value::kEvents);
}

}  // namespace

int components(int argc, char** argv) {
  Arguments arguments("substrata components",
                      "Lists the substrates: origin, whether each works here, and if not, why.");
  if (const auto status = arguments.parse(argc, argv)) return *status;
  start_library();
  for (int i = 0; i < PAPI_num_components(); ++i) {
    const PAPI_component_info_t* info = PAPI_get_component_info(i);
    if (info == nullptr) continue;
    const char* origin = substrata_component_origin(i);
    std::printf("%-20s %s\n", info->name, info->description);
    std::printf("%-20s origin: %s\n", "", origin != nullptr ? origin : "unknown");
    if (info->disabled != 0)
      std::printf("%-20s not available: %s\n", "", info->disabled_reason);
    else
      std::printf("%-20s available: %d native events, %d presets, %d counters per set\n", "",
                  info->num_native_events, info->num_preset_events, info->num_cntrs);
  }
  for (unsigned i = 0;; ++i) {
    const char* message = substrata_plugin_refusal(i);
    if (message == nullptr) break;
    if (i == 0) std::printf("\nRefused:\n");
    std::printf("  %s\n", message);
  }
  return 0;
}

int events(int argc, char** argv) {
  std::string pattern;
  bool available = false;
  Arguments arguments("substrata events",
                      "Lists events with unit, kind, origin and availability.\n\n"
                      "  substrata events temperature\n"
                      "  substrata events --available 'perf::*'");
  take_pattern(&arguments, &pattern);
  arguments.flag("-a,--available", available, "only events that can be opened here");
  if (const auto status = arguments.parse(argc, argv)) return *status;
  start_library();

  unsigned listed = 0;
  unsigned open = 0;
  for (const int code : matching_events(pattern)) {
    PAPI_event_info_t info;
    if (PAPI_get_event_info(code, &info) != PAPI_OK) continue;
    const substrata_event event = describe(code);
    if (available && event.available == 0) continue;
    std::printf(
        "%s\n    %s\n    %s, %s, unit: %s; %s%s\n", info.symbol, info.long_descr, kind_name(event.kind),
        origin_name(event), event.unit[0] != '\0' ? event.unit : "none",
        event.available != 0 ? "available" : "not available: ", event.available != 0 ? "" : event.why);
    ++listed;
    open += event.available;
  }
  std::printf("%s%u events, %u available\n", listed != 0 ? "\n" : "", listed, open);
  return listed != 0 ? 0 : 1;
}

int list(int argc, char** argv) {
  std::string pattern;
  bool all = false;
  Arguments arguments("substrata list",
                      "Lists the events that can be opened here, one per line: name, unit, kind, origin, and "
                      "other names of the "
                      "same event. `substrata events` describes them. Of the example substrate, and of "
                      "substrates that are there "
                      "on request, only what the pattern names.\n\n"
                      "  substrata list\n"
                      "  substrata list 'net:::lo:*'\n"
                      "  substrata list thermal\n"
                      "  substrata list --all perf::");
  take_pattern(&arguments, &pattern);
  arguments.flag("-a,--all", all, "also events that cannot be opened here, with the reason");
  if (const auto status = arguments.parse(argc, argv)) return *status;
  const std::string word = pattern.substr(0, pattern.find_first_of(":*?"));
  const ModelSetting model(
      {word.size() >= 4 && std::string_view("thermal_model").starts_with(word) ? "thermal_model" : pattern});
  start_library();

  std::vector<Listed> listed;
  std::size_t closed = 0;
  for (const int code : matching_events(pattern)) {
    const std::string name = event_name(code);
    const substrata_event event = describe(code);
    if (word.empty() && !all && name.starts_with("example:::")) continue;
    if (event.available == 0) ++closed;
    if (event.available != 0 || all) add(&listed, code, name, event);
  }
  for (const Listed& one : listed)
    std::printf(
        "%-52s %-10s %-6s %-9s%s%s%s%s\n", one.name.c_str(), one.event.unit, kind_name(one.event.kind),
        origin_name(one.event), one.others.empty() ? "" : " also ", one.others.c_str(),
        one.event.available != 0 ? "" : " not available: ", one.event.available != 0 ? "" : one.event.why);
  if (listed.empty() && closed != 0)
    std::fprintf(stderr, "substrata list: %zu events match and cannot be opened here; --all shows why\n",
                 closed);
  else if (listed.empty() && word == "mpi")
    std::fprintf(
        stderr,
        "substrata list: messages (mpi:::*) are counted by `substrata stat` and `substrata record` of "
        "commands that begin with mpirun, not by a substrate\n");
  else if (listed.empty())
    std::fprintf(stderr, "substrata list: no event matches '%s'\n", pattern.c_str());
  return listed.empty() ? 1 : 0;
}

}  // namespace substrata::tool
