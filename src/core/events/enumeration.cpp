// Walks over all presets, native events and user events, and counts of them.
#include <mutex>

#include "core/events/catalogue.hpp"
#include "core/events/event_spec.hpp"
#include "core/events/preset.hpp"

namespace substrata {
namespace {

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
}  // namespace

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
      const PresetRecipes::Answer& known = presets_.of(index);
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
      return refuse(Code::kNoComponent, "%s", status.note);  // as PAPI answers for a disabled one
  } else {
    const Result<NativeEvent> event = codes_.at(code);
    if (!event || event->component != component.index())
      return refuse(Code::kInvalid, "event 0x%08x is not one of %s", code, component.name());
    start = event->index + 1;
  }
  Event event;
  switch (how) {
    case Enumerate::kFirst:
    case Enumerate::kEvents:
      for (uint32_t index = start; index < component.event_count(); ++index) {
        if (listing_.shows(component, index, &event)) return codes_.code_of({component.index(), index});
      }
      if (how == Enumerate::kFirst) return refuse(Code::kNoEvent, "%s has no events here", component.name());
      return at_end();
    case Enumerate::kQualifiers:
    case Enumerate::kQualifierSets: {
      if (!component.has(kCounterUmasks)) return at_end();
      if (const Status status = component.event_at(start - 1, &event); !status.ok()) return status;
      std::string plain(parse_event_spec(event.name).plain);
      const bool first = plain.empty() || !listing_.has(component, plain);
      if (first) plain = event.name;
      for (const uint32_t index : listing_.qualified(component, plain)) {
        if (!first && index < start) continue;
        if (component.event_at(index, &event).ok() && (event.flags & kEventUnavailable) == 0)
          return codes_.code_of({component.index(), index});
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
    const Result<NativeEvent> event = codes_.at(code);
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
    listed_count += listing_.shows(*component, i, &event) ? 1u : 0u;
  return listed_count;
}

uint32_t Catalogue::preset_count(int index) {
  const std::lock_guard guard(lock_);
  Component* component = registry_.at(index);
  if (component == nullptr || !component->has(kProcessor)) return 0;
  uint32_t count = 0;
  for (uint32_t i = 0; i < kPresetCount; ++i) {
    const PresetRecipes::Answer& known = presets_.of(i);
    count += known.available && known.component == index ? 1u : 0u;
  }
  return count;
}

}  // namespace substrata
