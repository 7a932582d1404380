#include "perf_events/slots.hpp"

#include <mutex>
#include <utility>

#include "base/guard.hpp"
#include "base/table_of.hpp"
#include "perf_events/device.hpp"

namespace substrata::perf {
namespace {

DeviceState& state(Device* device) noexcept { return *reinterpret_cast<DeviceState*>(device); }
EventSet& event_set(Set* set) noexcept { return *reinterpret_cast<EventSet*>(set); }

}  // namespace

void Slots::close(Device* device) noexcept { delete reinterpret_cast<DeviceState*>(device); }

uint32_t Slots::event_count(Device* device) noexcept {
  uint32_t count = 0;
  guarded([&]() -> Status {
    count = state(device).shared.catalogue.count();
    return kSuccess;
  });
  return count;
}

Status Slots::event_at(Device* device, uint32_t index, Event* out) noexcept {
  return guarded([&] { return state(device).shared.catalogue.at(index, out); });
}

Status Slots::find_event(Device* device, const char* name, uint32_t* index) noexcept {
  return guarded([&] { return state(device).shared.catalogue.find(name, index); });
}

const char* Slots::units(Device* device) noexcept {
  const char* units = "";
  guarded([&]() -> Status {
    DeviceState& self = state(device);
    const std::lock_guard guard(self.units_lock);
    if (!self.units) {
      std::string names;
      for (const std::string& name : self.shared.catalogue.pmu_names()) {
        // The kernel's own events have their prefixes.
        if (name == "perf" || name == "perf_raw") continue;
        if (!names.empty()) names += ',';
        names += name;
      }
      self.units = std::move(names);
    }
    units = self.units->c_str();
    return kSuccess;
  });
  return units;
}

Status Slots::create_set(Device* device, Thread*, Set** out) noexcept {
  return make<EventSet>(out, state(device).shared);
}

void Slots::destroy_set(Set* set) noexcept { delete reinterpret_cast<EventSet*>(set); }

Status Slots::program(Set* set, const uint32_t* events, uint32_t count) noexcept {
  return guarded([&] { return event_set(set).program(events, count); });
}
Status Slots::configure(Set* set, const Configuration* wanted) noexcept {
  return guarded([&] { return event_set(set).configure(*wanted); });
}
Status Slots::start(Set* set) noexcept { return event_set(set).start(); }
Status Slots::stop(Set* set) noexcept { return event_set(set).stop(); }
Status Slots::read(Set* set, int64_t* values) noexcept { return event_set(set).read(values); }
Status Slots::read_details(Set* set, ValueDetail* details) noexcept {
  return event_set(set).read_details(details);
}
Status Slots::take(Set* set, int64_t* values) noexcept { return event_set(set).take(values); }
Status Slots::reset(Set* set) noexcept { return event_set(set).reset(); }
Status Slots::write(Set* set, const int64_t* values) noexcept { return event_set(set).write(values); }
Status OverflowingSlots::arm(Set* set, uint32_t position, int64_t threshold, uint32_t flags,
                             const SampleSink* sink) noexcept {
  return guarded([&] {
    return event_set(set).arm(position, threshold, (flags & kSampleDataAddress) != 0,
                              sink == nullptr ? SampleSink{} : *sink);
  });
}
Status OverflowingSlots::disarm(Set* set, uint32_t position) noexcept {
  return guarded([&] { return event_set(set).disarm(position); });
}

}  // namespace substrata::perf
