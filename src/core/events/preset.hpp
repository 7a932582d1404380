// The presets of the C interface: their names, numbers, classes and descriptions.
#pragma once

#include <cstdint>
#include <string_view>

namespace substrata {

// Classes of presets. The values are the PAPI_PRESET_BIT_* of generation 7.3; generation 7.0's are half of
// them.
enum PresetBits : uint32_t {
  kPresetMisc = 1u << 4,
  kPresetInstructions = 1u << 5,
  kPresetIdle = 1u << 6,
  kPresetBranch = 1u << 7,
  kPresetConditional = 1u << 8,
  kPresetMemory = 1u << 9,
  kPresetCache = 1u << 10,
  kPresetL1 = 1u << 11,
  kPresetL2 = 1u << 12,
  kPresetL3 = 1u << 13,
  kPresetTlb = 1u << 14,
  kPresetFloat = 1u << 15,
};

struct Preset {
  const char* name;        // "PAPI_TOT_CYC"
  const char* short_text;  // at most 63 bytes
  const char* text;
  uint32_t bits;
};

// Generation 7.0 knows the first 108, generation 7.3 all.
inline constexpr uint32_t kPresetCount70 = 108;
inline constexpr uint32_t kPresetCount = 110;

// Null outside 0..kPresetCount-1. Constant data.
const Preset* preset_at(uint32_t index) noexcept;
// The index of a name (case matters), or -1.
int find_preset(std::string_view name) noexcept;

}  // namespace substrata
