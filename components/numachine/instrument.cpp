// Takes transactions apart and adds them to every selection that wants them.
#include "numachine/instrument.hpp"

#include <substrata/result.hpp>

#include <algorithm>
#include <cstdio>

#include "numachine/traffic.hpp"

namespace substrata::numachine {

const std::array<counting::Counter, kCounts>& Instrument::counters(const Selection& selection) {
  const std::lock_guard lock(mutex_);
  for (Selected& known : selected_) {
    if (known.selection == selection) return known.counters;
  }
  selected_.emplace_back();
  selected_.back().selection = selection;
  return selected_.back().counters;
}

const Instrument::Place& Instrument::place_of(std::uint16_t probe) {
  if (places_.size() <= probe) places_.resize(probe + 1U);
  Place& place = places_[probe];
  if (place.known) return place;
  place.known = true;
  auto info = client::sized<substrata_probe_info>();
  if (substrata_probe_at(probe, &info) != 0) return place;
  unsigned station = 0;
  unsigned cpu = 0;
  if (std::sscanf(info.name, "numachine.st%u.cpu%u.bus", &station, &cpu) == 2) {
    place.counted = true;
    place.station = station;
    place.cpu = station * kProcessorsPerStation + cpu;
  } else if (std::sscanf(info.name, "numachine.st%u.memory", &station) == 1) {
    place.counted = place.memory = true;
    place.station = station;
  }
  return place;
}

void Instrument::count(const substrata_transaction& t, const Place& place, Selected& selected) noexcept {
  const Selection& s = selected.selection;
  // A memory counts for the station it is on and for the processor that asked.
  const std::uint32_t cpu = place.memory ? t.initiator : place.cpu;
  if (s.cpu >= 0 && static_cast<std::uint32_t>(s.cpu) != cpu) return;
  if (s.station >= 0 && static_cast<std::uint32_t>(s.station) != place.station) return;
  // Of a phase only four bits reach a memory.
  const std::uint16_t known = place.memory ? kTravellingPhase : std::uint16_t{0xffff};
  if (s.phase >= 0 && (static_cast<std::uint16_t>(s.phase) & known) != (t.phase & known)) return;
  const bool instructions = t.kind == SUBSTRATA_INSTRUCTIONS;
  if (!instructions && (t.address < s.low || t.address > s.high)) return;
  auto& c = selected.counters;
  if (place.memory) {
    c[kMemoryRequests].add(1);
    c[kMemoryQueueCycles].add(low_of(t.detail));
    c[kRingQueueCycles].add(high_of(t.detail));
    c[kQueueCycles].add(low_of(t.detail) + high_of(t.detail));
    if (t.state >= SUBSTRATA_LOCAL_VALID && t.state <= SUBSTRATA_GLOBAL_INVALID)
      c[kHitLocalValid + (t.state - SUBSTRATA_LOCAL_VALID)].add(1);
    return;
  }
  switch (t.kind) {
    case SUBSTRATA_INSTRUCTIONS:
      c[kInstructions].add(low_of(t.detail));
      c[kStallCycles].add(high_of(t.detail));
      c[kLoads].add(low_of(t.address));
      c[kStores].add(high_of(t.address));
      c[kApparentMissCycles].add(t.start);
      c[kTlbMisses].add(t.size);
      c[kTlbCycles].add(high_of(t.site));
      c[kBranches].add(low_of(t.site));
      c[kBranchesMispredicted].add(t.target);
      return;
    case SUBSTRATA_INVALIDATE:
      c[kInvalidations].add(1);
      if (t.state == SUBSTRATA_HIT) c[kInvalidationHits].add(1);
      return;
    case SUBSTRATA_WRITE_BACK:
      c[kWriteBacks].add(1);
      return;
    case kUncachedRead:
      c[kUncachedReads].add(1);
      c[kUncachedCycles].add(t.detail);
      return;
    case kUncachedWrite:
      c[kUncachedWrites].add(1);
      return;
    case SUBSTRATA_READ:
      c[kReads].add(1);
      break;
    case SUBSTRATA_READ_EXCLUSIVE:
      c[kReadExclusives].add(1);
      break;
    case SUBSTRATA_UPGRADE:
      c[kUpgrades].add(1);
      break;
    case SUBSTRATA_UPDATE:
      c[kUpdates].add(1);
      break;
    default:
      return;
  }
  const RequestDetail d = unpack_request(t.detail);
  c[kMissCycles].add(d.latency);
  c[kNacks].add(d.nacks);
  if (d.nacks != 0) c[kNackedRequests].add(1);
  c[kNackCyclesTotal].add(d.nack_cycles);
  c[kBusBusy].add(d.bus_busy);
  c[kBusWaitCycles].add(d.bus_wait);
  switch (d.type) {
    case MissType::kOwnershipSuccessful:
      c[kOwnershipMisses].add(1);
      c[kOwnershipMissCycles].add(d.latency);
      break;
    case MissType::kOwnershipCancelled:
      c[kOwnershipMissesCancelled].add(1);
      break;
    case MissType::kInvalidation:
      c[kInvalidationMisses].add(1);
      c[kInvalidationMissCycles].add(d.latency);
      break;
    case MissType::kOther:
      c[kOtherMisses].add(1);
      break;
  }
  c[(d.response_state & kResponseRemote) != 0 ? kRemote : kLocal].add(1);
  if ((d.response_state & kResponseNetworkCache) != 0) c[kNetworkCacheHits].add(1);
}

void Instrument::observe(const substrata_transaction* batch, size_t count_of) noexcept {
  try {
    const Place& place = place_of(batch[0].probe);
    if (!place.counted) return;
    const bool alarms = alarms_running_.load(std::memory_order_acquire) != 0;
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < count_of; ++i) {
      for (Selected& selected : selected_) count(batch[i], place, selected);
      if (alarms) check_alarms();
    }
  } catch (...) {
    // No memory to learn a probe point's place: it is tried again with its next batch.
  }
}

void Instrument::add_alarm(const Alarm& alarm) {
  const std::lock_guard lock(alarms_mutex_);
  alarms_.push_back(alarm);
}

void Instrument::remove_alarms(const void* owner, std::uint64_t mask) noexcept {
  run_alarms(owner, false);
  const std::lock_guard lock(alarms_mutex_);
  alarms_.erase(std::remove_if(alarms_.begin(), alarms_.end(),
                               [&](const Alarm& a) { return a.owner == owner && (a.mask & mask) != 0; }),
                alarms_.end());
}

void Instrument::run_alarms(const void* owner, bool running) noexcept {
  const std::lock_guard lock(alarms_mutex_);
  std::uint32_t all = 0;
  for (Alarm& alarm : alarms_) {
    if (alarm.owner == owner) {
      alarm.running = running;
      alarm.next = alarm.counter->value() + alarm.threshold;
    }
    all += alarm.running ? 1 : 0;
  }
  alarms_running_.store(all, std::memory_order_release);
}

void Instrument::check_alarms() noexcept {
  const std::lock_guard lock(alarms_mutex_);
  for (std::size_t i = 0; i < alarms_.size(); ++i) {
    Alarm& alarm = alarms_[i];
    if (!alarm.running || alarm.counter->value() < alarm.next) continue;
    const std::uint64_t beyond = alarm.counter->value() - alarm.next;
    alarm.next += (beyond / alarm.threshold + 1) * alarm.threshold;
    Sample sample;
    sample.event_mask = alarm.mask;
    if (alarm.sink.call != nullptr) alarm.sink.call(alarm.sink.owner, &sample);
  }
}

}  // namespace substrata::numachine
