// How this machine forms each preset, found out once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/registry/registry.hpp"

namespace substrata {

// Thread-compatible.
class PresetRecipes {
 public:
  explicit PresetRecipes(Registry& registry) : registry_(registry) {}

  struct Answer {
    bool asked = false;
    bool available = false;  // its events were opened, started and stopped together here
    int component = -1;
    Recipe recipe{};
    std::string why;  // unavailable: reason and cure
  };
  // `preset` is below kPresetCount. Opens the processors at the first question about a preset.
  const Answer& of(uint32_t preset);
  void clear() noexcept { answers_.clear(); }

 private:
  Registry& registry_;
  std::vector<Answer> answers_;
};

}  // namespace substrata
