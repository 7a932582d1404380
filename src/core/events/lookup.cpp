// From an event's name to the event: which components are asked, and what a misspelt name is answered.
#include <algorithm>
#include <mutex>
#include <string>
#include <string_view>

#include "base/uncancelled.hpp"
#include "core/events/catalogue.hpp"
#include "core/events/event_spec.hpp"
#include "core/events/near_names.hpp"
#include "core/events/preset.hpp"
#include "core/registry/other_components.hpp"

namespace substrata {
namespace {

// Whether a bare name may be looked for in the component. One that is open is asked; a closed one would have
// to be opened, which only a name that can be one of its events is worth.
bool asked_for(const Component& component, const EventSpec& spec) {
  if (component.has(kPrefixNeeded)) return false;
  if (component.opened() != 0) return true;
  if (spec.event.starts_with("PAPI_")) return false;  // a preset's name
  return component.may_have(spec.event) || (!spec.plain.empty() && component.may_have(spec.plain));
}

// The substrate that serves the component whose preset this is, which the name's second word names as in PAPI's
// "PAPI_CUDA_FP64_FMA"; null where none does. What begins as a preset of the processor is none of these.
Component* server_of_preset(Registry& registry, std::string_view name) {
  constexpr std::string_view kBegin = "PAPI_";
  const size_t end = name.find('_', kBegin.size());
  if (!name.starts_with(kBegin) || end == name.npos) return nullptr;
  for (uint32_t i = 0; i < kPresetCount; ++i)
    if (std::string_view(preset_at(i)->name).starts_with(name.substr(0, end + 1))) return nullptr;
  std::string component(name.substr(kBegin.size(), end - kBegin.size()));
  for (char& letter : component)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return server_of(registry, component);
}

Status unknown_component(Registry& registry, const EventSpec& spec) {
  NearNames near(spec.component);
  for (int i = 0; i < registry.count(); ++i) near.offer(registry.at(i)->name());
  const std::vector<std::string> best = near.best();
  return refuse(Code::kNoComponent, "no component is called \"%.*s\"%s%s%s",
                static_cast<int>(spec.component.size()), spec.component.data(),
                best.empty() ? "" : "; did you mean ", best.empty() ? "" : best[0].c_str(),
                best.empty() ? "; SUBSTRATA_BRIDGE=/path/to/libpapi.so asks a PAPI that has it" : "?");
}

}  // namespace

Status Catalogue::unknown(std::string_view name, Component* only, std::string_view reason) {
  NearNames near(name);
  for (int i = 0; i < registry_.count(); ++i) {
    Component* component = registry_.at(i);
    if (only != nullptr && component != only) continue;
    if (component->opened() == 0) {
      if (component->asked()) continue;  // it is not available here
      for (const std::string& event : component->known_events()) near.offer(component->full_name(event));
      continue;
    }
    // A substrate is asked again for the few that are near.
    const std::vector<std::string>& names = listing_.full_names(*component);
    for (uint32_t index = 0; index < names.size(); ++index) {
      Event event;
      if (near.takes(names[index]) && listing_.shows(*component, index, &event)) near.offer(names[index]);
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
  if (list.empty() && !reason.empty()) {
    list = ": ";
    list += reason;
  } else if (list.empty()) {
    list = "; `substrata list` has those that open here";
  } else if (!list.empty()) {
    list += '?';
  }
  return refuse(Code::kNoEvent, "no event is called \"%.*s\"%s",
                static_cast<int>(std::min<size_t>(name.size(), 200)), name.data(), list.c_str());
}

Result<NativeEvent> Catalogue::find_in(const EventSpec& spec) {
  Component* component = registry_.find(spec.component);
  if (component == nullptr) {
    Component* server = server_of(registry_, spec.component);
    if (server == nullptr) return unknown_component(registry_, spec);
    const Result<uint32_t> index = server->find_event(std::string(spec.text).c_str());
    if (!index) return index.error();
    return NativeEvent{server->index(), *index};
  }
  const Status opened = component->ensure_open();
  const Result<uint32_t> index =
      opened.ok() ? component->find_event(std::string(spec.event).c_str()) : Result<uint32_t>(opened);
  if (index) return NativeEvent{component->index(), *index};
  // Kept: asking others, and looking for near names, asks substrates again.
  const std::string reason = index.error().note != nullptr ? index.error().note : "";
  const Code code = index.error().code;
  // Where ours lacks it, another PAPI's component of the same name may have it: Intel's metrics of Level Zero.
  if (Component* const server = server_of(registry_, spec.component); server != nullptr) {
    const Result<uint32_t> theirs = server->find_event(std::string(spec.text).c_str());
    if (theirs) return NativeEvent{server->index(), *theirs};
  }
  if (!opened.ok())
    return refuse(Code::kNoEvent, "%.*s: %s", static_cast<int>(spec.text.size()), spec.text.data(),
                  reason.c_str());
  // The substrate's own reason for a bad qualifier is better than ours for a bad name.
  if (code != Code::kNoEvent) return refuse(code, "%s", reason.c_str());
  return unknown(spec.text, component, reason);
}

Result<NativeEvent> Catalogue::find_bare(const EventSpec& spec) {
  const std::string whole(spec.text);
  // A component that claims the beginning of the name answers for it.
  for (int i = 0; i < registry_.count(); ++i) {
    Component* component = registry_.at(i);
    for (const std::string& prefix : component->prefixes()) {
      if (!spec.text.starts_with(prefix)) continue;
      if (const Status status = component->ensure_open(); !status.ok())
        return refuse(Code::kNoEvent, "%s: %s", whole.c_str(), status.note);
      const Result<uint32_t> index = component->find_event(whole.c_str());
      if (index) return NativeEvent{i, *index};
      if (index.error().code != Code::kNoEvent) return index.error();
    }
  }
  if (whole.empty()) return unknown(whole, nullptr);
  Status refusal = kSuccess;
  for (int i = 0; i < registry_.count(); ++i) {
    Component* component = registry_.at(i);
    if (!asked_for(*component, spec)) continue;
    Result<uint32_t> index = component->find_event(whole.c_str());
    for (const std::string& prefix : component->prefixes()) {
      if (index) break;
      if (prefix.ends_with("::")) index = component->find_event((prefix + whole).c_str());
    }
    if (index) return NativeEvent{i, *index};
    if (index.error().code == Code::kAttribute && refusal.ok()) refusal = keep_note(index.error());
  }
  if (Component* const server = server_of_preset(registry_, whole); server != nullptr) {
    const Result<uint32_t> index = server->find_event(whole.c_str());
    if (index) return NativeEvent{server->index(), *index};
  }
  return refusal.ok() ? unknown(whole, nullptr) : refusal;
}

// A preset or user event by its code, a native event by component and index.
Result<Catalogue::Found> Catalogue::look_up(std::string_view name) {
  if (const int preset = find_preset(name); preset >= 0)
    return Found{kPresetMask | static_cast<uint32_t>(preset), {}};
  for (size_t i = 0; i < user_events_.size(); ++i) {
    if (name == user_events_[i].name) return Found{kUserMask | static_cast<uint32_t>(i), {}};
  }
  if (const auto bad = refused_user_events_.find(name); bad != refused_user_events_.end())
    return refuse(Code::kNoEvent, "the user-defined event was left out: %s", bad->second.c_str());
  const EventSpec spec = parse_event_spec(name);
  const Result<NativeEvent> native = spec.has_component ? find_in(spec) : find_bare(spec);
  if (!native) return native.error();
  const Result<uint32_t> code = codes_.code_of(*native);
  if (!code) return code.error();
  return Found{*code, *native};
}

Result<uint32_t> Catalogue::find(std::string_view name) {
  if (uint32_t known = 0; found_names_.find(name, &known)) return known;
  const Uncancelled here;
  const std::lock_guard guard(lock_);
  const Result<Found> found = look_up(name);
  if (!found) return found.error();
  if (stays(found->code, found->native.component)) found_names_.put(name, found->code);
  return found->code;
}

Result<Composition> Catalogue::resolve(std::string_view name) {
  const std::lock_guard guard(lock_);
  return resolve_name(name, 0);
}

}  // namespace substrata
