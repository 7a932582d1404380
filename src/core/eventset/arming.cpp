// Overflow by a substrate's own means, and the events that an overflow vector names.
#include <algorithm>

#include "core/eventset/locked_set.hpp"

namespace substrata {
namespace {

Result<size_t> place_of(const EventSet& set, uint32_t code) {
  for (size_t i = 0; i < set.entries.size(); ++i) {
    if (set.entries[i].code == code) return i;
  }
  return refuse(Code::kNoEvent, "the event 0x%08x is not in the eventset", code);
}

}  // namespace

Status arm_event(int handle, uint32_t code, int64_t threshold, uint32_t flags, const SampleSink& sink) {
  SUBSTRATA_LOCK_STOPPED_SET(set, handle);
  if (threshold <= 0 || sink.call == nullptr)
    return refuse(Code::kInvalid, "an overflow needs a threshold above 0 and a handler");
  if (const Status status = set->renew_in_child(); !status.ok()) return status;
  const Result<size_t> place = place_of(*set, code);
  if (!place) return place.error();
  EventSet::Entry& entry = set->entries[*place];
  if (entry.formula.kind() != DerivedKind::kNone)
    return refuse(Code::kNoSupport, "a derived event does not overflow; its native events do");
  if (!set->component->arms_itself() || set->multiplexer != nullptr)
    return refuse(Code::kComponent, "%s does not report overflows by itself%s", set->component->name(),
                  set->multiplexer != nullptr ? " of multiplexed events" : "");
  if ((flags & kSampleDataAddress) != 0 && !set->component->has(kDataAddresses))
    return refuse(Code::kNoSupport, "%s knows no data addresses of its events", set->component->name());
  const Status status = keep_note(set->table->arm(set->set, entry.positions[0], threshold, flags, &sink));
  if (!status.ok()) return status;
  entry.armed = true;
  set->state |= kSetOverflowing;
  return kSuccess;
}

Status disarm_event(int handle, uint32_t code) {
  SUBSTRATA_LOCK_STOPPED_SET(set, handle);
  const Result<size_t> place = place_of(*set, code);
  if (!place) return place.error();
  EventSet::Entry& entry = set->entries[*place];
  if (!entry.armed) return refuse(Code::kInvalid, "the event is not armed for overflow");
  const Status status = keep_note(set->table->disarm(set->set, entry.positions[0]));
  if (!status.ok()) return status;
  entry.armed = false;
  const bool others =
      std::any_of(set->entries.begin(), set->entries.end(), [](const auto& other) { return other.armed; });
  if (!others) set->state &= ~static_cast<uint32_t>(kSetOverflowing);
  return kSuccess;
}

Result<std::vector<int>> events_of_vector(int handle, uint64_t vector) {
  LockedSet set(handle);
  if (!set) return set.absent();
  if (vector == 0) return refuse(Code::kInvalid, "an overflow vector of 0 names no event");
  std::vector<int> places;
  for (size_t i = 0; i < set->entries.size(); ++i) {
    const auto& positions = set->entries[i].positions;
    const bool hit = std::any_of(positions.begin(), positions.end(), [&](uint16_t position) {
      return position < 64 && (vector >> position & 1) != 0;
    });
    if (hit) places.push_back(static_cast<int>(i));
  }
  return places;
}

}  // namespace substrata
