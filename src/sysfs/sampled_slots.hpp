// The slots of a substrate table for a device that has a catalogue of events and samplers to read them.
#pragma once

#include <substrata/substrate.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/guard.hpp"
#include "base/table_of.hpp"
#include "sysfs/catalogue.hpp"
#include "sysfs/measurement.hpp"
#include "sysfs/sysfs.hpp"

namespace substrata::sysfs {

// What the devices have in common. A device says its own refresh_ns, kValueFlags or kMostEvents by redeclaring them.
class SampledDevice {
 public:
  static constexpr uint32_t kValueFlags = 0;    // ValueFlags of every value
  static constexpr uint32_t kMostEvents = 512;  // of one set

  // Keeps the host, touches nothing.
  explicit SampledDevice(const Host& host) noexcept : host_(host) {}

  const Catalogue& catalogue() const noexcept { return catalogue_; }
  const Host& host() const noexcept { return host_; }
  int64_t refresh_ns() const noexcept { return 0; }  // see Measurement::set_refresh

 protected:
  const Host& host_;
  Catalogue catalogue_;
};

// A DeviceT is a SampledDevice that has
//   static Status detect(const Host&);  where it may be missing; may throw
//   Status scan();  fills the catalogue; called once
//   Status select(const uint32_t* events, uint32_t count, SamplerT* out) const;  opens what these events need
// and the constructor of its base.
//
// Since the type arguments of a substrate sit in its unnamed namespace, these functions have internal linkage
// there.
template <typename DeviceT, typename SamplerT>
struct SampledSlots {
  struct State {
    explicit State(const DeviceT* owner) noexcept : device(owner), measurement(&owner->host()) {}
    const DeviceT* device;
    Measurement<SamplerT> measurement;
    std::vector<uint32_t> events;
  };

  static DeviceT* device_of(Device* device) noexcept { return reinterpret_cast<DeviceT*>(device); }
  static State* state_of(Set* set) noexcept { return reinterpret_cast<State*>(set); }

  static Status detect_device(const Host* host) noexcept {
    return guarded([&]() -> Status { return DeviceT::detect(*host); });
  }

  static Status open(const Host* host, Device** out) noexcept { return make_scanned<DeviceT>(out, *host); }

  static void close(Device* device) noexcept { delete device_of(device); }

  static uint32_t event_count(Device* device) noexcept { return device_of(device)->catalogue().size(); }

  static Status event_at(Device* device, uint32_t index, Event* out) noexcept {
    return device_of(device)->catalogue().at(index, out);
  }

  static Status find_event(Device* device, const char* name, uint32_t* index) noexcept {
    return guarded([&] { return device_of(device)->catalogue().find(name, index); });
  }

  static Status create_set(Device* device, Thread*, Set** out) noexcept {
    return guarded([&]() -> Status {
      auto state = std::make_unique<State>(device_of(device));
      state->measurement.set_refresh(state->device->refresh_ns());
      state->measurement.set_value_flags(DeviceT::kValueFlags);
      *out = reinterpret_cast<Set*>(state.release());
      return kSuccess;
    });
  }

  static void destroy_set(Set* set) noexcept { delete state_of(set); }

  static Status program(Set* set, const uint32_t* events, uint32_t count) noexcept {
    return guarded([&]() -> Status {
      State& state = *state_of(set);
      if (state.measurement.running()) {
        return {Code::kRunning, 0, "stop the set before its events are changed"};
      }
      const Catalogue& catalogue = state.device->catalogue();
      for (uint32_t i = 0; i < count; ++i) {
        if (events[i] >= catalogue.size()) return {Code::kNoEvent, 0, "no event has this number"};
        const CatalogueEntry& entry = catalogue.entry(events[i]);
        if ((entry.flags & kEventUnavailable) != 0) return {entry.refusal, 0, entry.why.c_str()};
      }
      SamplerT sampler;
      const Status status = state.device->select(events, count, &sampler);
      if (!status.ok()) return status;
      std::vector<uint32_t> wanted(events, events + count);
      state.measurement.program(std::move(sampler));
      state.events = std::move(wanted);
      return kSuccess;
    });
  }

  // A source that has gone and come back is another one: what was opened of the first fails for good.
  static Status start(Set* set) noexcept {
    State& state = *state_of(set);
    const Status refused = state.measurement.start();
    if (refused.ok()) return refused;
    return guarded([&]() -> Status {
      SamplerT fresh;
      const auto count = static_cast<uint32_t>(state.events.size());
      const Status status = state.device->select(state.events.data(), count, &fresh);
      return status.ok() ? state.measurement.start(std::move(fresh)) : status;
    });
  }
  static Status stop(Set* set) noexcept { return state_of(set)->measurement.stop(); }
  static Status read(Set* set, int64_t* values) noexcept { return state_of(set)->measurement.read(values); }
  static Status read_details(Set* set, ValueDetail* details) noexcept {
    return state_of(set)->measurement.read_details(details);
  }
  static Status reset(Set* set) noexcept { return state_of(set)->measurement.reset(); }

  // The whole table: `own` holds the data. `own` may close otherwise.
  static constexpr SubstrateTable table(SubstrateTable own) noexcept {
    CloseSlot* const close = own.close;
    if (own.version == nullptr) own.version = "1.0";
    own.max_events = own.max_multiplexed = DeviceT::kMostEvents;
    own = table_of<SampledSlots>(own);
    if constexpr (requires(const Host& host) { DeviceT::detect(host); }) own.detect = detect_device;
    if (close != nullptr) own.close = close;
    return own;
  }
  // Of a substrate that says no more than this.
  static constexpr SubstrateTable table(const char* name, const char* summary,
                                        const char* event_names) noexcept {
    return table({.name = name, .summary = summary, .event_names = event_names});
  }
};

}  // namespace substrata::sysfs
