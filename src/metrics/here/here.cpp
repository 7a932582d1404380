// The layer's catalogue and registry as a source of metrics.
#include "metrics/here/here.hpp"

#include <algorithm>
#include <utility>

#include "base/environment.hpp"
#include "base/glob.hpp"
#include "core/eventset/library.hpp"
#include "core/system/system_info.hpp"
#include "core/system/timers.hpp"

namespace substrata::metrics {
namespace {

constexpr std::string_view kOwnPrefix = "metric:::";
constexpr const char* kUncore = "perf_event_uncore";

std::string note_of(const Status& status) { return status.note != nullptr ? status.note : "it is refused"; }

void expand_in(Component* component, const std::string& pattern, std::vector<std::string>* names) {
  const uint32_t count = component->event_count();
  for (uint32_t i = 0; i < count; ++i) {
    Event event;
    if (!component->event_at(i, &event).ok() || (event.flags & kEventUnavailable) != 0) continue;
    if (std::string name = component->full_name(event.name); glob(pattern, name))
      names->push_back(std::move(name));
  }
}

}  // namespace

std::unique_ptr<Library> library_of_this_machine() {
  std::vector<std::string> units;
  Registry& registry = substrata::Library::instance().registry();
  for (int i = 0; i < registry.count(); ++i) {
    if (!registry.at(i)->has(kProcessor)) continue;
    const std::vector<std::string> its = registry.at(i)->units();
    units.insert(units.end(), its.begin(), its.end());
  }
  // What libpfm4 may not know, which a counter unit of the kernel's counts.
  if (std::find(units.begin(), units.end(), "cpu") != units.end())
    if (const HardwareInfo* const machine = hardware_info())
      units.push_back(x86_unit(machine->vendor_name, machine->family, machine->family_model));
  return std::make_unique<Library>(units, environment, cycle_hz);
}

Countable in_this_process() {
  Countable out;
  out.check = [](const std::string& event, std::string* unit) -> std::string {
    if (event.starts_with(kOwnPrefix)) return event + ": metrics are not made of metrics";
    Catalogue& catalogue = substrata::Library::instance().catalogue();
    const Result<uint32_t> code = catalogue.find(event);
    if (!code) return note_of(code.error());
    const auto info = catalogue.info(*code);
    if (!info) return note_of(info.error());
    if (((*info)->flags & kEventUnavailable) != 0) return (*info)->why;
    *unit = (*info)->unit;
    return {};
  };
  out.expand = [](const std::string& pattern) {
    std::vector<std::string> names;
    // Only counter units beside the cores have names without their component in front.
    const size_t end = pattern.find(":::");
    const std::string component = end == std::string::npos ? kUncore : pattern.substr(0, end);
    if (Component* const found = substrata::Library::instance().registry().find(component);
        found != nullptr && !kOwnPrefix.starts_with(component))
      expand_in(found, pattern, &names);
    return names;
  };
  return out;
}

bool is_modelled(const Bound& bound) {
  Catalogue& catalogue = substrata::Library::instance().catalogue();
  for (const Bound::Term& term : bound.terms)
    for (const std::string& event : term.events) {
      const Result<uint32_t> code = catalogue.find(event);
      if (!code) continue;
      const auto info = catalogue.info(*code);
      if (info && ((*info)->flags & kEventModelled) != 0) return true;
    }
  return false;
}

}  // namespace substrata::metrics
