// Which events of a component a listing shows, and which qualified forms an event has.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/registry/component.hpp"

namespace substrata {

// Reads a component's catalogue as far as it has grown; opens the component. Thread-compatible.
class Listing {
 public:
  // Listings show the events that open here, and qualified forms only under the event they qualify.
  bool shows(Component& component, uint32_t index, Event* out);
  // The indices of the qualified forms of an event, by its plain name.
  const std::vector<uint32_t>& qualified(Component& component, const std::string& plain);
  bool has(Component& component, const std::string& name);
  // The names, with the component where they need it, of all its events, shown or not, by index; "" of none.
  const std::vector<std::string>& full_names(Component& component);
  void clear() noexcept {
    names_.clear();
    full_names_.clear();
  }

 private:
  struct Names {
    uint32_t scanned = 0;
    std::unordered_set<std::string> all;
    std::unordered_map<std::string, std::vector<uint32_t>> qualified;
  };
  Names& names_of(Component& component);
  std::unordered_map<int, Names> names_;
  std::unordered_map<int, std::vector<std::string>> full_names_;
};

}  // namespace substrata
