// What is known of an event by its code, and the user-defined events.
#include "core/events/catalogue.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <utility>

#include "base/uncancelled.hpp"
#include "core/events/preset.hpp"

namespace substrata {
namespace {

Status not_a_preset(uint32_t code) { return refuse(Code::kNotPreset, "0x%08x is not a preset", code); }
Status no_native(uint32_t code) {
  return refuse(Code::kNoComponent, "no component has an event 0x%08x", code);
}

}  // namespace

void Catalogue::clear() {
  const std::lock_guard guard(lock_);
  found_names_.clear();
  known_names_.clear();
  known_infos_.clear();
  codes_.clear();
  presets_.clear();
  listing_.clear();
  user_events_.clear();
  refused_user_events_.clear();
}

Result<Catalogue::Native> Catalogue::native_at(uint32_t code) {
  const Result<NativeEvent> event = codes_.at(code);
  if (!event) return event.error();
  Native native{registry_.at(event->component), event->component, {}};
  if (native.component == nullptr) return no_native(code);
  if (const Status status = native.component->event_at(event->index, &native.event); !status.ok())
    return status;
  return native;
}

Result<std::string> Catalogue::name_of(uint32_t code) {
  const std::lock_guard guard(lock_);
  const uint32_t index = index_of(code);
  switch (kind_of(code)) {
    case CodeKind::kPreset:
      if ((code & ~kPresetMask) >= kPresetCount) return not_a_preset(code);
      return std::string(preset_at(index)->name);
    case CodeKind::kUser:
      if (index >= user_events_.size())
        return refuse(Code::kNoEvent, "0x%08x is not a user-defined event", code);
      return user_events_[index].name;
    case CodeKind::kNative: {
      const Result<Native> native = native_at(code);
      if (!native) return native.error();
      return native->component->full_name(native->event.name);
    }
    default:
      return refuse(Code::kNoEvent, "0x%08x is not an event code", code);
  }
}

Status Catalogue::copy_name(uint32_t code, char* to, size_t capacity) {
  const std::lock_guard guard(lock_);
  const auto copy = [&](std::string_view name) {
    const size_t length = std::min(name.size(), capacity - 1);
    std::memcpy(to, name.data(), length);
    to[length] = '\0';
    return kSuccess;
  };
  if (const auto known = known_names_.find(code); known != known_names_.end()) return copy(known->second);
  const Uncancelled here;
  Result<std::string> name = name_of(code);
  if (!name) return name.status();
  if (const Result<NativeEvent> native = codes_.at(code); native && stays(code, native->component))
    return copy(known_names_.emplace(code, std::move(*name)).first->second);
  return copy(*name);
}

int Catalogue::processor() {
  for (int i = 0; i < registry_.count(); ++i) {
    if (registry_.at(i)->has(kProcessor)) return i;
  }
  return 0;
}

Status Catalogue::query(uint32_t code) {
  const std::lock_guard guard(lock_);
  switch (kind_of(code)) {
    case CodeKind::kPreset: {
      const uint32_t index = code & ~kPresetMask;
      if (index >= kPresetCount) return not_a_preset(code);
      const PresetRecipes::Answer& known = presets_.of(index);
      if (known.available) return kSuccess;
      return refuse(Code::kNoEvent, "%s is not available: %s", preset_at(index)->name, known.why.c_str());
    }
    case CodeKind::kUser:
    case CodeKind::kNative:
      return compose(code).status();
    default:
      return refuse(Code::kNoEvent, "0x%08x is not an event code", code);
  }
}

Result<std::shared_ptr<const EventInfo>> Catalogue::info(uint32_t code) {
  const std::lock_guard guard(lock_);
  if (const auto known = known_infos_.find(code); known != known_infos_.end()) return known->second;
  const Uncancelled here;
  Result<EventInfo> made = make_info(code);
  if (!made) return made.error();
  auto info = std::make_shared<const EventInfo>(std::move(*made));
  // What does not open may open later.
  if ((info->flags & kEventUnavailable) == 0 && stays(code, info->component))
    known_infos_.emplace(code, info);
  return std::shared_ptr<const EventInfo>(std::move(info));
}

// Presets and processors' events; others come, go and are described while the program runs, user-defined ones with
// their file.
bool Catalogue::stays(uint32_t code, int component) {
  if (kind_of(code) == CodeKind::kPreset) return true;
  return kind_of(code) == CodeKind::kNative && component >= 0 && registry_.at(component)->has(kCounterUmasks);
}

Result<EventInfo> Catalogue::make_info(uint32_t code) {
  EventInfo info;
  info.code = code;
  const auto add_term = [&](int component, uint32_t index) {
    const Result<uint32_t> term = codes_.code_of({component, index});
    if (!term) return;
    const Result<std::string> name = name_of(*term);
    info.term_codes.push_back(*term);
    info.term_names.push_back(name.value_or(std::string()));
  };
  switch (kind_of(code)) {
    case CodeKind::kPreset: {
      const uint32_t index = code & ~kPresetMask;
      if (index >= kPresetCount) return not_a_preset(code);
      const Preset& preset = *preset_at(index);
      info.name = preset.name;
      info.short_text = preset.short_text;
      info.text = preset.text;
      info.preset_bits = preset.bits;
      info.derived = derived_name(DerivedKind::kNone);
      info.component = processor();
      const PresetRecipes::Answer& known = presets_.of(index);
      if (!known.available) {
        info.why = known.why;
        info.flags |= kEventUnavailable;
        return info;
      }
      info.component = known.component;
      info.term_count = known.recipe.term_count;
      info.derived = known.recipe.derived;
      info.formula = known.recipe.postfix;
      info.note = known.recipe.note;
      for (uint32_t i = 0; i < known.recipe.term_count; ++i) add_term(known.component, known.recipe.terms[i]);
      return info;
    }
    case CodeKind::kUser: {
      const uint32_t index = index_of(code);
      if (index >= user_events_.size())
        return refuse(Code::kNoEvent, "0x%08x is not a user-defined event", code);
      const UserEvent& event = user_events_[index];
      info.name = event.name;
      info.short_text = event.short_text;
      info.text = event.text;
      info.note = event.note;
      info.derived = derived_name(event.kind);
      info.formula = event.formula;
      if (event.kind == DerivedKind::kInfix) {  // shown as the postfix it amounts to, as PAPI does
        info.derived = derived_name(DerivedKind::kPostfix);
        const Result<Formula> formula =
            Formula::make(event.kind, event.formula, static_cast<uint32_t>(event.terms.size()));
        if (formula) info.formula = formula->postfix();
      }
      const Result<Composition> composition = compose(code);
      if (!composition) {
        info.why = composition.error().note;
        info.flags |= kEventUnavailable;
        info.term_names = event.terms;
        return info;
      }
      info.component = composition->component;
      if (composition->modelled) info.flags |= kEventModelled;
      // The terms as the formula counts them, be they natives or events with formulas of their own.
      info.term_count = static_cast<uint32_t>(event.terms.size());
      for (const std::string& term : event.terms) {
        const Result<uint32_t> term_code = find(term);
        info.term_codes.push_back(term_code.value_or(0u));
        info.term_names.push_back(term_code ? name_of(*term_code).value_or(term) : term);
      }
      return info;
    }
    case CodeKind::kNative: {
      const Result<Native> native = native_at(code);
      if (!native) return native.error();
      Component* const component = native->component;
      const Event& description = native->event;
      info.component = native->number;
      info.name = component->full_name(description.name);
      info.text = description.text;
      info.short_text = info.text.substr(0, 63);
      info.unit = description.unit;
      info.kind = description.kind;
      info.type = description.type;
      info.width_bits = description.width_bits;
      info.flags = description.flags;
      if (component->has(kModelled)) info.flags |= kEventModelled;
      if ((description.flags & kEventUnavailable) != 0 && description.why != nullptr)
        info.why = description.why;
      info.term_count = 1;
      info.derived = derived_name(DerivedKind::kNone);
      if (component->has(kCounterUmasks)) {
        const std::string own = description.name;
        for (const uint32_t index : listing_.qualified(*component, own)) {
          Event qualified;
          if (!component->event_at(index, &qualified).ok()) continue;
          info.qualifiers.emplace_back(qualified.name + own.size() + 1);
          info.qualifier_texts.emplace_back(qualified.text);
        }
      }
      return info;
    }
    default:
      return not_a_preset(code);
  }
}

Result<int> Catalogue::component_of(uint32_t code) {
  const std::lock_guard guard(lock_);
  switch (kind_of(code)) {
    case CodeKind::kNative: {
      const Result<NativeEvent> event = codes_.at(code);
      if (!event) return refuse(Code::kNoEvent, "no component has an event 0x%08x", code);
      return event->component;
    }
    case CodeKind::kUser: {
      const Result<Composition> composition = compose(code);
      if (!composition) return composition.error();
      return composition->component;
    }
    case CodeKind::kPreset: {
      const uint32_t index = code & ~kPresetMask;
      if (index >= kPresetCount) return not_a_preset(code);
      const PresetRecipes::Answer& known = presets_.of(index);
      return known.available ? known.component : processor();
    }
    default:
      return processor();
  }
}

Result<ValueKind> Catalogue::value_kind(uint32_t code) {
  if (kind_of(code) != CodeKind::kNative) return ValueKind::kCount;
  const std::lock_guard guard(lock_);
  const Result<Native> native = native_at(code);
  if (!native) return native.error();
  return native->event.kind;
}

Status Catalogue::load_user_events(const std::string& path, BadLines bad_lines) {
  std::ifstream file(path);
  if (!file) return refuse(Code::kSystem, "%s: the file of user-defined events cannot be read", path.c_str());
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  UserEventsFile read = parse_user_events(text, [this] {
    std::vector<std::string> units;
    for (int i = 0; i < registry_.count(); ++i) {
      if (!registry_.at(i)->has(kProcessor)) continue;
      const std::vector<std::string> its = registry_.at(i)->units();
      units.insert(units.end(), its.begin(), its.end());
    }
    return units;
  });
  std::map<std::string, std::string, std::less<>> refused;
  for (const RefusedLine& line : read.refused)
    refused[line.name] =
        path + ":" + std::to_string(line.number) + ":" + std::to_string(line.column) + ": " + line.why;
  Status first = kSuccess;
  if (!read.refused.empty()) {
    const RefusedLine& line = read.refused.front();
    first = refuse(Code::kInvalid, "%s:%u:%u: %s", path.c_str(), line.number, line.column, line.why.c_str());
    if (bad_lines == BadLines::kRefuseFile) return first;
  }
  for (const UserEvent& event : read.events) refused.erase(event.name);
  const std::lock_guard guard(lock_);
  found_names_.clear();
  user_events_ = std::move(read.events);
  refused_user_events_ = std::move(refused);
  return first;
}

}  // namespace substrata
