// Event names with qualifiers, "L1_MISSES:cpu=3:l1=32K": parsed against what a monitor has, and made
// canonical.
#pragma once

#include <substrata/substrate.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace substrata::counting {

// A qualifier: "key=number", "key=low-high" where ranges are allowed, or "key=name" where values have names.
// Numbers are decimal or 0x hexadecimal, with an optional K, M or G (2^10, 2^20, 2^30).
struct Qualifier {
  const char* key;
  const char* text;  // one line, with the unit and the value that holds when it is absent
  uint64_t least = 0;
  uint64_t most = ~uint64_t{0};
  bool range = false;
  const char* names = nullptr;  // "first|second|...": what may be written instead of least, least + 1, ...
};

// An event before qualifiers. `qualifiers`: bit i allows the i-th of the monitor's qualifiers.
struct EventDescription {
  const char* name;
  const char* text;
  const char* unit = "";
  ValueKind kind = ValueKind::kCount;
  uint32_t width_bits = 64;
  uint32_t flags = kEventModelled | kEventScopeNode;
  uint64_t qualifiers = ~uint64_t{0};
  const char* why = nullptr;  // of one that is known by name only: reason and cure
};

// One qualifier's value in a request.
struct QualifierValue {
  bool given = false;
  uint64_t low = 0;
  uint64_t high = 0;  // equal to low unless a range was written
};

// A parsed name: the event, and a value for each of the monitor's qualifiers.
struct Request {
  uint32_t event = 0;
  std::vector<QualifierValue> qualifiers;
  uint64_t value_or(size_t qualifier, uint64_t absent) const noexcept {
    return qualifiers[qualifier].given ? qualifiers[qualifier].low : absent;
  }
};

// Parses `name`. kNoEvent: no such event; kAttribute: a qualifier that is unknown, doubled, not allowed for
// this event, malformed or out of its bounds. May throw std::bad_alloc.
Status parse_event_name(std::span<const EventDescription> events, std::span<const Qualifier> qualifiers,
                        std::string_view name, Request* out);

// The one spelling of a request: qualifiers in the monitor's order, numbers decimal.
std::string canonical_name(std::span<const EventDescription> events, std::span<const Qualifier> qualifiers,
                           const Request& request);

}  // namespace substrata::counting
