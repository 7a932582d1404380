// An event's name taken apart: component, event, qualifiers.
#pragma once

#include <string_view>

namespace substrata {

// Views into the text that was taken apart. "net:::lo:rx:bytes" has the component "net" and the event
// "lo:rx:bytes"; "perf::CYCLES:u=1" has no component, the event is the whole and its plain form
// "perf::CYCLES".
struct EventSpec {
  std::string_view text;
  bool has_component = false;  // ":::" was there
  std::string_view component;  // before ":::"
  std::string_view event;      // behind it, qualifiers included
  std::string_view plain;      // the event without its qualifiers; empty when there are none
};

// Any text is an event's name; whether it is known is for the catalogue to find out.
EventSpec parse_event_spec(std::string_view text) noexcept;

}  // namespace substrata
