// Files of metrics, and the choice among definitions of one name.
#include "metrics/library.hpp"

#include <dirent.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <memory>

#include "base/glob.hpp"

namespace substrata::metrics {
namespace {

constexpr const char* kEnding = ".metrics";

std::string in_lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> out;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()),
                                                 [](DIR* one) { return ::closedir(one); });
  if (!open) return out;
  while (const dirent* entry = ::readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (name.front() != '.' && name.ends_with(kEnding)) out.push_back(folder + "/" + std::string(name));
  }
  std::sort(out.begin(), out.end());
  return out;
}

bool applies(const std::vector<std::string>& processors, const std::vector<std::string>& units) {
  if (processors.empty()) return true;
  for (const std::string& pattern : processors)
    for (const std::string& unit : units)
      if (glob(in_lower_case(pattern), in_lower_case(unit))) return true;
  return false;
}

// Named processors before all, else as it was.
template <typename Definition>
void prefer_named(std::vector<Definition>* all, size_t begin) {
  std::stable_sort(
      all->begin() + static_cast<std::ptrdiff_t>(begin), all->end(),
      [](const Definition& a, const Definition& b) { return !a.processors.empty() && b.processors.empty(); });
}

// Of the first of each name.
template <typename Definition>
std::vector<const Definition*> first_of_each(const std::vector<Definition>& all) {
  std::vector<const Definition*> out;
  for (const Definition& one : all)
    if (std::none_of(out.begin(), out.end(),
                     [&](const Definition* other) { return other->name == one.name; }))
      out.push_back(&one);
  return out;
}

bool is_pattern(const std::string& event) { return event.find_first_of("*?") != std::string::npos; }

// Takes the event if it can be counted; else the reason. What was `found` by a pattern must have the term's dimension; of
// a named one that counts things (misses) the term may say how many bytes each is.
std::string take(const std::string& event, const Term& term, const Countable& countable, bool found,
                 Bound::Term* out) {
  std::string unit_text;
  if (std::string why = countable.check(event, &unit_text); !why.empty()) return why;
  Unit unit = term.unit;
  if (!unit_text.empty()) {
    const Result<Unit> own = parse_unit(unit_text);
    const bool bare = own && own->measures_the_same_as(Unit{}) && own->factor == 1;  // "misses" are counts
    if (own && !bare && own->measures_the_same_as(term.unit))
      unit = *own;
    else if (own && !own->measures_the_same_as(term.unit) && (found || !own->measures_the_same_as(Unit{})))
      return event + " counts " + unit_text + ", the metric expects " + dimension_text(term.unit);
  }
  out->events.push_back(event);
  out->factors.push_back(unit.factor);
  return {};
}

// The first alternative that can be counted; of a pattern all that can.
std::string bind_term(const Term& term, const Countable& countable, Bound::Term* out) {
  std::string first;
  for (const std::string& event : term.events) {
    std::string why;
    if (is_pattern(event)) {
      why = event + " matches no event here";
      for (const std::string& one : countable.expand(event))
        if (std::string refused = take(one, term, countable, true, out); !refused.empty()) why = refused;
    } else {
      why = take(event, term, countable, false, out);
    }
    if (!out->events.empty()) return {};
    if (first.empty()) first = why;
  }
  return first;
}

}  // namespace

Library::Library(const std::vector<std::string>& units,
                 const std::function<const char*(const char*)>& setting) {
  const auto value = [&](const char* name) -> std::string {
    const char* const text = setting ? setting(name) : nullptr;
    return text == nullptr ? "" : text;
  };
  std::string folder = value("SUBSTRATA_METRICS_DIR");
  if (folder.empty()) {
    std::string config = value("XDG_CONFIG_HOME");
    if (config.empty() && !value("HOME").empty()) config = value("HOME") + "/.config";
    if (!config.empty()) folder = config + "/substrata/metrics.d";
  }
  if (!folder.empty())
    for (const std::string& file : files_of(folder)) {
      std::ifstream in(file, std::ios::binary);
      std::string text;
      char block[4096];
      while (text.size() <= kMostBytes && (in.read(block, sizeof block), in.gcount() > 0))
        text.append(block, static_cast<size_t>(in.gcount()));
      add(text, file, units);
    }
  const size_t own = all_.metrics.size(), own_groups = all_.groups.size();
  for (const BuiltInTable* table = built_in_tables(); table->name != nullptr; ++table)
    add(table->text, table->name, units);
  prefer_named(&all_.metrics, own);
  prefer_named(&all_.groups, own_groups);
}

void Library::add(std::string_view text, const std::string& file, const std::vector<std::string>& units) {
  Definitions some;
  const std::vector<Fault> faults = parse_definitions(text, file, &some);
  faults_.insert(faults_.end(), faults.begin(), faults.end());
  for (Metric& one : some.metrics)
    if (applies(one.processors, units)) all_.metrics.push_back(std::move(one));
  for (Group& one : some.groups)
    if (applies(one.processors, units)) all_.groups.push_back(std::move(one));
}

std::vector<const Metric*> Library::find(const std::string& name) const {
  std::vector<const Metric*> out;
  for (const Metric& one : all_.metrics)
    if (one.name == name) out.push_back(&one);
  return out;
}

const Group* Library::find_group(const std::string& name) const {
  const auto found = std::find_if(all_.groups.begin(), all_.groups.end(),
                                  [&](const Group& group) { return group.name == name; });
  return found == all_.groups.end() ? nullptr : &*found;
}

std::vector<const Metric*> Library::metrics() const { return first_of_each(all_.metrics); }
std::vector<const Group*> Library::groups() const { return first_of_each(all_.groups); }

std::optional<Bound> Library::bind(const std::string& name, const Countable& countable,
                                   std::string* why) const {
  why->clear();
  for (const Metric* metric : find(name)) {
    Bound bound;
    bound.metric = metric;
    std::string refused;
    for (const Term& term : metric->terms) {
      refused = bind_term(term, countable, &bound.terms.emplace_back());
      if (!refused.empty()) break;
    }
    if (refused.empty()) return bound;
    if (why->empty()) *why = refused + (metric->needs.empty() ? "" : "; it needs " + metric->needs);
  }
  if (why->empty()) *why = "no file defines the metric " + name;
  return std::nullopt;
}

}  // namespace substrata::metrics
