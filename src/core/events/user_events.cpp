// The CSV reader for user-defined events.
#include "core/events/user_events.hpp"

#include <algorithm>
#include <optional>

#include "base/glob.hpp"

namespace substrata {
namespace {

// Fields between commas; a field in double quotes may hold commas. False when a quote is left open. Columns are those
// where fields begin, from 0; the last is that of a field that is left open.
bool split_fields(std::string_view line, std::vector<std::string>* fields, std::vector<size_t>* columns) {
  const char* const begin = line.data();
  while (true) {
    const size_t blank = std::min(line.find_first_not_of(" \t\r\n"), line.size());
    columns->push_back(static_cast<size_t>(line.data() - begin) + blank);
    line = trimmed(line);
    if (!line.empty() && line.front() == '"') {
      const size_t end = line.find('"', 1);
      if (end == std::string_view::npos) return false;
      fields->emplace_back(line.substr(1, end - 1));
      line = trimmed(line.substr(end + 1));
      if (line.empty()) return true;
      if (line.front() != ',') return false;
      line.remove_prefix(1);
      continue;
    }
    const size_t comma = line.find(',');
    fields->emplace_back(trimmed(line.substr(0, comma)));
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

Status bad(const char* what, const std::string& which) {
  return refuse(Code::kInvalid, "%s%s%.100s%s", what, which.empty() ? "" : " \"", which.c_str(),
                which.empty() ? "" : "\"");
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

// An EVENT line's fields; *name is set as soon as it is known, *last is the field that was looked at last.
Result<UserEvent> parse_event(const std::vector<std::string>& fields, std::string* name, size_t* last) {
  size_t& at = *last;
  if (fields.size() > 1) *name = fields[1];
  at = fields.size() - 1;
  if (fields.size() < 4) return bad("an event needs a name, a derived type and at least one term", "");
  UserEvent event;
  event.name = fields[at = 1];
  if (!good_event_name(event.name)) return bad("this is not an event name:", event.name);
  const Result<DerivedKind> kind = parse_derived_kind(fields[at = 2]);
  if (!kind) return bad("unknown derived type", fields[2]);
  event.kind = *kind;
  at = 3;
  if (event.kind == DerivedKind::kPostfix || event.kind == DerivedKind::kInfix) event.formula = fields[at++];
  for (; at < fields.size(); ++at) {
    std::string* target = nullptr;
    if (fields[at] == "LDESC") target = &event.text;
    if (fields[at] == "SDESC") target = &event.short_text;
    if (fields[at] == "NOTE") target = &event.note;
    if (target != nullptr) {
      if (at + 1 == fields.size()) return bad("a text is missing after", fields[at]);
      *target = fields[++at];
      continue;
    }
    if (fields[at].empty()) continue;  // PAPI's own tables end many lines with a comma
    event.terms.push_back(fields[at]);
  }
  at = 3;
  const Result<Formula> formula =
      Formula::make(event.kind, event.formula, static_cast<uint32_t>(event.terms.size()));
  if (!formula) return bad(formula.error().note, "");
  return event;
}

// The lines of one text, one after the other.
class Reader {
 public:
  explicit Reader(const std::function<std::vector<std::string>()>& units) : units_(units) {}

  void take(unsigned number, size_t indent, std::string_view line) {
    std::vector<std::string> fields;
    std::vector<size_t> columns;
    std::string name;
    const bool whole = split_fields(line, &fields, &columns);
    size_t at = 0;
    const Status status = take_fields(whole, fields, &name, &at);
    if (status.ok()) return;
    const size_t column = indent + (at < columns.size() ? columns[at] : columns.back()) + 1;
    file_.refused.push_back({number, static_cast<unsigned>(column), std::move(name), status.note});
  }
  UserEventsFile take_file() { return std::move(file_); }

 private:
  static constexpr size_t kLeftOpen = static_cast<size_t>(-1);

  // *at becomes the number of the field that is wrong, kLeftOpen for one that does not end.
  Status take_fields(bool whole, const std::vector<std::string>& fields, std::string* name, size_t* at) {
    const char* const left_open = "a quoted field does not end with '\"' before ','";
    *at = fields.empty() ? kLeftOpen : 0;
    if (fields.empty()) return bad(left_open, "");
    const std::string word = lower(fields[0]);
    if (word == "cpu") {
      *at = fields.size() < 2 ? 0 : 1;
      if (fields.size() < 2 || fields[1].empty()) return bad("CPU needs the name of a counter unit", "");
      if (!in_header_) applies_ = false;  // consecutive CPU lines name one section
      in_header_ = true;
      applies_ = applies_ || is_here(fields[1]);
      return kSuccess;
    }
    in_header_ = false;
    if (word != "event" && word != "preset")
      return bad("a line begins with EVENT or CPU, not with", fields[0]);
    if (!applies_) return kSuccess;
    if (!whole) {
      *at = kLeftOpen;
      if (fields.size() > 1) *name = fields[1];
      return bad(left_open, "");
    }
    Result<UserEvent> event = parse_event(fields, name, at);
    if (!event) return event.error();
    std::vector<UserEvent>& events = file_.events;
    const auto same = std::find_if(events.begin(), events.end(),
                                   [&](const UserEvent& other) { return other.name == event->name; });
    if (same != events.end()) {
      *same = std::move(*event);
      return kSuccess;
    }
    *at = 1;
    if (events.size() == kMaxUserEvents) return bad("more than 50 events", "");
    events.push_back(std::move(*event));
    return kSuccess;
  }

  bool is_here(std::string_view pattern) {
    if (!here_) {
      here_ = units_ ? units_() : std::vector<std::string>();
      for (std::string& unit : *here_) unit = lower(unit);
    }
    const std::string wanted = lower(pattern);
    return wanted == "*" || std::any_of(here_->begin(), here_->end(),
                                        [&](const std::string& unit) { return glob(wanted, unit); });
  }

  const std::function<std::vector<std::string>()>& units_;
  std::optional<std::vector<std::string>> here_;
  bool applies_ = true;
  bool in_header_ = false;
  UserEventsFile file_;
};

}  // namespace

UserEventsFile parse_user_events(std::string_view text,
                                 const std::function<std::vector<std::string>()>& units) {
  Reader reader(units);
  unsigned number = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view raw = text.substr(0, end), line = trimmed(raw);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    ++number;
    if (!line.empty() && line.front() != '#')
      reader.take(number, static_cast<size_t>(line.data() - raw.data()), line);
  }
  return reader.take_file();
}

}  // namespace substrata
