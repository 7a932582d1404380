// The CSV reader for user-defined events.
#include "events/user_events.hpp"

namespace substrata {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

// Fields between commas; a field in double quotes may hold commas. False when a quote is left open.
bool split_fields(std::string_view line, std::vector<std::string>* fields) {
  while (true) {
    line = trim(line);
    if (!line.empty() && line.front() == '"') {
      const size_t end = line.find('"', 1);
      if (end == std::string_view::npos) return false;
      fields->emplace_back(line.substr(1, end - 1));
      line = trim(line.substr(end + 1));
      if (line.empty()) return true;
      if (line.front() != ',') return false;
      line.remove_prefix(1);
      continue;
    }
    const size_t comma = line.find(',');
    fields->emplace_back(trim(line.substr(0, comma)));
    if (comma == std::string_view::npos) return true;
    line.remove_prefix(comma + 1);
  }
}

bool good_event_name(const std::string& name) {
  if (name.empty() || name.size() > 127) return false;
  for (const char c : name) {
    const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '-' || c == '.' || c == ':';
    if (!good) return false;
  }
  return true;
}

Status bad(unsigned line, const char* what, const std::string& which) {
  return refuse(Code::kInvalid, "user-defined events, line %u: %s%s%.100s%s", line, what,
                which.empty() ? "" : " \"", which.c_str(), which.empty() ? "" : "\"");
}

Result<UserEvent> parse_line(unsigned number, std::string_view line) {
  std::vector<std::string> fields;
  if (!split_fields(line, &fields))
    return bad(number, "a quoted field does not end with '\"' before ','", "");
  if (fields[0] != "EVENT") return bad(number, "a line begins with EVENT, not with", fields[0]);
  if (fields.size() < 4)
    return bad(number, "an event needs a name, a derived type and at least one term", "");
  UserEvent event;
  event.name = fields[1];
  if (!good_event_name(event.name)) return bad(number, "this is not an event name:", event.name);
  const Result<DerivedKind> kind = parse_derived_kind(fields[2]);
  if (!kind) return bad(number, "unknown derived type", fields[2]);
  event.kind = *kind;
  size_t at = 3;
  if (event.kind == DerivedKind::kPostfix || event.kind == DerivedKind::kInfix) event.formula = fields[at++];
  for (; at < fields.size(); ++at) {
    std::string* target = nullptr;
    if (fields[at] == "LDESC") target = &event.text;
    if (fields[at] == "SDESC") target = &event.short_text;
    if (fields[at] == "NOTE") target = &event.note;
    if (target != nullptr) {
      if (at + 1 == fields.size()) return bad(number, "a text is missing after", fields[at]);
      *target = fields[++at];
      continue;
    }
    if (fields[at].empty()) continue;  // PAPI's own tables end many lines with a comma
    event.terms.push_back(fields[at]);
  }
  const Result<Formula> formula =
      Formula::make(event.kind, event.formula, static_cast<uint32_t>(event.terms.size()));
  if (!formula) return bad(number, formula.error().note, "");
  return event;
}

}  // namespace

Result<std::vector<UserEvent>> parse_user_events(std::string_view text) {
  std::vector<UserEvent> events;
  unsigned number = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = trim(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    ++number;
    if (line.empty() || line.front() == '#') continue;
    Result<UserEvent> event = parse_line(number, line);
    if (!event) return event.error();
    for (const UserEvent& other : events) {
      if (other.name == event->name) return bad(number, "this name is defined twice:", other.name);
    }
    if (events.size() == kMaxUserEvents) return bad(number, "more than 50 events", "");
    events.push_back(std::move(*event));
  }
  return events;
}

}  // namespace substrata
