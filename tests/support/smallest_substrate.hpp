// The smallest whole substrate, for tests that then change or spoil one thing of it.
#pragma once

#include <substrata/substrate.h>

#include "base/table_of.hpp"

namespace smallest {
using namespace substrata;

struct Calls {
  static uint32_t event_count(Device*) noexcept { return 1; }
  static Status event_at(Device*, uint32_t index, Event* out) noexcept {
    if (index != 0) return {Code::kNoEvent, 0, "one event only"};
    *out = {.name = "nothing", .text = "Always zero.", .unit = ""};
    return kSuccess;
  }
  static Status create_set(Device*, Thread*, Set** out) noexcept {
    *out = nullptr;
    return kSuccess;
  }
  static void destroy_set(Set*) noexcept {}
  static Status program(Set*, const uint32_t*, uint32_t) noexcept { return kSuccess; }
  static Status start(Set*) noexcept { return kSuccess; }
  static Status stop(Set*) noexcept { return kSuccess; }
  static Status read(Set*, int64_t* values) noexcept {
    values[0] = 0;
    return kSuccess;
  }
  static Status reset(Set*) noexcept { return kSuccess; }
};

constexpr SubstrateTable table(const char* name) {
  return table_of<Calls>({.name = name, .summary = "The smallest substrate", .version = "1"});
}
}  // namespace smallest
