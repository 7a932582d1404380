// Builds the list of events, finds names in it and opens each once to know whether it counts here.
#include "perf_events/catalogue.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "perf_events/note.hpp"

namespace substrata::perf {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// PMUs whose events the kernel schedules like software: they fit into any group.
bool is_software_context(std::string_view pmu) {
  for (const char* name : {"msr", "software", "tracepoint", "breakpoint", "kprobe", "uprobe"})
    if (pmu == name) return true;
  return false;
}

}  // namespace

Catalogue::Catalogue(const Host& host, const Kernel& kernel, std::unique_ptr<Encoder> encoder, PmuKind kind)
    : host_(host),
      root_(host.root == nullptr ? "" : host.root),
      kernel_(kernel),
      encoder_(std::move(encoder)),
      kind_(kind) {
  if (kind_ == PmuKind::kUncore) return;
  for (const GenericEvent& event : generic_events())
    append(std::string(kPerfPrefix) + event.name, event.text, event.unit, State::kUnresolved);
  if (kernel_.ticks != nullptr)
    append(kTicksName, "ticks of the processor's constant-rate counter (reference cycles, also while halted)",
           "", State::kUnresolved)
        .flags = kEventScopeNode;
  append("perf_raw::r0000", "an event of the processor's PMU by its code: r and hexadecimal digits", "",
         State::kUnresolved);
}

Catalogue::Entry& Catalogue::append(std::string name, std::string text, std::string unit, State state) {
  std::string key = lower(name);
  Entry& entry = entries_.emplace_back();
  entry.name = std::move(name);
  entry.text = std::move(text);
  entry.unit = std::move(unit);
  entry.state = state;
  entry.flags = kind_ == PmuKind::kCore ? kEventScopeThread : kEventScopePackage;
  try {
    by_name_.emplace(std::move(key), static_cast<uint32_t>(entries_.size() - 1));
  } catch (...) {
    entries_.pop_back();
    throw;
  }
  return entry;
}

const std::vector<Pmu>& Catalogue::pmus() {
  if (!pmus_) pmus_ = read_pmus(root_);
  return *pmus_;
}

bool Catalogue::belongs_here(const Pmu& pmu) const {
  return (kind_ == PmuKind::kUncore) == !pmu.cpumask.empty();
}

uint32_t Catalogue::class_of(const Pmu& pmu) {
  if (is_software_context(pmu.name)) return kSoftwareClass;
  const auto cores = std::count_if(pmus().begin(), pmus().end(), [](const Pmu& p) { return p.core; });
  return pmu.core && cores == 1 ? kCoreClass : kPmuClassBase + pmu.type;
}

// Where memory ends on the way, the next call goes on: what is in the list already is not added again.
void Catalogue::load() {
  if (loaded_) return;
  load_tables();
  list_qualified_forms();
  loaded_ = true;
}

void Catalogue::load_tables() {
  const std::vector<Encoder::Named> named = encoder_->events();
  for (const Encoder::Named& event : named)
    if (by_name_.find(lower(event.name)) == by_name_.end())
      append(event.name, event.text, "", State::kUnresolved);
  for (const Pmu& pmu : pmus()) {
    if (!belongs_here(pmu) || (pmu.core && !named.empty())) continue;  // libpfm4 has the core PMU's events
    for (const auto& [event, terms] : pmu.events) {
      std::string name = pmu.name + "/" + event + "/";
      if (by_name_.find(lower(name)) != by_name_.end()) continue;
      const auto unit = pmu.units.find(event);
      const auto scale = pmu.scales.find(event);
      // The kernel's values are raw; a unit that needs the scale says so.
      std::string unit_text = unit == pmu.units.end() ? "" : unit->second;
      if (scale != pmu.scales.end()) unit_text = scale->second + (unit_text.empty() ? "" : " " + unit_text);
      append(std::move(name), "kernel's event " + event + " of PMU " + pmu.name + " (" + terms + ")",
             std::move(unit_text), State::kUnresolved);
    }
  }
}

void Catalogue::list_qualified_forms() {
  const uint32_t plain = static_cast<uint32_t>(entries_.size());
  for (uint32_t index = 0; index < plain; ++index) {
    const std::string name = entries_[index].name;
    const size_t prefix = name.find("::");
    if (name.find(':', prefix == std::string::npos ? 0 : prefix + 2) != std::string::npos)
      continue;  // qualified
    for (const Qualifier& qualifier : qualifiers_of(name)) {
      // PAPI's utilities look for "masks:" to find a qualifier's own description.
      std::string full = name + ":" + qualifier.name;
      if (by_name_.find(lower(full)) != by_name_.end()) continue;
      Entry& entry = append(std::move(full), entries_[index].text + ", masks:" + qualifier.text,
                            entries_[index].unit, State::kUnresolved);
      entry.base = index;
      entry.modifier = !qualifier.mask;
    }
  }
}

uint32_t Catalogue::count() {
  const std::lock_guard guard(lock_);
  load();
  return static_cast<uint32_t>(entries_.size());
}

Status Catalogue::find(std::string_view name, uint32_t* index) {
  const std::lock_guard guard(lock_);
  if (const auto known = by_name_.find(lower(name)); known != by_name_.end()) {
    *index = known->second;
    return kSuccess;
  }
  Encoding encoding;
  std::string canonical, unit, error;
  const Code code = encode_name(name, &encoding, &canonical, &unit, &error);
  if (code != Code::kOk) {
    // A base event that needs a unit mask is an event all the same; it is listed, and refuses when
    // programmed.
    if (code == Code::kAttribute && name.find(':') == std::string_view::npos) {
      load();
      if (const auto known = by_name_.find(lower(name)); known != by_name_.end()) {
        *index = known->second;
        return kSuccess;
      }
    }
    return refuse(code, 0, "event '" + std::string(name) + "': " + error);
  }
  if (const auto known = by_name_.find(lower(canonical)); known != by_name_.end()) {
    *index = known->second;
    return kSuccess;
  }
  add_user_access(&encoding);
  Entry& entry = append(canonical, "", unit, State::kResolved);
  entry.encoding = std::move(encoding);
  const size_t colon =
      canonical.find(':', canonical.find("::") == std::string::npos ? 0 : canonical.find("::") + 2);
  const auto base = by_name_.find(lower(canonical.substr(0, colon)));
  entry.text = base != by_name_.end() && !entries_[base->second].text.empty() ? entries_[base->second].text
                                                                              : canonical;
  *index = static_cast<uint32_t>(entries_.size() - 1);
  return kSuccess;
}

void Catalogue::resolve(Entry& entry) {
  if (entry.state != State::kUnresolved) return;
  std::string canonical, unit, error;
  entry.code = encode_name(entry.name, &entry.encoding, &canonical, &unit, &error);
  if (entry.code == Code::kOk) {
    if (!entry.encoding.ticks) add_user_access(&entry.encoding);
    entry.state = State::kResolved;
    return;
  }
  entry.state = State::kRefused;
  entry.encoding = Encoding{};
  entry.why = error;
}

// Whether the event opens at one of its places; an event counts where any of its PMUs does.
bool Catalogue::probe_encoding(const Encoding& encoding, int* os_error) {
  if (encoding.ticks) return true;
  for (const Leg& leg : encoding.legs) {
    perf_event_attr attr = leg.attr;
    attr.disabled = 1;
    if (encoding.kernel_side && !encoding.explicit_domain) attr.exclude_kernel = 0;
    const bool wide = kind_ == PmuKind::kUncore;
    const int descriptor = kernel_.open(kernel_.context, &attr, wide ? -1 : 0,
                                        wide && leg.cpu < 0 ? 0 : leg.cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (descriptor >= 0) {
      kernel_.close(kernel_.context, descriptor);
      return true;
    }
    *os_error = -descriptor;
  }
  return false;
}

// Forms of one event that differ in their unit mask alone open alike; those with a register of their own (config1 and
// so on) need not.
bool Catalogue::opened_with_another_mask(uint32_t base, const Encoding& encoding) const {
  const auto opened = opened_.find(base);
  if (opened == opened_.end() || encoding.legs.empty()) return false;
  perf_event_attr attr = encoding.legs.front().attr;
  attr.config = opened->second.config;
  return std::memcmp(&attr, &opened->second, sizeof attr) == 0;
}

// probe_encoding for an event and its forms.
bool Catalogue::probe_form(uint32_t base, const Encoding& encoding, int* os_error) {
  if (opened_with_another_mask(base, encoding)) return true;
  const bool opens = probe_encoding(encoding, os_error);
  if (opens && !encoding.legs.empty()) opened_.emplace(base, encoding.legs.front().attr);
  return opens;
}

void Catalogue::probe(uint32_t index) {
  Entry& entry = entries_[index];
  if (entry.probed) return;
  const uint32_t base_index = entry.base != kNoBase ? entry.base : index;
  if (entry.base != kNoBase) {
    probe(entry.base);
    const Entry& base = entries_[entry.base];
    if (!base.available || entry.modifier) {
      entry.probed = base.probed;
      entry.available = base.available;
      if (!base.available) entry.why = base.why;
      return;
    }
  }
  resolve(entry);
  int os_error = 0;
  if (entry.state == State::kResolved) {
    entry.available = probe_form(base_index, entry.encoding, &os_error);
  } else if (entry.code == Code::kAttribute) {  // needs a mask: available when one of its masks opens
    entry.why = "needs a unit mask";
    int tried = 0;
    for (const Qualifier& qualifier : encoder_->qualifiers(entry.name)) {
      if (!qualifier.mask || tried == 4) continue;
      Encoding encoding;
      std::string error;
      if (encoder_->encode(entry.name + ":" + qualifier.name, &encoding, &error) != Code::kOk) continue;
      if (tried++ == 0) entry.why += ", for example " + entry.name + ":" + qualifier.name;
      if (probe_form(base_index, encoding, &os_error)) {
        entry.available = true;
        break;
      }
    }
  }
  if (os_error == EMFILE || os_error == ENFILE || os_error == ENOMEM ||
      os_error == EBUSY) {  // passing trouble, asked again next time
    entry.why = explain_refusal(root_.c_str(), os_error, true);
    return;
  }
  entry.probed = true;
  if (entry.available || os_error == 0) return;
  const bool has_pmu = std::any_of(pmus().begin(), pmus().end(), [](const Pmu& pmu) { return pmu.core; });
  entry.why = explain_refusal(root_.c_str(), os_error, has_pmu);
}

Status Catalogue::at(uint32_t index, Event* out) {
  const std::lock_guard guard(lock_);
  if (index >= entries_.size()) return {Code::kNoEvent, 0, "no event has this number; it was never listed"};
  probe(index);
  Entry& entry = entries_[index];
  *out = Event{};
  out->name = entry.name.c_str();
  out->text = entry.text.c_str();
  out->unit = entry.unit.c_str();
  out->flags = entry.flags;
  if (!entry.available) {
    out->flags |= kEventUnavailable;
    out->why = entry.why.c_str();
  }
  return kSuccess;
}

Status Catalogue::encoding(uint32_t index, const Encoding** out) {
  const std::lock_guard guard(lock_);
  if (index >= entries_.size()) return {Code::kNoEvent, 0, "no event has this number; it was never listed"};
  Entry& entry = entries_[index];
  resolve(entry);
  if (entry.state == State::kRefused) {
    probe(index);  // finds a mask to name
    return refuse(entry.code, 0, "event '" + entry.name + "': " + entry.why);
  }
  *out = &entry.encoding;
  return kSuccess;
}

std::vector<Qualifier> Catalogue::qualifiers_of(const std::string& name) {
  // Drivers behind sysfs refuse many a modifier (msr all of them): none is offered.
  if (same_name(name, kTicksName) || name.find('/') != std::string::npos) return {};
  if (!name.starts_with(kPerfPrefix) && !name.starts_with(kRawPrefix)) return encoder_->qualifiers(name);
  std::vector<Qualifier> all;
  if (name.starts_with(kPerfPrefix)) {
    const GenericEvent* event = find_generic(std::string_view(name).substr(kPerfPrefix.size()));
    if (event != nullptr && event->cache_umasks)
      for (const auto& [mask, text] :
           {std::pair{"READ", "read accesses"}, std::pair{"WRITE", "write accesses"},
            std::pair{"PREFETCH", "prefetches"}, std::pair{"ACCESS", "hits and misses"},
            std::pair{"MISS", "misses only"}})
        all.push_back({mask, text, true});
  }
  all.insert(all.end(), generic_qualifiers().begin(), generic_qualifiers().end());
  return all;
}

std::vector<std::string> Catalogue::pmu_names() {
  const std::lock_guard guard(lock_);
  std::vector<std::string> names = encoder_->pmus();
  for (const Pmu& pmu : pmus())
    if (pmu.core) names.push_back(pmu.name);
  return names;
}

std::vector<std::string> Catalogue::preset_sections() {
  std::vector<std::string> names = pmu_names();
  const std::lock_guard guard(lock_);
  for (const Pmu& pmu : pmus())
    if (pmu.core && !pmu.model.empty()) names.push_back(pmu.model);
  if (const auto processor = x86_model(root_)) {  // the kernel's name for AMD's is one for all
    char name[64];
    std::snprintf(name, sizeof name, "%.40s-%02lX-%02lX", processor->vendor.c_str(), processor->family,
                  processor->model);
    names.emplace_back(name);
  }
  return names;
}

bool Catalogue::has_core_pmu() {
  const std::lock_guard guard(lock_);
  return std::any_of(pmus().begin(), pmus().end(), [](const Pmu& pmu) { return pmu.core; });
}

std::string Catalogue::explain(int os_error) {
  return explain_refusal(root_.c_str(), os_error, has_core_pmu());
}

}  // namespace substrata::perf
