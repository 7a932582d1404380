// Names, codes and descriptions of every event of every substrate.
#include "events/catalogue.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <mutex>

#include "events/near_names.hpp"
#include "events/preset.hpp"

namespace substrata {
namespace {

constexpr std::string_view kComponentMark = ":::";

// "perf::CYCLES:u=1" is "perf::CYCLES" with qualifiers; "" when there are none.
std::string_view unqualified(std::string_view name) {
  size_t start = name.rfind("::");
  start = start == std::string_view::npos ? 0 : start + 2;
  const size_t colon = name.find(':', start);
  return colon == std::string_view::npos ? std::string_view() : name.substr(0, colon);
}

uint32_t bits_wanted(Enumerate how) {
  switch (how) {
    case Enumerate::kPresetMisc:
      return kPresetMisc;
    case Enumerate::kPresetInstructions:
      return kPresetInstructions;
    case Enumerate::kPresetIdle:
      return kPresetIdle;
    case Enumerate::kPresetBranch:
      return kPresetBranch;
    case Enumerate::kPresetConditional:
      return kPresetConditional;
    case Enumerate::kPresetMemory:
      return kPresetMemory;
    case Enumerate::kPresetCache:
      return kPresetCache;
    case Enumerate::kPresetL1:
      return kPresetL1;
    case Enumerate::kPresetL2:
      return kPresetL2;
    case Enumerate::kPresetL3:
      return kPresetL3;
    case Enumerate::kPresetTlb:
      return kPresetTlb;
    case Enumerate::kPresetFloat:
      return kPresetFloat;
    default:
      return 0;
  }
}

Status at_end() { return refuse(Code::kInvalid, "there is no further event of that kind"); }
Status not_a_preset(uint32_t code) { return refuse(Code::kNotPreset, "0x%08x is no preset", code); }
Status no_native(uint32_t code) {
  return refuse(Code::kNoComponent, "no component has an event 0x%08x", code);
}

}  // namespace

void Catalogue::clear() {
  const std::lock_guard guard(lock_);
  natives_.clear();
  code_by_index_.clear();
  presets_.clear();
  names_.clear();
  user_events_.clear();
}

Result<uint32_t> Catalogue::code_of(int component, uint32_t index) {
  const std::lock_guard guard(lock_);
  if (component < 0) return refuse(Code::kNoComponent, "there is no component number %d", component);
  if (code_by_index_.size() <= static_cast<size_t>(component))
    code_by_index_.resize(static_cast<size_t>(component) + 1);
  std::vector<uint32_t>& codes = code_by_index_[static_cast<size_t>(component)];
  if (codes.size() <= index) codes.resize(static_cast<size_t>(index) + 1);
  if (codes[index] == 0) {
    if (natives_.size() > kIndexMask) return refuse(Code::kNoMemory, "there are too many events");
    natives_.push_back({component, index});
    codes[index] = static_cast<uint32_t>(natives_.size());
  }
  return kNativeMask | (codes[index] - 1);
}

Result<NativeEvent> Catalogue::native(uint32_t code) {
  const std::lock_guard guard(lock_);
  if (kind_of(code) != CodeKind::kNative || index_of(code) >= natives_.size()) return no_native(code);
  return natives_[index_of(code)];
}

Catalogue::Names& Catalogue::names_of(Component& component) {
  Names& names = names_[component.index()];
  const uint32_t count = component.event_count();
  for (; names.scanned < count; ++names.scanned) {
    Event event;
    if (!component.event_at(names.scanned, &event).ok()) continue;
    names.all.emplace(event.name);
    if (!component.has(kCounterUmasks)) continue;
    const std::string_view base = unqualified(event.name);
    if (!base.empty()) names.qualified[std::string(base)].push_back(names.scanned);
  }
  return names;
}

// Listings show what opens here, and qualified forms only under the event they qualify.
bool Catalogue::listed(Component& component, uint32_t index, Event* out) {
  if (!component.event_at(index, out).ok()) return false;
  if ((out->flags & kEventUnavailable) != 0) return false;
  if (!component.has(kCounterUmasks)) return true;
  const std::string_view base = unqualified(out->name);
  return base.empty() || !names_of(component).all.contains(std::string(base));
}

Status Catalogue::unknown(std::string_view name, Component* only, std::string_view word) {
  NearNames near(name);
  for (int i = 0; i < registry_.count(); ++i) {
    Component* component = registry_.at(i);
    if (only != nullptr && component != only) continue;
    const uint32_t count = component->event_count();
    for (uint32_t index = 0; index < count; ++index) {
      Event event;
      if (listed(*component, index, &event)) near.offer(component->full_name(event.name));
    }
  }
  if (only == nullptr) {
    for (uint32_t i = 0; i < kPresetCount; ++i) near.offer(preset_at(i)->name);
    for (const UserEvent& event : user_events_) near.offer(event.name);
  }
  std::string list;
  for (const std::string& best : near.best()) {
    list += list.empty() ? "; did you mean " : " or ";
    list += best;
  }
  if (list.empty() && !word.empty()) {
    list = ": ";
    list += word;
  } else if (!list.empty()) {
    list += '?';
  }
  return refuse(Code::kNoEvent, "no event is called \"%.*s\"%s",
                static_cast<int>(std::min<size_t>(name.size(), 200)), name.data(), list.c_str());
}

Result<uint32_t> Catalogue::find_native(std::string_view name) {
  const size_t mark = name.find(kComponentMark);
  if (mark != std::string_view::npos) {
    Component* component = registry_.find(name.substr(0, mark));
    if (component == nullptr) {
      NearNames near(name.substr(0, mark));
      for (int i = 0; i < registry_.count(); ++i) near.offer(registry_.at(i)->name());
      const std::vector<std::string> best = near.best();
      return refuse(Code::kNoComponent, "no component is called \"%.*s\"%s%s%s", static_cast<int>(mark),
                    name.data(), best.empty() ? "" : "; did you mean ", best.empty() ? "" : best[0].c_str(),
                    best.empty() ? "" : "?");
    }
    const std::string rest(name.substr(mark + kComponentMark.size()));
    if (const Status status = component->ensure_open(); !status.ok())
      return refuse(Code::kNoEvent, "%.*s: %s", static_cast<int>(name.size()), name.data(), status.note);
    const Result<uint32_t> index = component->find_event(rest.c_str());
    if (index) return code_of(component->index(), *index);
    // The substrate's own word on a bad qualifier is better than ours on a bad name.
    if (index.error().code != Code::kNoEvent) return index.error();
    // Kept: looking for near names asks the substrate again.
    const std::string word = index.error().note != nullptr ? index.error().note : "";
    return unknown(name, component, word);
  }
  const std::string whole(name);
  // Whoever claims the name's beginning answers for it.
  for (int i = 0; i < registry_.count(); ++i) {
    Component* component = registry_.at(i);
    for (const std::string& prefix : component->prefixes()) {
      if (!name.starts_with(prefix)) continue;
      if (const Status status = component->ensure_open(); !status.ok())
        return refuse(Code::kNoEvent, "%s: %s", whole.c_str(), status.note);
      const Result<uint32_t> index = component->find_event(whole.c_str());
      if (index) return code_of(component->index(), *index);
      if (index.error().code != Code::kNoEvent) return index.error();
    }
  }
  if (name.empty()) return unknown(name, nullptr);
  Status refusal = kSuccess;
  for (int i = 0; i < registry_.count(); ++i) {
    Component* component = registry_.at(i);
    if (component->has(kPrefixNeeded)) continue;
    Result<uint32_t> index = component->find_event(whole.c_str());
    for (const std::string& prefix : component->prefixes()) {
      if (index) break;
      if (prefix.ends_with("::")) index = component->find_event((prefix + whole).c_str());
    }
    if (index) return code_of(component->index(), *index);
    if (index.error().code == Code::kAttribute && refusal.ok()) refusal = keep_note(index.error());
  }
  return refusal.ok() ? unknown(name, nullptr) : refusal;
}

Result<uint32_t> Catalogue::find(std::string_view name) {
  const std::lock_guard guard(lock_);
  if (const int preset = find_preset(name); preset >= 0) return kPresetMask | static_cast<uint32_t>(preset);
  for (size_t i = 0; i < user_events_.size(); ++i) {
    if (name == user_events_[i].name) return kUserMask | static_cast<uint32_t>(i);
  }
  return find_native(name);
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
        return refuse(Code::kNoEvent, "0x%08x is no user-defined event", code);
      return user_events_[index].name;
    case CodeKind::kNative: {
      const Result<NativeEvent> event = native(code);
      if (!event) return event.error();
      Component* component = registry_.at(event->component);
      if (component == nullptr) return no_native(code);
      Event description;
      if (const Status status = component->event_at(event->index, &description); !status.ok()) return status;
      return component->full_name(description.name);
    }
    default:
      return refuse(Code::kNoEvent, "0x%08x is no event code", code);
  }
}

int Catalogue::processor() {
  for (int i = 0; i < registry_.count(); ++i) {
    if (registry_.at(i)->has(kProcessor)) return i;
  }
  return 0;
}

const Catalogue::PresetAnswer& Catalogue::answer(uint32_t preset_index) {
  if (presets_.size() < kPresetCount) presets_.resize(kPresetCount);
  PresetAnswer& answer = presets_[preset_index];
  if (answer.asked) return answer;
  answer.asked = true;
  const char* name = preset_at(preset_index)->name;
  for (int i = 0; i < registry_.count() && !answer.available; ++i) {
    Component* component = registry_.at(i);
    if (!component->has(kProcessor) || component->table().recipe == nullptr) continue;
    Recipe recipe;
    Status status = component->recipe(name, &recipe);
    if (status.ok()) {
      const Result<DerivedKind> kind = parse_derived_kind(recipe.derived);
      status = kind ? Formula::make(*kind, recipe.postfix, recipe.term_count).status() : kind.error();
    }
    // Available means that it was opened here.
    if (status.ok() && trial_)
      status = trial_(*component, std::vector<uint32_t>(recipe.terms, recipe.terms + recipe.term_count));
    if (status.ok()) {
      answer.available = true;
      answer.component = i;
      answer.recipe = recipe;
      answer.why.clear();
    } else if (answer.why.empty()) {
      answer.why = std::string(component->name()) + ": " +
                   (status.note != nullptr ? status.note : "its events do not open here");
    }
  }
  if (!answer.available && answer.why.empty()) answer.why = "no component of this machine forms presets";
  return answer;
}

bool Catalogue::preset_available(uint32_t preset_index) {
  const std::lock_guard guard(lock_);
  return preset_index < kPresetCount && answer(preset_index).available;
}

Status Catalogue::query(uint32_t code) {
  const std::lock_guard guard(lock_);
  switch (kind_of(code)) {
    case CodeKind::kPreset: {
      const uint32_t index = code & ~kPresetMask;
      if (index >= kPresetCount) return not_a_preset(code);
      const PresetAnswer& known = answer(index);
      if (known.available) return kSuccess;
      return refuse(Code::kNoEvent, "%s is not available: %s", preset_at(index)->name, known.why.c_str());
    }
    case CodeKind::kUser:
    case CodeKind::kNative:
      return compose(code).status();
    default:
      return refuse(Code::kNoEvent, "0x%08x is no event code", code);
  }
}

Result<Composition> Catalogue::compose(uint32_t code) {
  const std::lock_guard guard(lock_);
  return compose_depth(code, 0);
}

Result<Composition> Catalogue::compose_depth(uint32_t code, int depth) {
  Composition composition;
  const uint32_t index = index_of(code);
  switch (kind_of(code)) {
    case CodeKind::kNative: {
      const Result<NativeEvent> event = native(code);
      if (!event) return event.error();
      Component* component = registry_.at(event->component);
      if (component == nullptr) return no_native(code);
      Event description;
      if (const Status status = component->event_at(event->index, &description); !status.ok()) return status;
      if ((description.flags & kEventUnavailable) != 0)
        return refuse(Code::kNoEvent, "%s is not available: %s", description.name,
                      description.why != nullptr ? description.why : "it does not open here");
      composition.component = event->component;
      composition.natives = {event->index};
      return composition;
    }
    case CodeKind::kPreset: {
      const uint32_t preset = code & ~kPresetMask;
      if (preset >= kPresetCount) return refuse(Code::kNoComponent, "0x%08x is no preset", code);
      if (const Status status = query(code); !status.ok()) return status;
      const PresetAnswer& known = answer(preset);
      Result<Formula> formula = Formula::make(*parse_derived_kind(known.recipe.derived), known.recipe.postfix,
                                              known.recipe.term_count);
      if (!formula) return formula.error();
      composition.component = known.component;
      composition.natives.assign(known.recipe.terms, known.recipe.terms + known.recipe.term_count);
      composition.formula = std::move(*formula);
      return composition;
    }
    case CodeKind::kUser: {
      if (index >= user_events_.size())
        return refuse(Code::kNoEvent, "0x%08x is no user-defined event", code);
      const UserEvent& event = user_events_[index];
      if (depth > 4) return refuse(Code::kNoEvent, "%s is defined by itself", event.name.c_str());
      std::vector<Formula> parts;
      for (const std::string& term : event.terms) {
        const Result<uint32_t> term_code = find(term);
        if (!term_code) return refuse(Code::kNoEvent, "%s: %s", event.name.c_str(), term_code.error().note);
        Result<Composition> part = compose_depth(*term_code, depth + 1);
        if (!part) return refuse(Code::kNoEvent, "%s: %s", event.name.c_str(), part.error().note);
        if (composition.component >= 0 && part->component != composition.component)
          return refuse(Code::kCombination, "%s: its terms belong to different components",
                        event.name.c_str());
        composition.component = part->component;
        composition.natives.insert(composition.natives.end(), part->natives.begin(), part->natives.end());
        parts.push_back(std::move(part->formula));
      }
      Result<Formula> formula =
          Formula::make(event.kind, event.formula, static_cast<uint32_t>(event.terms.size()));
      if (!formula) return formula.error();
      Result<Formula> composed = Formula::compose(*formula, parts);
      if (!composed) return refuse(Code::kCombination, "%s: %s", event.name.c_str(), composed.error().note);
      composition.formula = std::move(*composed);
      return composition;
    }
    default:
      return refuse(Code::kInvalid, "0x%08x is no event code", code);
  }
}

Result<EventInfo> Catalogue::info(uint32_t code) {
  const std::lock_guard guard(lock_);
  EventInfo info;
  info.code = code;
  const auto add_term = [&](int component, uint32_t index) {
    const Result<uint32_t> term = code_of(component, index);
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
      const PresetAnswer& known = answer(index);
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
        return refuse(Code::kNoEvent, "0x%08x is no user-defined event", code);
      const UserEvent& event = user_events_[index];
      info.name = event.name;
      info.short_text = event.short_text;
      info.text = event.text;
      info.note = event.note;
      info.derived = derived_name(event.kind);
      info.formula = event.formula;
      const Result<Composition> composition = compose(code);
      if (!composition) {
        info.why = composition.error().note;
        info.flags |= kEventUnavailable;
        info.term_names = event.terms;
        return info;
      }
      info.component = composition->component;
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
      const Result<NativeEvent> event = native(code);
      if (!event) return event.error();
      Component* component = registry_.at(event->component);
      if (component == nullptr) return no_native(code);
      Event description;
      if (const Status status = component->event_at(event->index, &description); !status.ok()) return status;
      info.component = event->component;
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
        const Names& names = names_of(*component);
        const auto found = names.qualified.find(own);
        if (found != names.qualified.end()) {
          for (const uint32_t index : found->second) {
            Event qualified;
            if (!component->event_at(index, &qualified).ok()) continue;
            info.qualifiers.emplace_back(qualified.name + own.size() + 1);
            info.qualifier_texts.emplace_back(qualified.text);
          }
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
      const Result<NativeEvent> event = native(code);
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
      const PresetAnswer& known = answer(index);
      return known.available ? known.component : processor();
    }
    default:
      return processor();
  }
}

Result<uint32_t> Catalogue::next_preset(uint32_t code, Enumerate how, int component) {
  const uint32_t current = code & ~kPresetMask;
  uint32_t index = 0;
  switch (how) {
    case Enumerate::kFirst:
      return kPresetMask;
    case Enumerate::kFirstOfComponent:
      index = 0;
      break;
    case Enumerate::kQualifiers:
    case Enumerate::kQualifierSets:
    case Enumerate::kNoSubstrateHasThem:
      return at_end();
    default:
      if (current >= kPresetCount) return at_end();
      index = current + 1;
  }
  const uint32_t bits = bits_wanted(how);
  const bool available = how == Enumerate::kPresetAvailable || how == Enumerate::kPresetCpuAvailable ||
                         how == Enumerate::kFirstOfComponent;
  for (; index < kPresetCount; ++index) {
    if (bits != 0 && (preset_at(index)->bits & bits) == 0) continue;
    if (available) {
      const PresetAnswer& known = answer(index);
      if (!known.available || (component >= 0 && known.component != component)) continue;
    }
    return kPresetMask | index;
  }
  return at_end();
}

Result<uint32_t> Catalogue::next_user(uint32_t code, Enumerate how) {
  if (how != Enumerate::kFirst && how != Enumerate::kEvents) return at_end();
  const uint32_t index = how == Enumerate::kFirst ? 0 : index_of(code) + 1;
  if (index >= user_events_.size()) return at_end();
  return kUserMask | index;
}

Result<uint32_t> Catalogue::next_native(uint32_t code, Enumerate how, Component& component) {
  uint32_t start = 0;
  if (how == Enumerate::kFirst) {
    if (const Status status = component.ensure_open(); !status.ok())
      return refuse(Code::kNoEvent, "%s", status.note);
  } else {
    const Result<NativeEvent> event = native(code);
    if (!event) return event.error();
    if (event->component != component.index())
      return refuse(Code::kInvalid, "event 0x%08x is not one of %s", code, component.name());
    start = event->index + 1;
  }
  Event event;
  switch (how) {
    case Enumerate::kFirst:
    case Enumerate::kEvents:
      for (uint32_t index = start; index < component.event_count(); ++index) {
        if (listed(component, index, &event)) return code_of(component.index(), index);
      }
      if (how == Enumerate::kFirst) return refuse(Code::kNoEvent, "%s has no events here", component.name());
      return at_end();
    case Enumerate::kQualifiers:
    case Enumerate::kQualifierSets: {
      if (!component.has(kCounterUmasks)) return at_end();
      if (const Status status = component.event_at(start - 1, &event); !status.ok()) return status;
      std::string base(unqualified(event.name));
      const Names& names = names_of(component);
      const bool first = base.empty() || !names.all.contains(base);
      if (first) base = event.name;
      const auto found = names.qualified.find(base);
      if (found == names.qualified.end()) return at_end();
      for (const uint32_t index : found->second) {
        if (!first && index < start) continue;
        if (component.event_at(index, &event).ok() && (event.flags & kEventUnavailable) == 0)
          return code_of(component.index(), index);
      }
      return at_end();
    }
    default:
      return at_end();
  }
}

Result<uint32_t> Catalogue::next_in_component(uint32_t code, Enumerate how, int index) {
  const std::lock_guard guard(lock_);
  Component* component = registry_.at(index);
  if (component == nullptr) return refuse(Code::kNoComponent, "there is no component number %d", index);
  switch (kind_of(code)) {
    case CodeKind::kPreset:
      if (!component->has(kProcessor))
        return refuse(Code::kNoEvent, "%s has no presets: they exist for processors", component->name());
      return next_preset(code, how, index);
    case CodeKind::kUser:
      return next_user(code, how);
    case CodeKind::kNative:
      return next_native(code, how, *component);
    default:
      return refuse(Code::kInvalid, "0x%08x does not say which kind of event to list", code);
  }
}

Result<uint32_t> Catalogue::next(uint32_t code, Enumerate how) {
  const std::lock_guard guard(lock_);
  switch (kind_of(code)) {
    case CodeKind::kPreset:
      return next_preset(code, how, -1);
    case CodeKind::kUser:
      return next_user(code, how);
    case CodeKind::kNative:
      break;
    default:
      return refuse(Code::kInvalid, "0x%08x does not say which kind of event to list", code);
  }
  int component = 0;
  if (how != Enumerate::kFirst) {
    const Result<NativeEvent> event = native(code);
    if (!event) return event.error();
    component = event->component;
    const Result<uint32_t> following = next_native(code, how, *registry_.at(component));
    if (following || how != Enumerate::kEvents) return following;
    ++component;
  }
  for (; component < registry_.count(); ++component) {
    const Result<uint32_t> first = next_native(kNativeMask, Enumerate::kFirst, *registry_.at(component));
    if (first) return first;
  }
  return at_end();
}

uint32_t Catalogue::native_count(int index) {
  const std::lock_guard guard(lock_);
  Component* component = registry_.at(index);
  if (component == nullptr) return 0;
  uint32_t listed_count = 0;
  Event event;
  for (uint32_t i = 0; i < component->event_count(); ++i)
    listed_count += listed(*component, i, &event) ? 1u : 0u;
  return listed_count;
}

uint32_t Catalogue::preset_count(int index) {
  const std::lock_guard guard(lock_);
  Component* component = registry_.at(index);
  if (component == nullptr || !component->has(kProcessor)) return 0;
  uint32_t count = 0;
  for (uint32_t i = 0; i < kPresetCount; ++i) {
    const PresetAnswer& known = answer(i);
    count += known.available && known.component == index ? 1u : 0u;
  }
  return count;
}

Status Catalogue::set_user_events(std::vector<UserEvent> events) {
  const std::lock_guard guard(lock_);
  user_events_ = std::move(events);
  return kSuccess;
}

Status Catalogue::load_user_events(const std::string& path) {
  std::ifstream file(path);
  if (!file) return refuse(Code::kSystem, "%s: the file of user-defined events cannot be read", path.c_str());
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  Result<std::vector<UserEvent>> events = parse_user_events(text);
  if (!events) return refuse(events.error().code, "%s: %s", path.c_str(), events.error().note);
  return set_user_events(std::move(*events));
}

}  // namespace substrata
