// Reads a user-defined-events file (PAPI_USER_EVENTS_FILE): named formulas over other events.
#ifndef SUBSTRATA_EVENTS_USER_EVENTS_HPP
#define SUBSTRATA_EVENTS_USER_EVENTS_HPP

#include <string>
#include <string_view>
#include <vector>

#include "events/derived.hpp"

namespace substrata {

struct UserEvent {
  std::string name;
  DerivedKind kind = DerivedKind::kNone;
  std::string formula;             // postfix or infix text over N0.., "" for the other kinds
  std::vector<std::string> terms;  // event names
  std::string short_text, text, note;
};

inline constexpr size_t kMaxUserEvents = 50;  // PAPI_MAX_USER_EVENTS

// One line per event, in the form of PAPI's own tables:
//   EVENT,<name>,<derived type>,[<formula>,]<event>,<event>...[,LDESC,"text"][,SDESC,"text"][,NOTE,"text"]
// The formula is there for DERIVED_POSTFIX and DERIVED_INFIX only. '#' begins a comment line. A bad line
// refuses the whole text; the refusal states its number (kInvalid).
Result<std::vector<UserEvent>> parse_user_events(std::string_view text);

}  // namespace substrata

#endif
