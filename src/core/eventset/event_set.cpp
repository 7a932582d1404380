// The events of a set: adding, removing, listing; its component; device commands.
#include "core/eventset/event_set.hpp"

#include <algorithm>
#include <utility>

#include "core/eventset/library.hpp"
#include "core/eventset/locked_set.hpp"

namespace substrata {
namespace {

// Where `native` is in `natives`, at whose end it is put if it is not.
uint16_t position_of(uint32_t native, std::vector<uint32_t>* natives) {
  const auto place = std::find(natives->begin(), natives->end(), native);
  const auto position = static_cast<uint16_t>(place - natives->begin());
  if (place == natives->end()) natives->push_back(native);
  return position;
}

// The lists of a set that grow in place: as they were, unless they are to stay.
class CutBack {
 public:
  explicit CutBack(EventSet& set) : set_(set), entries_(set.entries.size()), natives_(set.natives.size()) {}
  CutBack(const CutBack&) = delete;
  CutBack& operator=(const CutBack&) = delete;
  ~CutBack() {
    if (!due_) return;
    while (set_.entries.size() > entries_) set_.entries.pop_back();
    set_.natives.resize(natives_);
  }
  void forget() noexcept { due_ = false; }

 private:
  EventSet& set_;
  size_t entries_, natives_;
  bool due_ = true;
};

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
  if (const Status status = set.renew_in_child(); !status.ok()) return status;
  CutBack former(set);
  EventSet::Entry& added =
      set.entries.emplace_back(EventSet::Entry{code, std::move(composition->formula), {}});
  added.modelled = composition->modelled || component->has(kModelled);
  added.positions.reserve(composition->natives.size());
  for (const uint32_t native : composition->natives)
    added.positions.push_back(position_of(native, &set.natives));
  const Status status = set.program(set.entries.size(), set.natives.size());
  if (status.ok()) former.forget();
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
  const bool last = place + 1 == set.entries.end();
  std::vector<EventSet::Entry> entries;
  std::vector<uint32_t> natives;
  size_t kept = 0;  // what the others have, where it stays in its order
  if (last) {
    for (auto other = set.entries.begin(); other != place; ++other)
      for (const uint16_t position : other->positions) kept = std::max<size_t>(kept, position + 1u);
  } else {
    entries.reserve(set.entries.size() - 1);
    entries.assign(set.entries.begin(), place);
    entries.insert(entries.end(), place + 1, set.entries.end());
    natives.reserve(set.natives.size());
    for (EventSet::Entry& entry : entries)
      for (uint16_t& position : entry.positions) position = position_of(set.natives[position], &natives);
  }
  if (place->armed) {
    const Status status = keep_note(set.table->disarm(set.set, place->positions[0]));
    if (!status.ok()) return status;
  }
  if (const Status status = set.renew_in_child(); !status.ok()) return status;
  Status status = kSuccess;
  if (last) {
    status = set.program(set.entries.size() - 1, kept);
  } else {
    set.entries.swap(entries);
    set.natives.swap(natives);
    status = set.program(set.entries.size(), set.natives.size());
    if (!status.ok()) {
      set.entries.swap(entries);
      set.natives.swap(natives);
    }
  }
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
