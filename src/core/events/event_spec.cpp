// Divides an event's name at its colons.
#include "core/events/event_spec.hpp"

namespace substrata {

EventSpec parse_event_spec(std::string_view text) noexcept {
  constexpr std::string_view kComponentMark = ":::";
  EventSpec spec;
  spec.text = spec.event = text;
  if (const size_t mark = text.find(kComponentMark); mark != std::string_view::npos) {
    spec.has_component = true;
    spec.component = text.substr(0, mark);
    spec.event = text.substr(mark + kComponentMark.size());
  }
  // A field's own prefix ("perf::") is part of the plain event.
  const size_t prefix = spec.event.rfind("::");
  const size_t colon = spec.event.find(':', prefix == std::string_view::npos ? 0 : prefix + 2);
  if (colon != std::string_view::npos) spec.plain = spec.event.substr(0, colon);
  return spec;
}

}  // namespace substrata
