// The events of a set: adding, removing, listing; its component; device commands.
#include "eventset/event_set.hpp"

#include <algorithm>

#include "eventset/library.hpp"
#include "eventset/locked_set.hpp"

namespace substrata {
namespace {

// The natives of `entries`, each once, and every entry's positions in them.
void number_natives(std::vector<EventSet::Entry>& entries, const std::vector<std::vector<uint32_t>>& terms,
                    std::vector<uint32_t>* natives) {
  natives->clear();
  for (size_t i = 0; i < entries.size(); ++i) {
    entries[i].positions.clear();
    for (const uint32_t term : terms[i]) {
      auto place = std::find(natives->begin(), natives->end(), term);
      if (place == natives->end()) place = natives->insert(natives->end(), term);
      entries[i].positions.push_back(static_cast<uint16_t>(place - natives->begin()));
    }
  }
}

std::vector<std::vector<uint32_t>> terms_of(const EventSet& set) {
  std::vector<std::vector<uint32_t>> terms;
  for (const EventSet::Entry& entry : set.entries) {
    terms.emplace_back();
    for (const uint16_t position : entry.positions) terms.back().push_back(set.natives[position]);
  }
  return terms;
}

Status add_resolved(EventSet& set, Result<Composition> composition) {
  if (!composition) return composition.error();
  const uint32_t code = composition->code;
  Component* component = Library::instance().registry().at(composition->component);
  if (component == nullptr) return refuse(Code::kNoComponent, "no component has an event 0x%08x", code);
  if (set.component != nullptr && set.component != component)
    return refuse(Code::kInvalid, "the eventset belongs to %s; an event of %s needs an eventset of its own",
                  set.component->name(), component->name());
  for (const EventSet::Entry& entry : set.entries) {
    if (entry.code == code) return refuse(Code::kConflict, "the event is in the eventset already");
  }
  const bool fresh = set.component == nullptr;
  if (fresh) {
    if (const Status status = set.bind(*component); !status.ok()) return status;
  }
  std::vector<EventSet::Entry> entries = set.entries;
  std::vector<std::vector<uint32_t>> terms = terms_of(set);
  entries.push_back({code, std::move(composition->formula), {}});
  terms.push_back(std::move(composition->natives));
  std::vector<uint32_t> natives;
  number_natives(entries, terms, &natives);
  const Status status = set.program(entries, natives);
  if (!status.ok() && fresh) set.unbind();
  return status;
}

Status add_to(EventSet& set, uint32_t code) {
  return add_resolved(set, Library::instance().catalogue().compose(code));
}

Status remove_from(EventSet& set, uint32_t code) {
  const auto place = std::find_if(set.entries.begin(), set.entries.end(),
                                  [&](const EventSet::Entry& entry) { return entry.code == code; });
  if (place == set.entries.end())
    return refuse(Code::kInvalid, "the event 0x%08x is not in the eventset", code);
  const std::ptrdiff_t index = place - set.entries.begin();
  std::vector<EventSet::Entry> entries = set.entries;
  std::vector<std::vector<uint32_t>> terms = terms_of(set);
  if (entries[static_cast<size_t>(index)].armed) {
    const Status status =
        keep_note(set.table->disarm(set.set, entries[static_cast<size_t>(index)].positions[0]));
    if (!status.ok()) return status;
  }
  entries.erase(entries.begin() + index);
  terms.erase(terms.begin() + index);
  std::vector<uint32_t> natives;
  number_natives(entries, terms, &natives);
  const Status status = set.program(entries, natives);
  if (status.ok()) set.forget_overflow(code);
  return status;
}

}  // namespace

Status assign_component(int handle, int index) {
  SUBSTRATA_LOCK_STOPPED_SET(set, handle);
  Component* component = Library::instance().registry().at(index);
  if (component == nullptr) return refuse(Code::kNoComponent, "there is no component number %d", index);
  if (set->component != nullptr)
    return refuse(Code::kInvalid, "the eventset belongs to %s already", set->component->name());
  return set->bind(*component);
}

Result<int> component_of_set(int handle) {
  LockedSet set(handle);
  if (!set) return set.absent();
  if (set->component == nullptr) return refuse(Code::kNoComponent, "the eventset has no component yet");
  return set->component->index();
}

Status add_event(int handle, uint32_t code) {
  SUBSTRATA_LOCK_STOPPED_SET(set, handle);
  return add_to(*set, code);
}

Status add_named_event(int handle, std::string_view name) {
  SUBSTRATA_LOCK_STOPPED_SET(set, handle);
  return add_resolved(*set, Library::instance().catalogue().resolve(name));
}

Status remove_event(int handle, uint32_t code) {
  SUBSTRATA_LOCK_STOPPED_SET(set, handle);
  return remove_from(*set, code);
}

Status remove_named_event(int handle, std::string_view name) {
  SUBSTRATA_LOCK_STOPPED_SET(set, handle);
  const Result<uint32_t> code = Library::instance().catalogue().find(name);
  return code ? remove_from(*set, *code) : code.error();
}

namespace {

ManyOutcome for_many(int handle, const int* codes, int count, Status (*one)(EventSet&, uint32_t)) {
  LockedSet set(handle);
  if (!set) return {0, set.absent()};
  if (codes == nullptr || count <= 0)
    return {0, refuse(Code::kInvalid, "a list of events was expected; there is none")};
  if (set->running()) return {0, is_running()};
  set.change();
  ManyOutcome outcome;
  for (; outcome.done < count; ++outcome.done) {
    outcome.status = one(*set, static_cast<uint32_t>(codes[outcome.done]));
    if (!outcome.status.ok()) break;
  }
  return outcome;
}

}  // namespace

ManyOutcome add_events(int handle, const int* codes, int count) {
  return for_many(handle, codes, count, add_to);
}
ManyOutcome remove_events(int handle, const int* codes, int count) {
  return for_many(handle, codes, count, remove_from);
}

Result<int> event_count_of(int handle) {
  LockedSet set(handle);
  if (!set) return set.absent();
  return static_cast<int>(set->entries.size());
}

Result<std::vector<uint32_t>> events_of(int handle) {
  LockedSet set(handle);
  if (!set) return set.absent();
  std::vector<uint32_t> codes;
  for (const EventSet::Entry& entry : set->entries) codes.push_back(entry.code);
  return codes;
}

Result<uint32_t> state_of(int handle) {
  LockedSet set(handle);
  if (!set) return set.absent();
  return set->state;
}

}  // namespace substrata
