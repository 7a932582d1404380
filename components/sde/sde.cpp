// The substrate of software-defined events: numbers that the measured program publishes itself through
// libsde.
#include <array>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <mutex>
#include <new>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/fork_lock.hpp"
#include "base/table_of.hpp"
#include "sde/libsde.hpp"
#include "sde/overflow.hpp"
#include "substrata/export.h"
#include "substrata/substrate.h"

namespace {

using substrata::Code;
using substrata::Event;
using substrata::kSuccess;
using substrata::Status;
using substrata_sde::Alarm;
using substrata_sde::is_address;
using substrata_sde::is_counting;
using substrata_sde::is_floating;
using substrata_sde::Libsde;
using substrata_sde::Nature;

constexpr uint32_t kMaxEvents = 64;
constexpr const char* kPrefix = "sde:::";
constexpr const char* kAbsent =
    "libsde API not found: this process publishes no software-defined events; link the program to libsde "
    "(-lsde) to publish some";

struct State {
  Libsde libsde;
  // The catalogue's strings, kept until close, and the name of each event even after it was unregistered.
  substrata::ForkLock lock;
  std::unordered_set<std::string> texts;
  std::vector<const char*> names;

  const char* keep(std::string text) { return texts.insert(std::move(text)).first->c_str(); }
};

struct Entry {
  uint32_t counter = 0;
  Nature nature{};         // as last read
  long long baseline = 0;  // of a counting event, at the last start or reset
  bool floating_baseline = false;
  substrata_sde::Start* start = nullptr;  // of a group
  long long latched = 0;                  // at stop
  bool latched_is_ours = false;           // an address that was not handed out yet
  Alarm* alarm = nullptr;
};

struct Events {
  State* state;
  uint32_t count = 0;
  bool running = false;
  std::array<Entry, kMaxEvents> entries;
};

State* of(substrata::Device* device) { return reinterpret_cast<State*>(device); }
Events* of(substrata::Set* set) { return reinterpret_cast<Events*>(set); }

Status refused(Code code, const char* note) { return {code, 0, note}; }

// libsde's error numbers are PAPI's, and so are ours.
Status answer(int result, const char* note) {
  return result == 0 ? kSuccess : refused(static_cast<Code>(result), note);
}

long long minus(bool floating, long long value, long long baseline) {
  if (!floating)
    return static_cast<long long>(static_cast<unsigned long long>(value) -
                                  static_cast<unsigned long long>(baseline));
  double a = 0;
  double b = 0;
  std::memcpy(&a, &value, sizeof a);
  std::memcpy(&b, &baseline, sizeof b);
  a -= b;
  std::memcpy(&value, &a, sizeof a);
  return value;
}

void forget_latched(Entry& entry) noexcept {
  if (entry.latched_is_ours) substrata_sde::free_address(entry.nature, entry.latched);
  entry.latched_is_ours = false;
  entry.latched = 0;
}

void disarm_entry(Events& events, Entry& entry) noexcept {
  if (entry.alarm == nullptr) return;
  entry.alarm->give_back();
  entry.alarm = nullptr;
  events.state->libsde.set_overflow(entry.counter, 0);
}

void forget_start(const Libsde& libsde, substrata_sde::Start* start) noexcept {
  if (start != nullptr) libsde.free_start(start);
}

void clear(Events& events) noexcept {
  for (uint32_t i = 0; i < events.count; ++i) {
    disarm_entry(events, events.entries[i]);
    forget_start(events.state->libsde, events.entries[i].start);
    forget_latched(events.entries[i]);
    events.entries[i] = Entry{};
  }
  events.count = 0;
}

struct Baseline {
  long long value = 0;
  bool floating = false;
  substrata_sde::Start* start = nullptr;
};

// Where one event begins to count with our libsde. An event that the program has not registered yet counts
// from 0 on.
int find_baseline(const Libsde& libsde, uint32_t counter, Baseline* out) noexcept {
  Nature nature{};
  if (const int result = libsde.nature_of(counter, &nature); result != 0) return result;
  if (nature.event_class == substrata_sde::kGone) return static_cast<int>(Code::kNoEvent);
  if (nature.event_class == substrata_sde::kGroup) return libsde.mark_start(counter, &out->start);
  if (!is_counting(nature) || nature.event_class == substrata_sde::kWaiting) return 0;
  out->floating = is_floating(nature);
  const int result = libsde.read_from(counter, nullptr, &out->value, &nature);
  if (nature.event_class == substrata_sde::kWaiting) out->value = 0;
  return result;
}

// Where counting begins: with our libsde each set has its own beginning, with another libsde there is one for
// all.
Status begin(Events& events) noexcept {
  const Libsde& libsde = events.state->libsde;
  if (!libsde.has_nature()) {
    for (uint32_t i = 0; i < events.count; ++i)
      if (const int result = libsde.reset(events.entries[i].counter); result != 0)
        return answer(result, "libsde could not reset a software-defined event");
    return kSuccess;
  }
  std::array<Baseline, kMaxEvents> baselines;
  for (uint32_t i = 0; i < events.count; ++i) {
    const int result = find_baseline(libsde, events.entries[i].counter, &baselines[i]);
    if (result == 0) continue;
    for (const Baseline& baseline : baselines) forget_start(libsde, baseline.start);
    return answer(result, "a software-defined event of the set was unregistered by the program");
  }
  for (uint32_t i = 0; i < events.count; ++i) {
    forget_start(libsde, events.entries[i].start);
    events.entries[i].baseline = baselines[i].value;
    events.entries[i].floating_baseline = baselines[i].floating;
    events.entries[i].start = baselines[i].start;
  }
  return kSuccess;
}

Status read_now(Events& events, long long* values) noexcept {
  const Libsde& libsde = events.state->libsde;
  for (uint32_t i = 0; i < events.count; ++i) {
    Entry& entry = events.entries[i];
    int result = 0;
    if (!libsde.has_nature()) {
      result = libsde.read(entry.counter, &values[i]);
    } else {
      result = libsde.read_from(entry.counter, entry.start, &values[i], &entry.nature);
      if (result == 0 && is_counting(entry.nature) && entry.nature.event_class != substrata_sde::kWaiting) {
        const bool floating = is_floating(entry.nature);
        values[i] = minus(floating, values[i], floating == entry.floating_baseline ? entry.baseline : 0);
      }
    }
    if (result == 0) continue;
    for (uint32_t k = 0; k < i; ++k)
      if (is_address(events.entries[k].nature))
        substrata_sde::free_address(events.entries[k].nature, values[k]);
    return answer(result, "a software-defined event of the set was unregistered by the program");
  }
  return kSuccess;
}

void start_alarm(Events& events, Entry& entry) noexcept {
  if (entry.alarm == nullptr) return;
  entry.alarm->start(events.state->libsde.has_nature() ? entry.baseline : Alarm::kFromFirst);
}

struct Slots {
  static Status detect(const substrata::Host*) noexcept {
    Libsde libsde;
    return substrata_sde::find_libsde(&libsde) ? kSuccess : refused(Code::kComponent, kAbsent);
  }

  static Status open(const substrata::Host*, substrata::Device** out) noexcept {
    Libsde libsde;
    if (!substrata_sde::find_libsde(&libsde)) return refused(Code::kComponent, kAbsent);
    State* const state = new (std::nothrow) State;
    if (state == nullptr) return refused(Code::kNoMemory, "no memory for the sde substrate");
    state->libsde = libsde;
    *out = reinterpret_cast<substrata::Device*>(state);
    return kSuccess;
  }

  static void close(substrata::Device* device) noexcept {
    of(device)->libsde.shutdown();
    delete of(device);
  }

  static uint32_t event_count(substrata::Device* device) noexcept {
    const int count = of(device)->libsde.count();
    return count > 0 ? static_cast<uint32_t>(count) : 0;
  }

  static Status event_at(substrata::Device* device, uint32_t index, Event* out) noexcept {
    State& state = *of(device);
    if (index >= event_count(device))
      return refused(Code::kNoEvent, "no software-defined event of this number");
    // Asked before the lock is taken: a fork waits for libsde's locks and for ours one after the other.
    const char* const name = state.libsde.name(static_cast<int>(index));
    const bool gone = name == nullptr;
    const char* const text = gone ? nullptr : state.libsde.description(static_cast<int>(index));
    Nature nature{};
    const bool known = state.libsde.has_nature() && state.libsde.nature_of(index, &nature) == 0 && !gone;
    try {
      const std::lock_guard lock(state.lock);
      if (state.names.size() <= index) state.names.resize(index + 1, nullptr);
      if (!gone) state.names[index] = state.keep(name);
      Event event;
      event.name = state.names[index];
      if (event.name == nullptr)
        return refused(Code::kNoEvent,
                       "the program unregistered this software-defined event before it was listed");
      event.text = state.keep(text != nullptr ? text : event.name);
      event.unit = "";
      event.flags = substrata::kEventScopeProcess;
      if (gone) {
        event.flags |= substrata::kEventUnavailable;
        event.why =
            "the program unregistered this event; it can be read again when the program registers it again";
      }
      // Another libsde reads every event under one lock of its own.
      if (!state.libsde.has_nature()) event.flags |= substrata::kEventReadLocks;
      if (known) {
        if (is_address(nature)) event.flags |= substrata::kEventReadLocks;  // and copies what it gives
        event.kind = is_counting(nature) ? substrata::ValueKind::kCount : substrata::ValueKind::kGauge;
        event.type = is_floating(nature) ? substrata::ValueType::kDouble : substrata::ValueType::kInt64;
        if (nature.event_class == substrata_sde::kWaiting && std::strcmp(event.text, event.name) == 0)
          event.text =
              state.keep(std::string(event.name) + ": not registered by the program so far; reads as -1");
      }
      *out = event;
      return kSuccess;
    } catch (const std::exception&) {
      return refused(Code::kNoMemory, "no memory for the event's description");
    }
  }

  // A name that the program has not registered gets a number all the same, as PAPI gives it: a tool may be set
  // up before the library that publishes.
  static Status find_event(substrata::Device* device, const char* name, uint32_t* index_out) noexcept {
    if (std::strncmp(name, kPrefix, std::strlen(kPrefix)) == 0) name += std::strlen(kPrefix);
    uint32_t code = 0;
    if (of(device)->libsde.name_to_code(name, &code) != 0)
      return refused(Code::kNoEvent, "a software-defined event is named LIBRARY::EVENT");
    *index_out = code;
    return kSuccess;
  }

  static Status create_set(substrata::Device* device, substrata::Thread*, substrata::Set** out) noexcept {
    Events* const events = new (std::nothrow) Events;
    if (events == nullptr) return refused(Code::kNoMemory, "no memory for a set of software-defined events");
    events->state = of(device);
    *out = reinterpret_cast<substrata::Set*>(events);
    return kSuccess;
  }

  static void destroy_set(substrata::Set* set) noexcept {
    clear(*of(set));
    delete of(set);
  }

  static Status program(substrata::Set* set, const uint32_t* wanted, uint32_t count) noexcept {
    Events& events = *of(set);
    if (count > kMaxEvents) return refused(Code::kTooMany, "a set holds at most 64 software-defined events");
    const int known = events.state->libsde.count();
    for (uint32_t i = 0; i < count; ++i) {
      if (known < 0 || wanted[i] >= static_cast<uint32_t>(known))
        return refused(Code::kNoEvent, "no software-defined event of this number");
      if (events.state->libsde.name(static_cast<int>(wanted[i])) == nullptr)
        return refused(Code::kNoEvent, "the program has unregistered this software-defined event");
    }
    clear(events);
    for (uint32_t i = 0; i < count; ++i) events.entries[i].counter = wanted[i];
    events.count = count;
    return kSuccess;
  }

  static Status start(substrata::Set* set) noexcept {
    Events& events = *of(set);
    const Status begun = begin(events);
    if (!begun.ok()) return begun;
    for (uint32_t i = 0; i < events.count; ++i) {
      forget_latched(events.entries[i]);
      start_alarm(events, events.entries[i]);
    }
    events.running = true;
    return kSuccess;
  }

  static Status stop(substrata::Set* set) noexcept {
    Events& events = *of(set);
    std::array<long long, kMaxEvents> values{};
    const Status status = read_now(events, values.data());
    for (uint32_t i = 0; i < events.count; ++i) {
      Entry& entry = events.entries[i];
      if (entry.alarm != nullptr) entry.alarm->stop();
      if (!status.ok()) continue;
      entry.latched = values[i];
      entry.latched_is_ours = is_address(entry.nature) && values[i] != 0;
    }
    events.running = false;
    return status;
  }

  static Status read(substrata::Set* set, int64_t* values) noexcept {
    Events& events = *of(set);
    if (events.running) {
      std::array<long long, kMaxEvents> now;
      const Status status = read_now(events, now.data());
      if (status.ok())
        for (uint32_t i = 0; i < events.count; ++i) values[i] = now[i];
      return status;
    }
    for (uint32_t i = 0; i < events.count; ++i) {
      values[i] = events.entries[i].latched;
      events.entries[i].latched_is_ours = false;
    }
    return kSuccess;
  }

  static Status reset(substrata::Set* set) noexcept {
    Events& events = *of(set);
    // The distance to the next overflow goes on over a reset, as PAPI's does: a program that reads with
    // PAPI_accum would otherwise hear less than the counter's growth is worth.
    if (events.running) return begin(events);
    for (uint32_t i = 0; i < events.count; ++i)
      if (!events.state->libsde.has_nature() || is_counting(events.entries[i].nature))
        events.entries[i].latched = 0;
    return kSuccess;
  }

  // The program's own variable gets the value; what the set then reads is that value.
  static Status write(substrata::Set* set, const int64_t* values) noexcept {
    Events& events = *of(set);
    const Libsde& libsde = events.state->libsde;
    if (libsde.has_nature()) {
      for (uint32_t i = 0; i < events.count; ++i) {
        Nature nature{};
        if (libsde.nature_of(events.entries[i].counter, &nature) != 0 ||
            (nature.event_class != substrata_sde::kVariable && nature.event_class != substrata_sde::kCreated))
          return refused(
              Code::kInvalid,
              "only a software-defined counter can be written: no callback, group, recorder or set");
      }
    }
    for (uint32_t i = 0; i < events.count; ++i) {
      Entry& entry = events.entries[i];
      if (const int result = libsde.write(entry.counter, values[i]); result != 0)
        return answer(result, "libsde refused to write a software-defined event");
      entry.baseline = 0;
      if (!events.running) entry.latched = values[i];
    }
    return kSuccess;
  }

  // Counters that libsde keeps report each increment. All others have to be checked from time to time, which
  // the layer does.
  static Status arm(substrata::Set* set, uint32_t position, int64_t threshold, uint32_t,
                    const substrata::SampleSink* sink) noexcept {
    Events& events = *of(set);
    if (position >= events.count || threshold <= 0 || sink == nullptr)
      return refused(Code::kInvalid, "an event of the set, a threshold above 0 and a sink are needed");
    Entry& entry = events.entries[position];
    const Libsde& libsde = events.state->libsde;
    const int clipped = threshold > std::numeric_limits<int>::max() ? std::numeric_limits<int>::max()
                                                                    : static_cast<int>(threshold);
    const int result = libsde.set_overflow(entry.counter, clipped);
    if (result < 0) return refused(Code::kInvalid, "recorders and counting sets do not overflow");
    if (result != 0 || libsde.waits_for_overflow(entry.counter) != 0) {
      libsde.set_overflow(entry.counter, 0);
      return refused(
          Code::kComponent,
          "only counters made by papi_sde_create_counter overflow by themselves; a timer has to look at "
          "others");
    }
    Alarm* const alarm = Alarm::take(entry.counter, position, threshold, *sink);
    if (alarm == nullptr)
      return refused(Code::kComponent, "all 64 places for overflowing counters are taken");
    if (entry.alarm != nullptr) entry.alarm->give_back();
    entry.alarm = alarm;
    if (events.running) {
      long long value = Alarm::kFromFirst;
      Nature nature{};
      if (libsde.has_nature() && libsde.read_from(entry.counter, nullptr, &value, &nature) != 0)
        value = Alarm::kFromFirst;
      if (libsde.has_nature() && nature.event_class == substrata_sde::kWaiting) value = 0;
      alarm->start(value);
    }
    return kSuccess;
  }

  static Status disarm(substrata::Set* set, uint32_t position) noexcept {
    Events& events = *of(set);
    if (position >= events.count) return refused(Code::kInvalid, "no such event in the set");
    disarm_entry(events, events.entries[position]);
    return kSuccess;
  }
};

constexpr substrata::SubstrateTable kTable = substrata::table_of<Slots>({
    .name = "sde",
    .summary = "Software Defined Events (SDE): numbers the program publishes through libsde",
    .version = "1.15",
    .traits = substrata::kHardwareInterrupt | substrata::kPrefixNeeded,
    .max_events = kMaxEvents,
    .max_multiplexed = kMaxEvents,
    .default_domain = substrata::kDomainUser,
    .domains = substrata::kDomainUser,
    .default_granularity = substrata::kGranularityThread,
    .granularities = substrata::kGranularityThread,
});

}  // namespace

SUBSTRATA_PUBLISH(sde, kTable);

// libsde reports increments to libpapi (papi_sde_check_overflow_status), and both libpapi pass it on to here:
// the one symbol besides the entry point.
extern "C" SUBSTRATA_API void substrata_sde_overflow(uint32_t counter, long long value) noexcept;
extern "C" void substrata_sde_overflow(uint32_t counter, long long value) noexcept {
  Alarm::check(counter, value);
}
