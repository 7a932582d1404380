// The smallest whole substrate, for tests that then change or spoil one thing of it.
#ifndef SUBSTRATA_TESTS_SUPPORT_SMALLEST_SUBSTRATE_HPP
#define SUBSTRATA_TESTS_SUPPORT_SMALLEST_SUBSTRATE_HPP

#include <substrata/substrate.h>

namespace smallest {
using namespace substrata;

inline uint32_t event_count(Device*) noexcept { return 1; }
inline Status event_at(Device*, uint32_t index, Event* out) noexcept {
  if (index != 0) return {Code::kNoEvent, 0, "one event only"};
  *out = {.name = "nothing", .text = "Always zero.", .unit = ""};
  return kSuccess;
}
inline Status create_set(Device*, Thread*, Set** out) noexcept {
  *out = nullptr;
  return kSuccess;
}
inline void destroy_set(Set*) noexcept {}
inline Status program(Set*, const uint32_t*, uint32_t) noexcept { return kSuccess; }
inline Status nothing(Set*) noexcept { return kSuccess; }
inline Status read(Set*, int64_t* values) noexcept {
  values[0] = 0;
  return kSuccess;
}

constexpr SubstrateTable table(const char* name) {
  return {.name = name,
          .summary = "The smallest substrate",
          .version = "1",
          .event_count = event_count,
          .event_at = event_at,
          .create_set = create_set,
          .destroy_set = destroy_set,
          .program = program,
          .start = nothing,
          .stop = nothing,
          .read = read,
          .reset = nothing};
}
}  // namespace smallest

#endif
