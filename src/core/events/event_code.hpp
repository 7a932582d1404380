// The numbers by which clients name events: presets, native events and user-defined events.
#pragma once

#include <cstdint>

namespace substrata {

inline constexpr uint32_t kPresetMask = 0x80000000u;
inline constexpr uint32_t kNativeMask = 0x40000000u;
inline constexpr uint32_t kUserMask = 0xC0000000u;  // both bits: a user-defined event
inline constexpr uint32_t kIndexMask = 0x3FFFFFFFu;

enum class CodeKind { kNone, kPreset, kNative, kUser };

constexpr CodeKind kind_of(uint32_t code) noexcept {
  switch (code & kUserMask) {
    case kPresetMask:
      return CodeKind::kPreset;
    case kNativeMask:
      return CodeKind::kNative;
    case kUserMask:
      return CodeKind::kUser;
    default:
      return CodeKind::kNone;
  }
}
constexpr uint32_t index_of(uint32_t code) noexcept { return code & kIndexMask; }

}  // namespace substrata
