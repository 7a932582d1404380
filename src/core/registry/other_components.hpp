// Substrates that serve the components of others, as the bridge does those of another PAPI.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/registry/component.hpp"
#include "core/registry/registry.hpp"

namespace substrata {

// Whether the substrate serves a component of that name: its units are components of others, and its events begin with
// their names ("cuda:::"). Opens it.
inline bool serves(Component& component, std::string_view name) {
  if (!component.has(kPrefixNeeded)) return false;
  const std::vector<std::string> units = component.units();
  return std::find(units.begin(), units.end(), name) != units.end();
}

// The substrate that serves the component, null when none does.
inline Component* server_of(Registry& registry, std::string_view name) {
  for (int i = 0; i < registry.count(); ++i)
    if (serves(*registry.at(i), name)) return registry.at(i);
  return nullptr;
}

}  // namespace substrata
