// The C++ interface for programs that measure: eventsets and runs that end with their scope, values with
// their unit in the type, every refusal a message. Header-only over papi.h and substrata/extensions.h.
//
//   namespace measure = substrata::client;
//   measure::Library library = measure::Library::open().value();
//   measure::EventSet set = library.event_set("perf_event").value();
//   auto clock = set.add<std::chrono::nanoseconds>("perf::TASK-CLOCK").value();
//   measure::Run run = set.start().value();
//   ...
//   measure::Snapshot end = run.stop().value();
//   std::chrono::nanoseconds used = end[clock].amount;
//
// What may be refused gives a Result: ask it (`if (!result) ... result.error().sentence`) or call value(),
// which throws Failure with the same message. A program links libpapi and libsubstrata: PAPI::substrata in
// CMake, `substrata` in pkg-config. Unless a class says otherwise it is Thread-compatible: one object, one
// thread at a time.
#ifndef SUBSTRATA_SUBSTRATA_HPP
#define SUBSTRATA_SUBSTRATA_HPP

#if __cplusplus < 202002L
#error "substrata/substrata.hpp needs C++20: compile with -std=c++20"
#endif

#include <papi.h>
#include <substrata/extensions.h>
#include <substrata/result.hpp>
#include <substrata/units.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace substrata::client {

enum class Origin { kMeasured, kModelled };
enum class Kind { kCount, kGauge, kBin };  // grows from start; a level; one bin of a histogram

// One event as the library describes it.
struct EventInfo {
  int code = 0;
  int substrate = -1;
  std::string name;
  std::string text;
  std::string unit;
  Kind kind = Kind::kCount;
  Origin origin = Origin::kMeasured;
  std::uint32_t value_type = 0;  // as substrata_event.type
  bool available = false;
  std::string why;  // not available: reason and cure
};

// One substrate (PAPI: component).
struct SubstrateInfo {
  int index = -1;
  std::string name;
  std::string text;
  bool available = false;
  std::string why;  // not available: reason and cure
};

// One value and what a careful reader wants to know of it.
template <class Unit>
struct Value {
  Unit amount{};
  Origin origin = Origin::kMeasured;
  std::chrono::nanoseconds time{};  // CLOCK_MONOTONIC_RAW when it was taken
  std::chrono::nanoseconds age{};   // how old the number was then
  std::chrono::nanoseconds
      enabled{};  // how long the event was enabled; 0 where the substrate does not report it
  std::chrono::nanoseconds running{};  // how long it was really counting
  bool scaled = false;                 // extrapolated: the counter ran part of the time
  bool stale = false;                  // older than the source's refresh period
  bool incomplete = false;             // overflows were lost, or the kernel held the counter back
};

// One time for several values: each was taken within time +- skew.
struct Stamp {
  std::chrono::nanoseconds time{};
  std::chrono::nanoseconds skew{};
};

class EventSet;
class Library;
class Run;
class Snapshot;

namespace detail {

inline Error last_error(std::string_view what, int code) {
  std::string message(what);
  if (!message.empty()) message += ": ";
  const char* reason = substrata_last_error();
  if (reason[0] == '\0') reason = PAPI_strerror(code);
  message += reason != nullptr ? reason : "error " + std::to_string(code);
  return {code, std::move(message)};
}

// The library while it is in use. Thread-safe.
class Use {
 public:
  static Result<std::shared_ptr<const Use>> acquire() {
    const std::lock_guard guard(lock());
    if (std::shared_ptr<const Use> held = current().lock()) return held;
    const bool ours = PAPI_is_initialized() == PAPI_NOT_INITED;
    const int version = PAPI_library_init(PAPI_VER_CURRENT);
    if (version != PAPI_VER_CURRENT) {
      if (version > 0)
        return Error{PAPI_EINVAL,
                     "the library is of another version than the papi.h this program was built with"};
      return last_error("the library does not start", version);
    }
    std::shared_ptr<const Use> fresh(new Use(ours));
    current() = fresh;
    return fresh;
  }
  ~Use() {
    const std::lock_guard guard(lock());
    // A use that began while this one ended goes on with the library.
    if (ours_ && current().expired()) PAPI_shutdown();
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  explicit Use(bool ours) noexcept : ours_(ours) {}
  static std::mutex& lock() {
    static std::mutex only;
    return only;
  }
  static std::weak_ptr<const Use>& current() {
    static std::weak_ptr<const Use> only;
    return only;
  }
  bool ours_;
};

// An eventset of the C interface, destroyed with its last owner.
struct OwnedSet {
  std::shared_ptr<const Use> library;
  int handle = PAPI_NULL;
  int substrate = -1;
  unsigned events = 0;
  const std::uint64_t serial = next_serial();  // handles are used again, serials are not

  explicit OwnedSet(std::shared_ptr<const Use> use) noexcept : library(std::move(use)) {}
  ~OwnedSet() {
    if (handle == PAPI_NULL) return;
    PAPI_cleanup_eventset(handle);
    PAPI_destroy_eventset(&handle);
  }
  OwnedSet(const OwnedSet&) = delete;
  OwnedSet& operator=(const OwnedSet&) = delete;

 private:
  static std::uint64_t next_serial() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
  }
};

inline Result<EventInfo> describe(int code) {
  PAPI_event_info_t plain;
  if (const int status = PAPI_get_event_info(code, &plain); status != PAPI_OK)
    return last_error("the event cannot be described", status);
  auto more = client::sized<substrata_event>();
  if (const int status = substrata_event_info(code, &more); status != PAPI_OK)
    return last_error("the event cannot be described", status);
  EventInfo info;
  info.code = code;
  info.substrate = more.component;
  info.name = plain.symbol;
  info.text = plain.long_descr;
  info.unit = more.unit;
  info.kind = more.kind == 1 ? Kind::kGauge : more.kind == 2 ? Kind::kBin : Kind::kCount;
  info.origin = more.modelled != 0 ? Origin::kModelled : Origin::kMeasured;
  info.value_type = more.type;
  info.available = more.available != 0;
  info.why = more.why;
  return info;
}

inline Result<EventInfo> find_event(const std::string& name) {
  int code = 0;
  if (const int status = PAPI_event_name_to_code(name.c_str(), &code); status != PAPI_OK)
    return last_error(name, status);
  return describe(code);
}

}  // namespace detail

// Where one event's value lies in a Snapshot, and what it is. Copies are cheap enough to be kept; it names
// its eventset but does not keep it alive.
template <class Unit>
class Slot {
 public:
  const EventInfo& event() const noexcept { return *event_; }
  const std::string& unit() const noexcept { return event_->unit; }

 private:
  friend class EventSet;
  friend class Snapshot;
  Slot(std::uint64_t set, unsigned position, std::int64_t steps, EventInfo event)
      : set_(set),
        position_(position),
        steps_(steps),
        event_(std::make_shared<EventInfo>(std::move(event))) {}
  std::uint64_t set_;  // OwnedSet::serial
  unsigned position_;
  std::int64_t steps_;
  std::shared_ptr<const EventInfo> event_;
};

// The values of one or more sets as they were once. It owns its memory, so that Run::read into one that has
// the capacity allocates nothing.
class Snapshot {
 public:
  // Throws std::out_of_range for a slot of another set, std::range_error for a value its type cannot hold.
  template <class Unit>
  Value<Unit> operator[](const Slot<Unit>& slot) const {
    const substrata_value& raw = at(slot.set_, slot.position_);
    Value<Unit> value;
    value.amount = amount(slot, raw);
    value.origin = (raw.flags & SUBSTRATA_VALUE_MODELLED) != 0 ? Origin::kModelled : slot.event().origin;
    value.time = std::chrono::nanoseconds(raw.time_ns);
    value.age = std::chrono::nanoseconds(raw.age_ns);
    value.enabled = std::chrono::nanoseconds(raw.enabled_ns);
    value.running = std::chrono::nanoseconds(raw.running_ns);
    value.scaled = (raw.flags & SUBSTRATA_VALUE_SCALED) != 0;
    value.stale = (raw.flags & SUBSTRATA_VALUE_STALE) != 0;
    value.incomplete = (raw.flags & SUBSTRATA_VALUE_INCOMPLETE) != 0;
    return value;
  }

  // When the values were taken: the middle of the first and the last, and half of what lies between.
  Stamp stamp() const noexcept {
    if (values_.empty()) return {};
    const auto [first, last] = std::minmax_element(
        values_.begin(), values_.end(),
        [](const substrata_value& a, const substrata_value& b) { return a.time_ns < b.time_ns; });
    const std::int64_t apart = last->time_ns - first->time_ns;
    return {std::chrono::nanoseconds(first->time_ns + apart / 2), std::chrono::nanoseconds((apart + 1) / 2)};
  }

 private:
  friend class Run;
  struct Part {
    std::uint64_t set;  // OwnedSet::serial
    unsigned begin;
    unsigned count;
  };

  const substrata_value& at(std::uint64_t set, unsigned position) const {
    for (const Part& part : parts_)
      if (part.set == set && position < part.count) return values_[part.begin + position];
    throw std::out_of_range("the slot belongs to an eventset that this snapshot does not hold");
  }

  template <class Unit>
  static Unit amount(const Slot<Unit>& slot, const substrata_value& raw) {
    if constexpr (std::is_same_v<Unit, Number>) {
      if (slot.event().value_type == PAPI_DATATYPE_FP64) {
        double number = 0;
        std::memcpy(&number, &raw.value, sizeof number);
        return {number};
      }
      if (slot.event().value_type == PAPI_DATATYPE_UINT64) return {static_cast<std::uint64_t>(raw.value)};
      return {raw.value};
    } else {
      const std::int64_t most = std::numeric_limits<std::int64_t>::max() / slot.steps_;
      const bool wide = slot.event().value_type == PAPI_DATATYPE_UINT64 && raw.value < 0;
      if (wide || raw.value > most || raw.value < -most)
        throw std::range_error(slot.event().name + ": the value does not fit into the type it is read as");
      return UnitTraits<Unit>::from_steps(raw.value * slot.steps_);
    }
  }

  std::vector<substrata_value> values_;
  std::vector<Part> parts_;
};

// Counting, from start until stop() or the end of its scope. It keeps its sets and the library alive, also
// when the EventSet objects are gone.
class [[nodiscard]] Run {
 public:
  Run(Run&& other) noexcept = default;
  Run& operator=(Run&& other) noexcept {
    if (this != &other) {
      end();
      sets_ = std::move(other.sets_);
      handles_ = std::move(other.handles_);
      started_ = other.started_;
      other.handles_.clear();
    }
    return *this;
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() { end(); }

  // When the sets were started.
  Stamp started() const noexcept { return started_; }
  bool running() const noexcept { return !handles_.empty(); }

  // A snapshot with space for every value and nothing read yet.
  Snapshot snapshot() const {
    Snapshot empty;
    unsigned begin = 0;
    for (const auto& set : sets_) {
      empty.parts_.push_back({set->serial, begin, set->events});
      begin += set->events;
    }
    empty.values_.resize(begin);
    return empty;
  }

  // Reads all values into a snapshot of this run, without allocating; after a refusal its contents are not to
  // be used.
  Result<void> read(Snapshot& into) const {
    if (!same_sets(into))
      return Error{PAPI_EINVAL, "the snapshot belongs to another run; take one from Run::snapshot"};
    for (std::size_t i = 0; i < sets_.size(); ++i) {
      const Snapshot::Part& part = into.parts_[i];
      if (part.count == 0) continue;
      const int status =
          substrata_read_values(sets_[i]->handle, into.values_.data() + part.begin, part.count);
      if (status != PAPI_OK) return detail::last_error("the values cannot be read", status);
    }
    return {};
  }
  Result<Snapshot> read() const {
    Snapshot values = snapshot();
    if (Result<void> done = read(values); !done) return done.error();
    return values;
  }

  // Counts begin at 0 again; the sets go on counting.
  Result<void> reset() {
    for (const int handle : handles_)
      if (const int status = PAPI_reset(handle); status != PAPI_OK)
        return detail::last_error("the counts cannot be reset", status);
    return {};
  }

  // Ends the run and gives its last values.
  Result<Snapshot> stop() {
    if (!running()) return Error{PAPI_ENOTRUN, "the run has ended already"};
    const int status = end();
    if (status != PAPI_OK) return detail::last_error("the run cannot be stopped", status);
    return read();
  }

 private:
  friend class EventSet;
  friend Result<Run> start_sets(std::vector<std::shared_ptr<detail::OwnedSet>> sets);
  Run() = default;

  bool same_sets(const Snapshot& other) const noexcept {
    if (other.parts_.size() != sets_.size()) return false;
    for (std::size_t i = 0; i < sets_.size(); ++i)
      if (other.parts_[i].set != sets_[i]->serial || other.parts_[i].count != sets_[i]->events) return false;
    return true;
  }
  int end() noexcept {
    if (handles_.empty()) return PAPI_OK;
    const int status =
        substrata_stop_group(handles_.data(), static_cast<unsigned>(handles_.size()), nullptr, 0, nullptr);
    handles_.clear();
    return status;
  }

  std::vector<std::shared_ptr<detail::OwnedSet>> sets_;
  std::vector<int> handles_;  // of the sets that are running; empty after the end
  Stamp started_;
};

inline Result<Run> start_sets(std::vector<std::shared_ptr<detail::OwnedSet>> sets) {
  Run run;
  for (const auto& set : sets) run.handles_.push_back(set->handle);
  substrata_stamp stamp{};
  const int status =
      substrata_start_group(run.handles_.data(), static_cast<unsigned>(run.handles_.size()), &stamp);
  if (status != PAPI_OK) {
    run.handles_.clear();
    return detail::last_error("the events do not start", status);
  }
  run.sets_ = std::move(sets);
  run.started_ = {std::chrono::nanoseconds(stamp.time_ns), std::chrono::nanoseconds(stamp.skew_ns)};
  return run;
}

// Events of one substrate that are counted together.
class EventSet {
 public:
  EventSet(EventSet&&) noexcept = default;
  EventSet& operator=(EventSet&&) noexcept = default;
  EventSet(const EventSet&) = delete;
  EventSet& operator=(const EventSet&) = delete;

  // The substrate it is bound to.
  int substrate() const noexcept { return owned_->substrate; }
  // PAPI's eventset, for what this interface leaves to the C one (overflow, domains, attach); not to be
  // destroyed.
  int handle() const noexcept { return owned_->handle; }
  unsigned size() const noexcept { return owned_->events; }

  // Adds an event that is read as a Unit: std::chrono::nanoseconds, Temperature, Energy, Power, Bytes,
  // Packets, Number. Refused, and the set as it was: an unknown name, an event of another substrate, of
  // another unit, one that does not open here, any event while the set runs.
  template <class Unit = Number>
  Result<Slot<Unit>> add(const std::string& name) {
    Result<EventInfo> found = detail::find_event(name);
    if (!found) return found.error();
    std::int64_t steps = 1;
    if constexpr (!std::is_same_v<Unit, Number>) {
      const std::optional<std::int64_t> known = UnitTraits<Unit>::steps(found->unit);
      if (!known || found->value_type == PAPI_DATATYPE_FP64)
        return Error{PAPI_EINVAL, name + " is measured in '" + found->unit + "'" +
                                      (known ? " with a fraction" : "") + " and cannot be read as " +
                                      UnitTraits<Unit>::name() + "; read it as Number"};
      steps = *known;
    }
    if (const int status = PAPI_add_event(owned_->handle, found->code); status != PAPI_OK)
      return detail::last_error(name, status);
    return Slot<Unit>(owned_->serial, owned_->events++, steps, std::move(*found));
  }

  // Starts counting; counts begin at 0.
  Result<Run> start() { return start_sets({owned_}); }

  // Starts sets of several substrates under one stamp: all or none.
  template <class... Others>
  static Result<Run> start_together(EventSet& first, Others&... others) {
    return start_sets({first.owned_, others.owned_...});
  }

 private:
  friend class Library;
  explicit EventSet(std::shared_ptr<detail::OwnedSet> owned) noexcept : owned_(std::move(owned)) {}
  std::shared_ptr<detail::OwnedSet> owned_;
};

// The library, up as long as a Library, an EventSet or a Run lives. Where the program had initialised PAPI
// itself, it is left up. Thread-safe.
class Library {
 public:
  static Result<Library> open() {
    Result<std::shared_ptr<const detail::Use>> use = detail::Use::acquire();
    if (!use) return use.error();
    return Library(std::move(*use));
  }

  std::vector<SubstrateInfo> substrates() const {
    std::vector<SubstrateInfo> all;
    for (int index = 0; index < PAPI_num_components(); ++index) {
      const PAPI_component_info_t* info = PAPI_get_component_info(index);
      if (info == nullptr) continue;
      // A component that waits for its first use is detected by that question.
      int first = PAPI_NATIVE_MASK;
      if (info->disabled == PAPI_EDELAY_INIT) PAPI_enum_cmp_event(&first, PAPI_ENUM_FIRST, index);
      all.push_back({index, info->name, info->description, info->disabled == 0,
                     info->disabled == 0 ? "" : info->disabled_reason});
    }
    return all;
  }

  // The native events of a substrate that open here, in its order; event() says why another one does not.
  std::vector<EventInfo> events(int substrate) const {
    std::vector<EventInfo> all;
    int code = PAPI_NATIVE_MASK;
    int more = PAPI_enum_cmp_event(&code, PAPI_ENUM_FIRST, substrate);
    for (; more == PAPI_OK; more = PAPI_enum_cmp_event(&code, PAPI_ENUM_EVENTS, substrate))
      if (Result<EventInfo> info = detail::describe(code)) all.push_back(std::move(*info));
    return all;
  }

  Result<EventInfo> event(const std::string& name) const { return detail::find_event(name); }

  // An empty set bound to one substrate.
  Result<EventSet> event_set(const std::string& substrate) const {
    const int index = PAPI_get_component_index(substrate.c_str());
    if (index < 0) return detail::last_error("substrate '" + substrate + "'", index);
    auto owned = std::make_shared<detail::OwnedSet>(use_);
    if (const int status = PAPI_create_eventset(&owned->handle); status != PAPI_OK)
      return detail::last_error("an eventset cannot be made", status);
    if (const int status = PAPI_assign_eventset_component(owned->handle, index); status != PAPI_OK)
      return detail::last_error("substrate '" + substrate + "'", status);
    owned->substrate = index;
    return EventSet(std::move(owned));
  }

 private:
  explicit Library(std::shared_ptr<const detail::Use> use) noexcept : use_(std::move(use)) {}
  std::shared_ptr<const detail::Use> use_;
};

}  // namespace substrata::client

#endif
