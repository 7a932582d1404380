// The slots of a monitor's table: a monitor supplies its events and, for each request, the counters to
// look at.
//
//   class CacheMonitor final : public counting::Monitor {
//     Status bind(const Request&, Binding*) override;
//     ...
//   };
//   constexpr SubstrateTable kTable = counting::table<CacheMonitor, kEvents>({.name = "memory", ...});
#pragma once

#include <substrata/substrate.h>
#include <substrata/feed.hpp>

#include <array>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/guard.hpp"
#include "base/table_of.hpp"
#include "models/counting/counter.hpp"
#include "models/counting/event_names.hpp"

namespace substrata::counting {

// Something that works only while a running eventset uses it: a model with its observer. begin and end are
// called by the monitor, alternately, never two at a time for one monitor.
class Instrument {
 public:
  Instrument() = default;
  virtual ~Instrument() = default;
  Instrument(const Instrument&) = delete;
  Instrument& operator=(const Instrument&) = delete;
  virtual Status begin() noexcept = 0;
  virtual void end() noexcept = 0;

 private:
  friend class Monitor;
  uint32_t users_ = 0;  // guarded by Monitor::instruments_mutex_
};

// An instrument that observes probe points: begin subscribes, end unsubscribes. Its counters go on where they
// were.
class ObservingInstrument : public Instrument {
 public:
  explicit ObservingInstrument(std::string patterns) : patterns_(std::move(patterns)) {}
  ~ObservingInstrument() override;
  Status begin() noexcept override;
  void end() noexcept override;

 protected:
  // Ends for good; a derived class calls it first in its destructor, so that no batch meets half an object.
  void end_observation() noexcept;
  // A batch of one probe point, never two at once. Must not throw.
  virtual void observe(const substrata_transaction* batch, size_t count) noexcept = 0;

 private:
  const std::string patterns_;
  client::feed::Observer observer_;
};

// Where an event's value comes from: the sum of the counters. They and the instrument live as long as the
// monitor.
struct Binding {
  std::vector<const Counter*> counters;
  Instrument* instrument = nullptr;  // null: the counters need none
};

class Monitor;

// One eventset: for each event a run of counters, summed. A monitor that keeps more for a set, or has to do
// more at its calls, derives its own class and gives it out in make_set. Thread-compatible, as the table's
// slots.
class CountingSet {
 public:
  explicit CountingSet(Monitor& monitor) noexcept : monitor_(monitor) {}
  virtual ~CountingSet();
  CountingSet(const CountingSet&) = delete;
  CountingSet& operator=(const CountingSet&) = delete;

  Monitor& monitor() const noexcept { return monitor_; }
  // The events of the last program(), as indices into the monitor's catalogue.
  std::span<const uint32_t> programmed() const noexcept { return now_.programmed; }
  // What the table's slots pass on.
  Set* handle() noexcept { return reinterpret_cast<Set*>(this); }

  // The slots.
  Status program(const uint32_t* events, uint32_t count);
  Status start() noexcept;
  Status stop() noexcept;
  Status read(int64_t* values) noexcept;
  Status reset() noexcept;
  Status write(const int64_t* values) noexcept;

 protected:
  // Hooks, all of which do nothing here.
  // Before a call looks at counters, running or not: brings to them what waits outside the feed.
  virtual void catch_up() noexcept {}
  // The events are others now.
  virtual void after_program() noexcept {}
  // The set has been started, or stopped.
  virtual void after_switch(bool /*running*/) noexcept {}

 private:
  struct Bound {
    uint32_t first;  // in counters
    uint32_t count;
    ValueKind kind;
  };
  // What program() exchanges as a whole.
  struct Programme {
    std::vector<uint32_t> programmed;
    std::vector<Bound> events;
    std::vector<const Counter*> counters;
    std::vector<Instrument*> instruments;  // each once
    std::vector<uint64_t> base;            // what is subtracted, while running
    std::vector<int64_t> values;           // while stopped
  };

  uint64_t sum(size_t event) const noexcept;
  int64_t value(size_t event) const noexcept;
  void begin_at_zero() noexcept;

  Monitor& monitor_;
  Programme now_;
  bool running_ = false;
};

// The set behind a slot's argument, as the class that the monitor's make_set gives.
template <typename S = CountingSet>
S& set_of(Set* set) noexcept {
  return static_cast<S&>(*reinterpret_cast<CountingSet*>(set));
}

// The process-wide state of a monitor substrate. Thread-safe.
class Monitor {
 public:
  Monitor(std::span<const EventDescription> events, std::span<const Qualifier> qualifiers)
      : events_(events), qualifiers_(qualifiers) {}
  virtual ~Monitor() = default;
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  // The catalogue: the events without qualifiers first, then each qualified one that was asked for.
  uint32_t event_count() const noexcept;
  Status event_at(uint32_t index, Event* out) const noexcept;
  Status find_event(const char* name, uint32_t* index);
  // The request behind an index.
  Status request_at(uint32_t index, Request* out) const;

  // A set of this monitor. May throw std::bad_alloc.
  virtual std::unique_ptr<CountingSet> make_set() { return std::make_unique<CountingSet>(*this); }

  // Called by program(); may allocate and throw std::bad_alloc. A refusal has no effect. Calls may overlap: a
  // lock is held around them.
  Status bind_locked(const Request& request, Binding* out);

  // Counts users of instruments: the first begins it, the last ends it. All or nothing.
  Status begin(std::span<Instrument* const> instruments) noexcept;
  void end(std::span<Instrument* const> instruments) noexcept;

 protected:
  // The counters of a request. Also called by find_event, so that a name whose values make no sense is
  // refused early.
  virtual Status bind(const Request& request, Binding* out) = 0;

  std::span<const EventDescription> events() const noexcept { return events_; }
  std::span<const Qualifier> qualifiers() const noexcept { return qualifiers_; }

 private:
  struct Qualified {
    std::string name;
    Request request;
  };
  const std::span<const EventDescription> events_;
  const std::span<const Qualifier> qualifiers_;
  mutable std::mutex catalogue_mutex_;
  std::deque<Qualified> qualified_;  // a deque: names handed out stay
  std::unordered_map<std::string, uint32_t> by_name_;
  std::mutex bind_mutex_;
  std::mutex instruments_mutex_;
};

// The slots, the same for every monitor; `Device` is a Monitor.
struct Slots {
  static void close(Device* device) noexcept;
  static uint32_t event_count(Device* device) noexcept;
  static Status event_at(Device* device, uint32_t index, Event* out) noexcept;
  static Status find_event(Device* device, const char* name, uint32_t* index) noexcept;
  static Status create_set(Device* device, Thread* thread, Set** out) noexcept;
  static void destroy_set(Set* set) noexcept;
  static Status program(Set* set, const uint32_t* events, uint32_t count) noexcept;
  static Status start(Set* set) noexcept;
  static Status stop(Set* set) noexcept;
  static Status read(Set* set, int64_t* values) noexcept;
  static Status reset(Set* set) noexcept;
  static Status write(Set* set, const int64_t* values) noexcept;
};

// With what open does: makes the monitor. M is constructed from the host.
template <typename M>
struct SlotsOf : Slots {
  static Status open(const Host* host, Device** out) noexcept {
    return guarded([&]() -> Status {
      Monitor* const monitor = new M(host);
      *out = reinterpret_cast<Device*>(monitor);
      return kSuccess;
    });
  }
};

// A read waits for a batch that another thread is running through the models, and runs what is waiting
// itself.
inline constexpr int64_t kReadBound_ns = 1'000'000;

// The names of a monitor's events, as SubstrateTable::event_names has them.
template <const auto& kEvents>
struct JoinedNames {
  static constexpr size_t kLength = [] {
    size_t length = 0;
    for (const EventDescription& event : kEvents) length += std::string_view(event.name).size() + 1;
    return length;
  }();
  static constexpr std::array<char, kLength> kText = [] {
    std::array<char, kLength> text{};
    size_t at = 0;
    for (const EventDescription& event : kEvents) {
      for (const char c : std::string_view(event.name)) text[at++] = c;
      text[at++] = ',';
    }
    text[at - 1] = '\0';
    return text;
  }();
};
template <const auto& kEvents>
inline constexpr const char* kNamesOf = JoinedNames<kEvents>::kText.data();

// The table of a monitor with these events: `own` holds its name and summary, and the slots that it has besides.
template <typename M, const auto& kEvents>
constexpr SubstrateTable table(SubstrateTable own) {
  if (own.version == nullptr) own.version = "1";
  own.event_names = kNamesOf<kEvents>;
  own.traits |= kReadBlocks | kModelled | kCounterUmasks;
  own.read_bound_ns = kReadBound_ns;
  return table_of<SlotsOf<M>>(own);
}

}  // namespace substrata::counting
