// Catalogue, instruments and eventsets of monitors.
#include "models/counting/counting.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace substrata::counting {
namespace {

constexpr size_t kMostQualified = 65536;

Monitor& monitor_of(Device* device) noexcept { return *reinterpret_cast<Monitor*>(device); }

}  // namespace

ObservingInstrument::~ObservingInstrument() { end_observation(); }

void ObservingInstrument::end_observation() noexcept { observer_.destroy(); }

Status ObservingInstrument::begin() noexcept {
  if (!observer_ && observer_.try_create<&ObservingInstrument::observe>(*this) != 0)
    return refuse(Code::kNoMemory, "%s", substrata_feed_error());
  if (const int refused = observer_.try_subscribe(patterns_.c_str()); refused != 0)
    return refuse(static_cast<Code>(refused), "%s", substrata_feed_error());
  return kSuccess;
}

void ObservingInstrument::end() noexcept { observer_.try_unsubscribe(); }

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
  if (description.why != nullptr) out->flags |= kEventUnavailable;
  out->why = description.why;
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
  if (const char* const why = events_[request.event].why; why != nullptr)
    return refuse(Code::kNoEvent, 0, std::string_view(why));
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

void Slots::close(Device* device) noexcept { delete &monitor_of(device); }

uint32_t Slots::event_count(Device* device) noexcept { return monitor_of(device).event_count(); }

Status Slots::event_at(Device* device, uint32_t index, Event* out) noexcept {
  return monitor_of(device).event_at(index, out);
}

Status Slots::find_event(Device* device, const char* name, uint32_t* index) noexcept {
  return guarded([&] { return monitor_of(device).find_event(name, index); });
}

CountingSet::~CountingSet() {
  if (running_) monitor_.end(now_.instruments);
}

uint64_t CountingSet::sum(size_t event) const noexcept {
  const Bound& bound = now_.events[event];
  uint64_t total = 0;
  for (uint32_t i = 0; i < bound.count; ++i) total += now_.counters[bound.first + i]->value();
  return total;
}

int64_t CountingSet::value(size_t event) const noexcept {
  const uint64_t total = sum(event);
  return static_cast<int64_t>(now_.events[event].kind == ValueKind::kGauge ? total
                                                                           : total - now_.base[event]);
}

void CountingSet::begin_at_zero() noexcept {
  for (size_t i = 0; i < now_.events.size(); ++i) {
    now_.base[i] = sum(i);
    now_.values[i] = value(i);
  }
}

Status CountingSet::program(const uint32_t* events, uint32_t count) {
  if (running_) return {Code::kRunning, 0, "the eventset is running; stop it before changing its events"};
  Programme wanted;
  wanted.programmed.assign(events, events + count);
  for (const uint32_t index : wanted.programmed) {
    Request request;
    if (const Status refused = monitor_.request_at(index, &request); !refused.ok()) return refused;
    Event event;
    if (const Status refused = monitor_.event_at(index, &event); !refused.ok()) return refused;
    Binding binding;
    if (const Status refused = monitor_.bind_locked(request, &binding); !refused.ok()) return refused;
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
  std::swap(now_, wanted);
  after_program();
  return kSuccess;
}

Status CountingSet::start() noexcept {
  catch_up();
  if (const Status refused = monitor_.begin(now_.instruments); !refused.ok()) return refused;
  substrata_flush();  // of what another running set's instrument has not seen yet
  begin_at_zero();
  running_ = true;
  after_switch(true);
  return kSuccess;
}

Status CountingSet::stop() noexcept {
  catch_up();
  substrata_flush();
  for (size_t i = 0; i < now_.events.size(); ++i) now_.values[i] = value(i);
  running_ = false;
  monitor_.end(now_.instruments);
  after_switch(false);
  return kSuccess;
}

Status CountingSet::read(int64_t* values) noexcept {
  catch_up();
  if (!running_) {
    std::copy(now_.values.begin(), now_.values.end(), values);
    return kSuccess;
  }
  substrata_flush();
  for (size_t i = 0; i < now_.events.size(); ++i) values[i] = value(i);
  return kSuccess;
}

Status CountingSet::reset() noexcept {
  catch_up();
  if (running_) substrata_flush();
  begin_at_zero();
  return kSuccess;
}

Status CountingSet::write(const int64_t* values) noexcept {
  catch_up();
  if (running_) substrata_flush();
  for (size_t i = 0; i < now_.events.size(); ++i) {
    if (now_.events[i].kind == ValueKind::kGauge) continue;
    now_.base[i] = sum(i) - static_cast<uint64_t>(values[i]);
    now_.values[i] = values[i];
  }
  return kSuccess;
}

Status Slots::create_set(Device* device, Thread*, Set** out) noexcept {
  return guarded([&] {
    *out = monitor_of(device).make_set().release()->handle();
    return kSuccess;
  });
}

void Slots::destroy_set(Set* set) noexcept { delete &set_of(set); }

Status Slots::program(Set* set, const uint32_t* events, uint32_t count) noexcept {
  return guarded([&] { return set_of(set).program(events, count); });
}

Status Slots::start(Set* set) noexcept { return set_of(set).start(); }
Status Slots::stop(Set* set) noexcept { return set_of(set).stop(); }
Status Slots::read(Set* set, int64_t* values) noexcept { return set_of(set).read(values); }
Status Slots::reset(Set* set) noexcept { return set_of(set).reset(); }
Status Slots::write(Set* set, const int64_t* values) noexcept { return set_of(set).write(values); }

}  // namespace substrata::counting
