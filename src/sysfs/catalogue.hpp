// The list of events of a substrate whose events are found at run time, with the other names each answers to.
#pragma once

#include <substrata/substrate.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace substrata::sysfs {

// One event's description; the strings live as long as the catalogue.
struct CatalogueEntry {
  std::string name;
  std::string text;
  std::string unit;
  std::string why;                // with kEventUnavailable: reason and cure
  Code refusal = Code::kNoEvent;  // with kEventUnavailable: what program answers
  ValueKind kind = ValueKind::kGauge;
  ValueType type = ValueType::kInt64;
  uint32_t flags = 0;
  uint32_t width_bits = 64;
  std::vector<std::string> aliases;
};

// Marks an event unavailable whose file gave this errno when it was opened; nothing for 0. `permission` goes
// on after the path where the file may not be read: who may, and what to do.
inline void mark_unopened(const std::string& path, int error, const char* permission, CatalogueEntry* entry) {
  if (error == 0) return;
  const bool forbidden = error == EACCES || error == EPERM;
  entry->flags |= kEventUnavailable;
  entry->refusal = forbidden ? Code::kPermission : Code::kSystem;
  entry->why = path + (forbidden ? permission : std::string(" does not open: ") + std::strerror(error));
}

// Filled once in open, read by any thread afterwards. Thread-compatible.
class Catalogue {
 public:
  // Adds an event and gives its index. Where the name is taken the event gets a "#2", "#3", ... behind it; an
  // alias that is taken stays with its first owner.
  uint32_t add(CatalogueEntry entry) {
    const std::string wanted = entry.name;
    for (uint32_t copy = 2; names_.count(entry.name) != 0; ++copy) {
      entry.name = wanted + "#" + std::to_string(copy);
    }
    const uint32_t index = static_cast<uint32_t>(entries_.size());
    names_.emplace(entry.name, index);
    entries_.push_back(std::move(entry));
    return index;
  }

  // To be called when every event is there: names come before aliases.
  void index_aliases() {
    for (uint32_t index = 0; index < entries_.size(); ++index) {
      for (const std::string& alias : entries_[index].aliases) names_.emplace(alias, index);
    }
  }

  uint32_t size() const noexcept { return static_cast<uint32_t>(entries_.size()); }
  const CatalogueEntry& entry(uint32_t index) const noexcept { return entries_[index]; }

  Status at(uint32_t index, Event* out) const noexcept {
    if (index >= entries_.size()) return {Code::kNoEvent, 0, "no event has this number"};
    const CatalogueEntry& entry = entries_[index];
    *out = Event{};
    out->name = entry.name.c_str();
    out->text = entry.text.c_str();
    out->unit = entry.unit.c_str();
    out->why = entry.why.empty() ? nullptr : entry.why.c_str();
    out->kind = entry.kind;
    out->type = entry.type;
    out->width_bits = entry.width_bits;
    out->flags = entry.flags;
    return kSuccess;
  }

  Status find(const char* name, uint32_t* index) const {
    if (name == nullptr) return {Code::kInvalid, 0, "an event name is needed"};
    const auto found = names_.find(name);
    if (found == names_.end()) return {Code::kNoEvent, 0, "this substrate has no event of that name"};
    *index = found->second;
    return kSuccess;
  }

 private:
  std::vector<CatalogueEntry> entries_;
  std::unordered_map<std::string, uint32_t> names_;
};

}  // namespace substrata::sysfs
