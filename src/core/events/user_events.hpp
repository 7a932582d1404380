// Reads a user-defined-events file (PAPI_USER_EVENTS_FILE): named formulas over other events.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/events/derived.hpp"

namespace substrata {

struct UserEvent {
  std::string name;
  DerivedKind kind = DerivedKind::kNone;
  std::string formula;             // postfix or infix text over N0.., "" for the other kinds
  std::vector<std::string> terms;  // event names
  std::string short_text, text, note;
};

inline constexpr size_t kMaxUserEvents = 50;  // PAPI_MAX_USER_EVENTS

// A line that was left out, and why.
struct RefusedLine {
  unsigned number, column;  // from 1; the column is that of the field that is wrong
  std::string name;         // of the event, "" where the line does not get that far
  std::string why;
};

struct UserEventsFile {
  std::vector<UserEvent> events;
  std::vector<RefusedLine> refused;
};

// One line per event, in the form of PAPI's own tables:
//   CPU,<unit>
//   EVENT,<name>,<derived type>,[<formula>,]<event>,<event>...[,LDESC,"text"][,SDESC,"text"][,NOTE,"text"]
// Lines below CPU lines count if one of these names a unit of this machine ("skx", "amd64_fam19h*"), lines
// above the first CPU line everywhere; case does not matter. PRESET stands for EVENT. The formula is there for
// DERIVED_POSTFIX and DERIVED_INFIX only. A later definition of a name replaces an earlier one. '#' begins a
// comment line. A bad line is left out and reported. `units` is called at the first CPU line.
UserEventsFile parse_user_events(std::string_view text,
                                 const std::function<std::vector<std::string>()>& units = {});

}  // namespace substrata
