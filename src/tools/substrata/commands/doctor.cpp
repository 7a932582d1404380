// substrata doctor: opens every substrate and every event, and reports what failed, why, and the cure.
#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "recording/sampler/measuring.hpp"
#include "tools/arguments/arguments.hpp"
#include "tools/substrata/commands.hpp"

namespace substrata::tool {
using namespace sampler;
namespace {

// Events of one component that ended alike: all of them count, or all were refused for the same reason.
struct Outcome {
  bool works = false;
  bool promised = false;  // listed as available, so that a refusal is a fault
  std::string reason;     // as said of the first of the events
  std::vector<std::string> events;
};

// Counts the event for a moment: "" or what refused.
std::string count_once(int code) {
  int set = PAPI_NULL;
  if (const int status = PAPI_create_eventset(&set); status != PAPI_OK) return refusal(status);
  std::string why;
  long long value = 0;
  if (const int added = PAPI_add_event(set, code); added != PAPI_OK) {
    why = refusal(added);
  } else if (const int started = PAPI_start(set); started != PAPI_OK) {
    why = refusal(started);
  } else {
    if (const int read = PAPI_read(set, &value); read != PAPI_OK) why = refusal(read);
    if (const int stopped = PAPI_stop(set, &value); stopped != PAPI_OK && why.empty()) why = refusal(stopped);
  }
  PAPI_cleanup_eventset(set);
  PAPI_destroy_eventset(&set);
  return why;
}

// The message without what differs between events of one class: the place in a preset file and the
// native events named in quotes.
std::string class_of(std::string why, const std::string& event) {
  const auto erase_all = [&](const std::string& part, const char* by) {
    for (std::size_t at = why.find(part); !part.empty() && at != std::string::npos;
         at = why.find(part, at + 1))
      why.replace(at, part.size(), by);
  };
  erase_all(event, "*");
  for (std::size_t end = why.find(".csv:"); end != std::string::npos; end = why.find(".csv:")) {
    const std::size_t begin = why.rfind('(', end);
    const std::size_t close = why.find(')', end);
    if (begin == std::string::npos || close == std::string::npos) break;
    why.erase(begin, close + 1 - begin);
  }
  for (std::size_t begin = why.find("event '"); begin != std::string::npos;
       begin = why.find("event '", begin + 1)) {
    const std::size_t close = why.find('\'', begin + 7);
    if (close == std::string::npos) break;
    why.replace(begin, close + 1 - begin, "event");
  }
  // "/sys/class/powercap/intel-rapl:0/energy_uj may be read by root only": the same of each file.
  if (why.starts_with('/')) why.erase(0, why.find(' '));
  // A message may be cut where its field ends, so its end does not distinguish classes.
  constexpr std::size_t kDistinguishing = 100;
  why.resize(std::min(why.size(), kDistinguishing));
  return why;
}

std::vector<Outcome> try_all(const std::vector<int>& codes) {
  std::map<std::pair<bool, std::string>, Outcome> outcomes;
  for (const int code : codes) {
    const std::string name = event_name(code);
    const substrata_event event = describe(code);
    std::string why = count_once(code);
    const bool works = why.empty();
    // The listing's message is the same for a whole class of events; the refusal of one names that one.
    if (!works && event.available == 0 && event.why[0] != '\0') why = event.why;
    Outcome& outcome = outcomes[{!works && event.available != 0, class_of(why, name)}];
    outcome.works = works;
    outcome.promised = event.available != 0;
    if (outcome.events.empty()) outcome.reason = why;
    outcome.events.push_back(name);
  }
  std::vector<Outcome> list;
  for (auto& [key, outcome] : outcomes) list.push_back(std::move(outcome));
  return list;
}

// Those that are known and that listings leave out, by the reason.
void add_unavailable(int component, std::vector<Outcome>* outcomes) {
  std::map<std::string, Outcome> classes;
  for (const int code : unavailable_events(component)) {
    const std::string name = event_name(code);
    const std::string why = describe(code).why;
    Outcome& outcome = classes[class_of(why, name)];
    if (outcome.events.empty()) outcome.reason = why;
    outcome.events.push_back(name);
  }
  for (auto& [key, outcome] : classes) outcomes->push_back(std::move(outcome));
}

// Where the kernel refuses them all, the substrate lists none of its software events: what it says of one.
std::optional<Outcome> missing_software_events(const std::vector<int>& listed) {
  constexpr const char* kOne = "perf::TASK-CLOCK";
  for (const int code : listed)
    if (event_name(code).rfind("perf::", 0) == 0) return std::nullopt;
  int code = 0;
  const int status = PAPI_event_name_to_code(kOne, &code);
  std::string why = status == PAPI_OK ? count_once(code) : refusal(status);
  if (why.empty()) return std::nullopt;
  if (const substrata_event event = describe(code); status == PAPI_OK && event.available == 0)
    why = event.why;
  return Outcome{false,
                 false,
                 why + "; process:::* counts what the kernel accounts to everyone",
                 {kOne, "perf::PAGE-FAULTS", "perf::CONTEXT-SWITCHES", "perf::CPU-MIGRATIONS"}};
}

struct Finding {
  std::string name;
  std::string origin;
  std::string unavailable;  // reason and cure; empty: available
  std::vector<Outcome> outcomes;
};

std::string examples(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 3;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kShown; ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kShown) text += ", ...";
  return text;
}

void print(const Finding& finding) {
  std::printf("%s (%s)\n", finding.name.c_str(), finding.origin.c_str());
  if (!finding.unavailable.empty()) std::printf("  not available: %s\n", finding.unavailable.c_str());
  for (const Outcome& outcome : finding.outcomes) {
    const char* judgement = outcome.works      ? "ok"
                            : outcome.promised ? "FAULT, listed as available"
                                               : "not here";
    std::printf("  %s: %zu event%s (%s)\n", judgement, outcome.events.size(),
                outcome.events.size() == 1 ? "" : "s", examples(outcome.events).c_str());
    if (!outcome.works) std::printf("      %s\n", outcome.reason.c_str());
  }
  if (finding.unavailable.empty() && finding.outcomes.empty()) std::printf("  ok: has no events\n");
}

nlohmann::json as_json(const Finding& finding) {
  nlohmann::json classes = nlohmann::json::array();
  for (const Outcome& outcome : finding.outcomes)
    classes.push_back({{"works", outcome.works},
                       {"fault", !outcome.works && outcome.promised},
                       {"reason", outcome.reason},
                       {"events", outcome.events}});
  return {{"name", finding.name},
          {"origin", finding.origin},
          {"available", finding.unavailable.empty()},
          {"reason", finding.unavailable},
          {"classes", std::move(classes)}};
}

}  // namespace

int doctor(int argc, char** argv) {
  bool json = false;
  Arguments arguments(
      "substrata doctor",
      "Opens every substrate and event. Exit status 0: everything that can work here works; 1: "
      "something that should work does not.\n\n"
      "  substrata doctor           what opens here, what does not, why, and the cure\n"
      "  substrata doctor --json    the same for a script");
  arguments.flag("--json", json, "print JSON");
  if (const auto status = arguments.parse(argc, argv)) return *status;
  start_library();

  std::vector<Finding> findings;
  for (int i = 0; i < PAPI_num_components(); ++i) {
    const PAPI_component_info_t* info = PAPI_get_component_info(i);
    if (info == nullptr) continue;
    const char* origin = substrata_component_origin(i);
    Finding finding{info->name, origin != nullptr ? origin : "unknown", {}, {}};
    if (info->disabled != 0)
      finding.unavailable = info->disabled_reason;
    else
      finding.outcomes = try_all(native_events(i));
    if (finding.unavailable.empty()) add_unavailable(i, &finding.outcomes);
    if (finding.name == "perf_event" && finding.unavailable.empty())
      if (std::optional<Outcome> missing = missing_software_events(native_events(i)))
        finding.outcomes.push_back(std::move(*missing));
    findings.push_back(std::move(finding));
  }
  findings.push_back({"presets", "portable names of processor events", {}, try_all(presets())});
  std::vector<std::string> refused;
  for (unsigned i = 0; const char* message = substrata_plugin_refusal(i); ++i) refused.emplace_back(message);

  std::size_t working = 0;
  std::size_t faults = refused.size();
  for (const Finding& finding : findings)
    for (const Outcome& outcome : finding.outcomes) {
      if (outcome.works) working += outcome.events.size();
      if (!outcome.works && outcome.promised) faults += outcome.events.size();
    }
  if (working == 0) ++faults;

  if (json) {
    nlohmann::json report = {{"components", nlohmann::json::array()},
                             {"refused", refused},
                             {"events_working", working},
                             {"faults", faults}};
    for (const Finding& finding : findings) report["components"].push_back(as_json(finding));
    std::printf("%s\n", report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  } else {
    for (const Finding& finding : findings) print(finding);
    for (const std::string& message : refused) std::printf("refused: %s\n", message.c_str());
    std::printf("\n%zu events count here; %zu fault%s\n", working, faults, faults == 1 ? "" : "s");
    if (working == 0) std::printf("No event counts at all: at least one should.\n");
  }
  return faults == 0 ? 0 : 1;
}

}  // namespace substrata::tool
