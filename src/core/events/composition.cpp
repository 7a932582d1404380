// What an event is made of: the native events to program and the formula over their values.
#include <mutex>
#include <utility>

#include "core/events/catalogue.hpp"
#include "core/events/preset.hpp"

namespace substrata {

Result<Composition> Catalogue::compose(uint32_t code) {
  const std::lock_guard guard(lock_);
  return compose_code(code, 0);
}

Result<Composition> Catalogue::resolve_name(std::string_view name, int depth) {
  const Result<Found> found = look_up(name);
  if (!found) return found.error();
  if (found->native.component >= 0) return compose_native(found->code, found->native);
  return compose_code(found->code, depth);
}

Result<Composition> Catalogue::compose_code(uint32_t code, int depth) {
  switch (kind_of(code)) {
    case CodeKind::kNative: {
      const Result<NativeEvent> event = codes_.at(code);
      if (!event) return event.error();
      return compose_native(code, *event);
    }
    case CodeKind::kPreset:
      return compose_preset(code);
    case CodeKind::kUser:
      return compose_user_event(code, depth);
    default:
      return refuse(Code::kInvalid, "0x%08x is not an event code", code);
  }
}

Result<Composition> Catalogue::compose_native(uint32_t code, NativeEvent event) {
  Component* component = registry_.at(event.component);
  if (component == nullptr) return refuse(Code::kNoComponent, "no component has an event 0x%08x", code);
  Event description;
  if (const Status status = component->event_at(event.index, &description); !status.ok()) return status;
  if ((description.flags & kEventUnavailable) != 0)
    return refuse(Code::kNoEvent, "%s is not available: %s", description.name,
                  description.why != nullptr ? description.why : "it does not open here");
  Composition composition;
  composition.code = code;
  composition.component = event.component;
  composition.natives = {event.index};
  composition.modelled = component->has(kModelled) || (description.flags & kEventModelled) != 0;
  return composition;
}

Result<Composition> Catalogue::compose_preset(uint32_t code) {
  const uint32_t preset = code & ~kPresetMask;
  if (preset >= kPresetCount) return refuse(Code::kNoComponent, "0x%08x is not a preset", code);
  if (const Status status = query(code); !status.ok()) return status;
  const PresetRecipes::Answer& known = presets_.of(preset);
  Result<Formula> formula =
      Formula::make(*parse_derived_kind(known.recipe.derived), known.recipe.postfix, known.recipe.term_count);
  if (!formula) return formula.error();
  Composition composition;
  composition.code = code;
  composition.component = known.component;
  composition.natives.assign(known.recipe.terms, known.recipe.terms + known.recipe.term_count);
  composition.formula = std::move(*formula);
  return composition;
}

Result<Composition> Catalogue::compose_user_event(uint32_t code, int depth) {
  const uint32_t index = index_of(code);
  if (index >= user_events_.size()) return refuse(Code::kNoEvent, "0x%08x is not a user-defined event", code);
  const UserEvent& event = user_events_[index];
  if (depth > 4) return refuse(Code::kNoEvent, "%s is defined by itself", event.name.c_str());
  Composition composition;
  composition.code = code;
  std::vector<Formula> parts;
  for (const std::string& term : event.terms) {
    Result<Composition> part = resolve_name(term, depth + 1);
    if (!part) return refuse(Code::kNoEvent, "%s: %s", event.name.c_str(), part.error().note);
    if (composition.component >= 0 && part->component != composition.component)
      return refuse(Code::kCombination, "%s: its terms belong to different components", event.name.c_str());
    composition.component = part->component;
    composition.modelled = composition.modelled || part->modelled;
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

}  // namespace substrata
