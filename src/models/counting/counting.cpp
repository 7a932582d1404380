// Catalogue, instruments and eventsets of monitors.
#include "counting.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace substrata::monitor {
namespace {

constexpr size_t kMostQualified = 65536;

Status no_memory() noexcept { return {Code::kNoMemory, 0, "no memory for the monitor's eventset"}; }

// One eventset: for each event a run of counters, summed.
struct CountingSet {
  explicit CountingSet(Monitor& of) : monitor(of) {}
  Monitor& monitor;
  struct Bound {
    uint32_t first;  // in counters
    uint32_t count;
    ValueKind kind;
  };
  std::vector<Bound> events;
  std::vector<const Counter*> counters;
  std::vector<Instrument*> instruments;  // each once
  std::vector<uint64_t> base;            // what is subtracted, while running
  std::vector<int64_t> values;           // while stopped
  bool running = false;

  uint64_t sum(size_t event) const noexcept {
    uint64_t total = 0;
    for (uint32_t i = 0; i < events[event].count; ++i) total += counters[events[event].first + i]->value();
    return total;
  }
  int64_t value(size_t event) const noexcept {
    const uint64_t total = sum(event);
    return static_cast<int64_t>(events[event].kind == ValueKind::kGauge ? total : total - base[event]);
  }
  void begin_at_zero() noexcept {
    for (size_t i = 0; i < events.size(); ++i) {
      base[i] = sum(i);
      values[i] = value(i);
    }
  }
};

CountingSet& set_of(Set* set) noexcept { return *reinterpret_cast<CountingSet*>(set); }
Monitor& monitor_of(Device* device) noexcept { return *reinterpret_cast<Monitor*>(device); }

}  // namespace

ObservingInstrument::~ObservingInstrument() { end_observation(); }

void ObservingInstrument::end_observation() noexcept {
  substrata_observer_destroy(observer_);
  observer_ = nullptr;
}

void ObservingInstrument::call(void* owner, const substrata_transaction* batch, size_t count) {
  static_cast<ObservingInstrument*>(owner)->observe(batch, count);
}

Status ObservingInstrument::begin() noexcept {
  if (observer_ == nullptr && substrata_observer_create(call, this, 0, &observer_) != 0) {
    return refuse(Code::kNoMemory, "%s", substrata_feed_error());
  }
  if (const int refused = substrata_subscribe(observer_, patterns_.c_str()); refused != 0) {
    return refuse(static_cast<Code>(refused), "%s", substrata_feed_error());
  }
  return kSuccess;
}

void ObservingInstrument::end() noexcept { substrata_unsubscribe(observer_, nullptr); }

uint32_t Monitor::event_count() const noexcept {
  const std::lock_guard lock(catalogue_mutex_);
  return static_cast<uint32_t>(events_.size() + qualified_.size());
}

Status Monitor::event_at(uint32_t index, Event* out) const noexcept {
  const std::lock_guard lock(catalogue_mutex_);
  const char* name = nullptr;
  uint32_t event = index;
  if (index >= events_.size()) {
    const size_t later = index - events_.size();
    if (later >= qualified_.size()) {
      return refuse(Code::kNoEvent, "event %u was asked for; there are %zu", index,
                    events_.size() + qualified_.size());
    }
    name = qualified_[later].name.c_str();
    event = qualified_[later].request.event;
  }
  const EventDescription& description = events_[event];
  *out = Event{};
  out->name = name != nullptr ? name : description.name;
  out->text = description.text;
  out->unit = description.unit;
  out->kind = description.kind;
  out->width_bits = description.width_bits;
  out->flags = description.flags;
  return kSuccess;
}

Status Monitor::find_event(const char* name, uint32_t* index) {
  Request request;
  if (const Status refused = parse_event_name(events_, qualifiers_, name, &request); !refused.ok())
    return refused;
  const bool plain = std::none_of(request.qualifiers.begin(), request.qualifiers.end(),
                                  [](const QualifierValue& value) { return value.given; });
  if (plain) {
    *index = request.event;
    return kSuccess;
  }
  Binding binding;
  if (const Status refused = bind_locked(request, &binding); !refused.ok()) return refused;
  std::string canonical = canonical_name(events_, qualifiers_, request);
  const std::lock_guard lock(catalogue_mutex_);
  if (const auto known = by_name_.find(canonical); known != by_name_.end()) {
    *index = known->second;
    return kSuccess;
  }
  if (qualified_.size() == kMostQualified) {
    return refuse(Code::kTooMany, "%zu qualified names have been asked for, no more are kept",
                  kMostQualified);
  }
  *index = static_cast<uint32_t>(events_.size() + qualified_.size());
  qualified_.push_back({canonical, std::move(request)});
  by_name_.emplace(std::move(canonical), *index);
  return kSuccess;
}

Status Monitor::request_at(uint32_t index, Request* out) const {
  const std::lock_guard lock(catalogue_mutex_);
  if (index < events_.size()) {
    out->event = index;
    out->qualifiers.assign(qualifiers_.size(), {});
    return kSuccess;
  }
  if (index - events_.size() >= qualified_.size()) {
    return refuse(Code::kNoEvent, "event %u was asked for; there are %zu", index,
                  events_.size() + qualified_.size());
  }
  *out = qualified_[index - events_.size()].request;
  return kSuccess;
}

Status Monitor::bind_locked(const Request& request, Binding* out) {
  const std::lock_guard lock(bind_mutex_);
  return bind(request, out);
}

Status Monitor::begin(std::span<Instrument* const> instruments) noexcept {
  const std::lock_guard lock(instruments_mutex_);
  for (size_t i = 0; i < instruments.size(); ++i) {
    if (instruments[i]->users_ == 0) {
      if (const Status refused = instruments[i]->begin(); !refused.ok()) {
        while (i-- > 0) {
          if (--instruments[i]->users_ == 0) instruments[i]->end();
        }
        return refused;
      }
    }
    ++instruments[i]->users_;
  }
  return kSuccess;
}

void Monitor::end(std::span<Instrument* const> instruments) noexcept {
  const std::lock_guard lock(instruments_mutex_);
  for (Instrument* instrument : instruments) {
    if (--instrument->users_ == 0) instrument->end();
  }
}

Status adopt(Monitor* monitor, Device** out) noexcept {
  *out = reinterpret_cast<Device*>(monitor);
  return kSuccess;
}

void close(Device* device) noexcept { delete &monitor_of(device); }

uint32_t event_count(Device* device) noexcept { return monitor_of(device).event_count(); }

Status event_at(Device* device, uint32_t index, Event* out) noexcept {
  return monitor_of(device).event_at(index, out);
}

Status find_event(Device* device, const char* name, uint32_t* index) noexcept {
  return guarded([&] { return monitor_of(device).find_event(name, index); });
}

Status create_set(Device* device, Thread*, Set** out) noexcept {
  auto* set = new (std::nothrow) CountingSet(monitor_of(device));
  if (set == nullptr) return no_memory();
  *out = reinterpret_cast<Set*>(set);
  return kSuccess;
}

void destroy_set(Set* set) noexcept {
  CountingSet* self = &set_of(set);
  if (self->running) self->monitor.end(self->instruments);
  delete self;
}

Status program(Set* set, const uint32_t* events, uint32_t count) noexcept {
  CountingSet& self = set_of(set);
  if (self.running) return {Code::kRunning, 0, "the eventset is running; stop it before changing its events"};
  return guarded([&]() -> Status {
    CountingSet wanted(self.monitor);
    for (uint32_t i = 0; i < count; ++i) {
      Request request;
      if (const Status refused = self.monitor.request_at(events[i], &request); !refused.ok()) return refused;
      Event event;
      if (const Status refused = self.monitor.event_at(events[i], &event); !refused.ok()) return refused;
      Binding binding;
      if (const Status refused = self.monitor.bind_locked(request, &binding); !refused.ok()) return refused;
      wanted.events.push_back({static_cast<uint32_t>(wanted.counters.size()),
                               static_cast<uint32_t>(binding.counters.size()), event.kind});
      wanted.counters.insert(wanted.counters.end(), binding.counters.begin(), binding.counters.end());
      if (binding.instrument != nullptr && std::find(wanted.instruments.begin(), wanted.instruments.end(),
                                                     binding.instrument) == wanted.instruments.end()) {
        wanted.instruments.push_back(binding.instrument);
      }
    }
    wanted.base.resize(count);
    wanted.values.resize(count);
    self.events.swap(wanted.events);
    self.counters.swap(wanted.counters);
    self.instruments.swap(wanted.instruments);
    self.base.swap(wanted.base);
    self.values.swap(wanted.values);
    return kSuccess;
  });
}

Status start(Set* set) noexcept {
  CountingSet& self = set_of(set);
  if (const Status refused = self.monitor.begin(self.instruments); !refused.ok()) return refused;
  substrata_flush();  // of what another running set's instrument has not seen yet
  self.begin_at_zero();
  self.running = true;
  return kSuccess;
}

Status stop(Set* set) noexcept {
  CountingSet& self = set_of(set);
  substrata_flush();
  for (size_t i = 0; i < self.events.size(); ++i) self.values[i] = self.value(i);
  self.running = false;
  self.monitor.end(self.instruments);
  return kSuccess;
}

Status read(Set* set, int64_t* values) noexcept {
  CountingSet& self = set_of(set);
  if (!self.running) {
    std::copy(self.values.begin(), self.values.end(), values);
    return kSuccess;
  }
  substrata_flush();
  for (size_t i = 0; i < self.events.size(); ++i) values[i] = self.value(i);
  return kSuccess;
}

Status reset(Set* set) noexcept {
  CountingSet& self = set_of(set);
  if (self.running) substrata_flush();
  self.begin_at_zero();
  return kSuccess;
}

Status write(Set* set, const int64_t* values) noexcept {
  CountingSet& self = set_of(set);
  if (self.running) substrata_flush();
  for (size_t i = 0; i < self.events.size(); ++i) {
    if (self.events[i].kind == ValueKind::kGauge) continue;
    self.base[i] = self.sum(i) - static_cast<uint64_t>(values[i]);
    self.values[i] = values[i];
  }
  return kSuccess;
}

}  // namespace substrata::monitor
