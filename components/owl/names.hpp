// Texts as numbers, so that they can be keys and be compared, and the names of the objects at addresses.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace substrata::owl {

// The number of a text: the same for the same text, from 1. 0: no memory for it, or 2^20 texts are there.
uint32_t number_of(std::string_view text) noexcept;
// The text of a number; "?" of any other. Lives as long as the process.
const char* text_of(uint64_t number) noexcept;

// The objects that addresses lie in, by the number of their name; the last ones are remembered until forget().
// Thread-compatible.
class ObjectNames {
 public:
  // 0: no object is known there.
  uint64_t at(uint64_t address) noexcept {
    for (const Range& each : ranges_)
      if (address - each.low < each.length) return each.name;
    return look_up(address);
  }
  // What was freed meanwhile may be another object now.
  void forget() noexcept { ranges_ = {}; }

 private:
  struct Range {
    uint64_t low = 0;
    uint64_t length = 0;
    uint64_t name = 0;
  };
  uint64_t look_up(uint64_t address) noexcept;

  std::array<Range, 8> ranges_{};
  unsigned next_ = 0;
};

}  // namespace substrata::owl
