// Reads component catalogues for listings.
#include "core/events/listing.hpp"

#include <algorithm>

#include "core/events/event_spec.hpp"

namespace substrata {

Listing::Names& Listing::names_of(Component& component) {
  Names& names = names_[component.index()];
  const uint32_t count = component.event_count();
  for (; names.scanned < count; ++names.scanned) {
    Event event;
    if (!component.event_at(names.scanned, &event).ok()) continue;
    names.all.emplace(event.name);
    if (!component.has(kCounterUmasks)) continue;
    const EventSpec spec = parse_event_spec(event.name);
    if (!spec.plain.empty()) names.qualified[std::string(spec.plain)].push_back(names.scanned);
  }
  return names;
}

bool Listing::shows(Component& component, uint32_t index, Event* out) {
  if (!component.event_at(index, out).ok()) return false;
  if ((out->flags & kEventUnavailable) != 0) return false;
  if (!component.has(kCounterUmasks)) return true;
  const EventSpec spec = parse_event_spec(out->name);
  return spec.plain.empty() || !has(component, std::string(spec.plain));
}

const std::vector<uint32_t>& Listing::qualified(Component& component, const std::string& plain) {
  static const std::vector<uint32_t> none;
  const Names& names = names_of(component);
  const auto found = names.qualified.find(plain);
  return found != names.qualified.end() ? found->second : none;
}

const std::vector<std::string>& Listing::full_names(Component& component) {
  std::vector<std::string>& names = full_names_[component.index()];
  const uint32_t count = component.event_count();
  names.resize(std::max<size_t>(names.size(), count));
  for (uint32_t index = 0; index < count; ++index) {
    Event event;
    if (names[index].empty() && component.event_at(index, &event).ok())
      names[index] = component.full_name(event.name);
  }
  return names;
}

bool Listing::has(Component& component, const std::string& name) {
  return names_of(component).all.contains(name);
}

}  // namespace substrata
