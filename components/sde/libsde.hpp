// The tool's side of whichever libsde the process holds, found by name in its global scope.
#pragma once

#include <cstdint>

// What our libsde reports of an event; type and numbers are those of its tool_interface.h.
struct substrata_sde_nature {
  std::int32_t event_class;
  std::int32_t type;
  std::int32_t mode;
};
struct substrata_sde_start;  // where a group's delta counters stood

namespace substrata_sde {

using Start = ::substrata_sde_start;

using Nature = ::substrata_sde_nature;
inline constexpr std::int32_t kWaiting = 0;
inline constexpr std::int32_t kVariable = 1;
inline constexpr std::int32_t kCallback = 2;
inline constexpr std::int32_t kCreated = 3;
inline constexpr std::int32_t kGroup = 4;
inline constexpr std::int32_t kRecorder = 5;
inline constexpr std::int32_t kQuartile = 6;
inline constexpr std::int32_t kRecorderCount = 7;
inline constexpr std::int32_t kCountingSet = 8;
inline constexpr std::int32_t kGone = 9;
inline constexpr std::int32_t kTypeDouble = 2;
inline constexpr std::int32_t kTypeFloat = 3;
inline constexpr std::int32_t kModeReadWrite = 0x01;
inline constexpr std::int32_t kModeInstant = 0x10;

// Whether the value is an address of something the reader owns.
constexpr bool is_address(const Nature& nature) {
  return nature.event_class == kRecorder || nature.event_class == kQuartile ||
         nature.event_class == kCountingSet;
}
constexpr bool is_floating(const Nature& nature) {
  return nature.type == kTypeDouble || nature.type == kTypeFloat;
}
// Whether the change since the start is reported. Groups count by their members; recorders and sets report
// their current value.
constexpr bool is_counting(const Nature& nature) {
  return (nature.event_class == kWaiting || nature.event_class == kVariable ||
          nature.event_class == kCallback || nature.event_class == kCreated) &&
         (nature.mode & kModeInstant) == 0;
}

// Frees what an address of a kind that is_address() stands for; null is allowed.
void free_address(const Nature& nature, long long address) noexcept;

// The calls. Valid as long as the libsde stays loaded, as one that a program is linked with does.
struct Libsde {
  int (*count)() = nullptr;
  char* (*name)(int) = nullptr;
  char* (*description)(int) = nullptr;
  int (*name_to_code)(const char*, std::uint32_t*) = nullptr;
  int (*read)(std::uint32_t, long long*) = nullptr;
  int (*write)(std::uint32_t, long long) = nullptr;
  int (*reset)(std::uint32_t) = nullptr;
  int (*waits_for_overflow)(std::uint32_t) = nullptr;
  int (*set_overflow)(std::uint32_t, int) = nullptr;
  int (*shutdown)() = nullptr;
  // Of our libsde only, else null: several sets can then count one event, each from its own start.
  int (*nature_of)(std::uint32_t, Nature*) = nullptr;
  int (*read_from)(std::uint32_t, const Start*, long long*, Nature*) = nullptr;
  int (*mark_start)(std::uint32_t, Start**) = nullptr;
  void (*free_start)(Start*) = nullptr;

  bool has_nature() const noexcept { return nature_of != nullptr; }
};

// False when the process holds no libsde; *out is then unchanged.
bool find_libsde(Libsde* out) noexcept;

}  // namespace substrata_sde
