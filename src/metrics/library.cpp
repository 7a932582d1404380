// Files of metrics, and the choice among definitions of one name.
#include "metrics/library.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "base/folder.hpp"
#include "base/glob.hpp"
#include "metrics/foreign.hpp"

namespace substrata::metrics {
namespace {

constexpr std::string_view kLikwid = "likwid:";

std::string in_lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// One byte more than is allowed at most, so that a longer file is refused where it is read.
std::string text_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text;
  char block[4096];
  while (text.size() <= kMostVendorBytes && (in.read(block, sizeof block), in.gcount() > 0))
    text.append(block, static_cast<size_t>(in.gcount()));
  return text;
}

// "/a/MEM.txt": "MEM".
std::string stem_of(const std::string& file) {
  const std::string name = file.substr(file.rfind('/') + 1);
  return name.substr(0, name.rfind('.'));
}
std::string folder_of(const std::string& file) {
  const size_t slash = file.rfind('/');
  return slash == std::string::npos ? "." : file.substr(0, slash);
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

// Takes the event if it can be counted; else the reason. What was `found` by a pattern must have the term's dimension;
// of a named one that counts things (misses) the term may say how many bytes each is.
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

std::string x86_unit(const std::string& vendor, int family, int model) {
  char name[64];
  std::snprintf(name, sizeof name, "%.40s-%02X-%02X", vendor.c_str(), static_cast<unsigned>(family),
                static_cast<unsigned>(model));
  return name;
}

Library::Library(const std::vector<std::string>& units, const Setting& setting, ClockRate clock_rate)
    : units_(units), clock_rate_(std::move(clock_rate)) {
  const auto value = [&](const char* name) -> std::string {
    const char* const text = setting ? setting(name) : nullptr;
    return text == nullptr ? "" : text;
  };
  const std::string home = value("HOME");
  std::string folder = value("SUBSTRATA_METRICS_DIR");
  if (folder.empty()) {
    std::string config = value("XDG_CONFIG_HOME");
    if (config.empty() && !home.empty()) config = home + "/.config";
    if (!config.empty()) folder = config + "/substrata/metrics.d";
  }
  if (!folder.empty()) add_own(folder);
  const size_t own = all_.metrics.size(), own_groups = all_.groups.size();
  for (const BuiltInTable* table = built_in_tables(); table->name != nullptr; ++table) {
    Definitions some;
    const std::vector<Fault> faults = parse_definitions(table->text, table->name, &some);
    faults_.insert(faults_.end(), faults.begin(), faults.end());
    take(std::move(some));
  }
  prefer_named(&all_.metrics, own);
  prefer_named(&all_.groups, own_groups);
  if (!setting) return;
  const std::string likwid = value("SUBSTRATA_LIKWID_DIR");
  if (!likwid.empty()) {
    add_likwid(likwid);
    return;
  }
  if (!home.empty()) add_likwid(home + "/.likwid/groups");
  add_likwid("/usr/local/share/likwid/perfgroups");
  add_likwid("/usr/share/likwid/perfgroups");
}

void Library::add_own(const std::string& folder) {
  for (const std::string& name : names_in(folder)) {
    if (!name.ends_with(".metrics") && !name.ends_with(".txt") && !name.ends_with(".json")) continue;
    Definitions some;
    const std::vector<Fault> faults = parse(folder + "/" + name, &some);
    faults_.insert(faults_.end(), faults.begin(), faults.end());
    take(std::move(some));
  }
}

void Library::add_likwid(const std::string& folder) {
  for (const std::string& processor : names_in(folder)) {
    Foreign about;
    about.processors = processors_of_likwid(processor);
    if (about.processors.empty() || !applies(about.processors, units_)) continue;
    about.clock_hz = clock_rate_ ? clock_rate_() : 0;
    for (const std::string& name : names_in(folder + "/" + processor)) {
      if (!name.ends_with(".txt")) continue;
      about.file = folder + "/" + processor + "/" + name;
      Definitions some;
      const std::vector<Fault> faults = parse_likwid_group(text_of(about.file), stem_of(name), about, &some);
      likwid_faults_.insert(likwid_faults_.end(), faults.begin(), faults.end());
      take(std::move(some));
    }
  }
}

// By the ending of its name. A file that was put where it is applies to the processor that is here.
std::vector<Fault> Library::parse(const std::string& file, Definitions* out) const {
  const std::string text = text_of(file);
  if (file.ends_with(".metrics")) return parse_definitions(text, file, out);
  Foreign about;
  about.file = file;
  if (file.ends_with(".json")) {
    // Its events' codes stand in files beside it.
    VendorCodes codes;
    const std::string folder = folder_of(file);
    for (const std::string& name : names_in(folder))
      if (name.ends_with(".json")) (void)parse_vendor_codes(text_of(folder + "/" + name), name, &codes);
    return parse_vendor_metrics(text, about, codes, out);
  }
  // A folder of LIKWID's says which processor it is; else it is this one.
  const std::string folder = folder_of(file);
  about.processors = processors_of_likwid(folder.substr(folder.rfind('/') + 1));
  if (about.processors.empty()) about.processors = units_;
  about.clock_hz = clock_rate_ ? clock_rate_() : 0;
  return parse_likwid_group(text, stem_of(file), about, out);
}

void Library::take(Definitions&& some) {
  for (Metric& one : some.metrics)
    if (applies(one.processors, units_))
      all_.metrics.push_back(std::move(one));
    else
      elsewhere_.insert(std::move(one.name));
  for (Group& one : some.groups)
    if (applies(one.processors, units_)) all_.groups.push_back(std::move(one));
}

std::vector<std::string> Library::add_file(const std::string& path) {
  if (!std::ifstream(path)) throw std::runtime_error("'" + path + "' cannot be read");
  Definitions some;
  const std::vector<Fault> faults = parse(path, &some);
  faults_.insert(faults_.end(), faults.begin(), faults.end());
  std::vector<std::string> names;
  for (Metric& one : some.metrics) {
    one.processors.clear();  // whoever names the file means this machine
    if (std::find(names.begin(), names.end(), one.name) == names.end()) names.push_back(one.name);
  }
  if (names.empty())
    throw std::runtime_error(faults.empty() ? "'" + path + "' has no metric" : faults.front().text());
  all_.metrics.insert(all_.metrics.begin(), std::make_move_iterator(some.metrics.begin()),
                      std::make_move_iterator(some.metrics.end()));
  return names;
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
  if (found != all_.groups.end()) return &*found;
  return name.starts_with(kLikwid) ? nullptr : find_group(std::string(kLikwid) + name);
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
  if (why->empty() && elsewhere_.count(name) != 0) {
    std::string here;
    for (const std::string& unit : units_)  // the kernel's own, software events, are everywhere
      if (!unit.starts_with("perf")) here += (here.empty() ? "" : ", ") + unit;
    *why = "the files have " + name + " for other processors only; here: " +
           (here.empty() ? "no counter unit whose name is known" : here);
  }
  if (why->empty()) *why = "no file defines the metric " + name;
  return std::nullopt;
}

}  // namespace substrata::metrics
