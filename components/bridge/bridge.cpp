// The substrate `bridge`: the components of an installed PAPI (GPU, InfiniBand, ...) counted through that
// PAPI; there only when SUBSTRATA_BRIDGE asks for it.
#include <substrata/substrate.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/guard.hpp"
#include "base/table_of.hpp"
#include "base/trial.hpp"
#include "bridge/foreign_events.hpp"
#include "bridge/foreign_papi.hpp"
#include "sysfs/sysfs.hpp"

namespace {

using namespace substrata;
using bridge::ForeignEvent;
using bridge::ForeignEvents;
using bridge::ForeignPapi;
using bridge::Settings;

struct Bridge {
  explicit Bridge(const ForeignPapi& loaded) noexcept : papi(loaded), events(loaded) {}
  const ForeignPapi& papi;
  ForeignEvents events;
};

// An eventset of that PAPI: like ours it belongs to one component. Its values go to places of our set.
class Part {
 public:
  Part(Bridge& bridge, int component) : bridge_(&bridge), component_(component) {
    held_ = std::make_shared<Held>();
    held_->papi = &bridge.papi;
  }
  Part(Part&& other) noexcept = default;
  Part& operator=(Part&&) = delete;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  ~Part() {
    if (held_ == nullptr || held_->handle == PAPI_NULL) return;
    made([](void* given) {
      Held& held = of(given);
      held.papi->cleanup_eventset(held.handle);
      return held.papi->destroy_eventset(&held.handle);
    });
  }

  int component() const noexcept { return component_; }

  // PAPI's error numbers, or kNeverCame.
  int add(int code, uint32_t place) {
    places_.reserve(places_.size() + 1);
    held_->values.reserve(places_.size() + 1);
    held_->argument = static_cast<unsigned>(code);
    const int error = made([](void* given) {
      Held& held = of(given);
      if (held.handle == PAPI_NULL)
        if (const int failed = held.papi->create_eventset(&held.handle); failed != PAPI_OK) return failed;
      return held.papi->add_event(held.handle, static_cast<int>(held.argument));
    });
    if (error != PAPI_OK) return error;
    places_.push_back(place);
    held_->values.push_back(0);
    return PAPI_OK;
  }
  int attach(int64_t id) {
    held_->argument = static_cast<unsigned long>(id);
    return made([](void* given) { return of(given).papi->attach(of(given).handle, of(given).argument); });
  }
  int start() {
    return made([](void* given) { return of(given).papi->start(of(given).handle); });
  }
  int stop() {
    return made([](void* given) { return of(given).papi->stop(of(given).handle, of(given).values.data()); });
  }
  int read() {
    return made([](void* given) { return of(given).papi->read(of(given).handle, of(given).values.data()); });
  }
  int reset() {
    return made([](void* given) { return of(given).papi->reset(of(given).handle); });
  }
  void give(int64_t* values) const noexcept {
    for (size_t i = 0; i < places_.size(); ++i) values[places_[i]] = held_->values[i];
  }

 private:
  // What a call of that PAPI works with; it keeps this if it never returns.
  struct Held {
    const ForeignPapi* papi = nullptr;
    int handle = PAPI_NULL;
    unsigned long argument = 0;
    std::vector<long long> values;
  };

  static Held& of(void* given) noexcept { return *static_cast<Held*>(given); }

  // After a call that never came nothing of `held_` is looked at: it belongs to that call.
  int made(int (*call)(void*)) noexcept {
    return guarded([&]() -> int { return bridge_->events.call_for(component_, held_, call); },
                   [](const Status&) -> int { return PAPI_ENOMEM; });
  }

  Bridge* bridge_;
  int component_;
  std::vector<uint32_t> places_;
  std::shared_ptr<Held> held_;
};

struct BridgeSet {
  explicit BridgeSet(Bridge& owner) noexcept : bridge(owner) {}
  Bridge& bridge;
  std::vector<Part> parts;
  int64_t attached = 0;       // the process or thread that is counted, 0 for the calling thread
  std::vector<int64_t> last;  // of the last stop or reset
  bool running = false;
};

constexpr size_t kMostHarmful = 4;  // each one may take the time of a trial

Bridge* bridge_of(Device* device) noexcept { return reinterpret_cast<Bridge*>(device); }
BridgeSet* set_of(Set* set) noexcept { return reinterpret_cast<BridgeSet*>(set); }

Status refused(const ForeignPapi& papi, int error, const char* what) noexcept {
  if (error == bridge::kNeverCame)
    return refuse(
        Code::kSystem,
        "PAPI at %s did not come back when it was asked %s; this component of it is left out from now on",
        papi.path().c_str(), what);
  return refuse(bridge::code_of(error), "PAPI at %s refuses %s: %s", papi.path().c_str(), what,
                papi.error_text(error));
}

Status attach_to(const ForeignPapi& papi, std::vector<Part>& parts, int64_t id) noexcept {
  if (id == 0) return kSuccess;
  for (Part& part : parts)
    if (const int error = part.attach(id); error != PAPI_OK) return refused(papi, error, "to attach");
  return kSuccess;
}

struct Slots {
  static Status detect(const Host* host) noexcept {
    return guarded([&]() -> Status {
      const Settings settings = bridge::settings_of(*host);
      if (!settings.asked) {
        return {Code::kDisabled, 0,
                "off unless asked for: SUBSTRATA_BRIDGE=1 offers the components of the installed PAPI, "
                "SUBSTRATA_BRIDGE=/path/to/libpapi.so those of another one; counters of GPUs need a PAPI "
                "configured "
                "--with-components='cuda rocp_sdk intel_gpu' (what there is) and the vendor's toolkit: "
                "PAPI_CUDA_ROOT, PAPI_ROCP_SDK_ROOT, or libze_loader.so"};
      }
      if (settings.libraries.empty()) {
        return {Code::kNoSupport, 0,
                "no libpapi in /usr/local/lib, the system's library folders or /opt/papi/lib; install PAPI "
                "(Debian: libpapi7.0) or set SUBSTRATA_BRIDGE to the path of its libpapi"};
      }
      return kSuccess;
    });
  }

  static Status open(const Host* host, Device** out) noexcept {
    return guarded([&]() -> Status {
      Settings settings = bridge::settings_of(*host);
      std::string why;
      // A vendor's library that hangs or crashes when it is first asked or read does so in a child, where it harms
      // nobody. The component that was being asked then is left out, and the others are tried again.
      bridge::Suspect suspect;
      while (!ForeignPapi::is_up(settings)) {
        suspect.is("");
        const Trial tried = try_in_child(settings.seconds, [&]() -> std::string {
          const ForeignPapi* trial = ForeignPapi::bring_up(settings, &why);
          if (trial == nullptr) return why;
          ForeignEvents events(*trial);
          events.scan(settings, &why, &suspect);
          events.try_reading(&suspect);
          return {};
        });
        if (tried.outcome != Trial::kFatal) break;
        const std::string name = suspect.component();
        if (name.empty() || settings.harm_of(name) != nullptr || settings.harmful.size() == kMostHarmful)
          return refuse(
              Code::kNoSupport,
              "%s is not used: loading it and listing its events %s; leave the component that is to blame "
              "out by SUBSTRATA_BRIDGE_COMPONENTS",
              settings.libraries.front().c_str(), tried.reason.c_str());
        settings.harmful.emplace_back(name, "listing and reading its events " + tried.reason);
      }
      const ForeignPapi* papi = ForeignPapi::bring_up(settings, &why);
      if (papi == nullptr) return refuse(Code::kNoSupport, "%s", why.c_str());
      auto device = std::make_unique<Bridge>(*papi);
      if (!device->events.scan(settings, &why)) return refuse(Code::kNoSupport, "%s", why.c_str());
      *out = reinterpret_cast<Device*>(device.release());
      return kSuccess;
    });
  }

  static void close(Device* device) noexcept { delete bridge_of(device); }

  static const char* units(Device* device) noexcept { return bridge_of(device)->events.components(); }

  static uint32_t event_count(Device* device) noexcept { return bridge_of(device)->events.size(); }

  static Status event_at(Device* device, uint32_t index, Event* out) noexcept {
    return guarded([&] { return bridge_of(device)->events.at(index, out); });
  }

  static Status find_event(Device* device, const char* name, uint32_t* index) noexcept {
    return guarded([&] { return bridge_of(device)->events.find(name, index); });
  }

  static Status create_set(Device* device, Thread*, Set** out) noexcept {
    return make<BridgeSet>(out, *bridge_of(device));
  }

  static void destroy_set(Set* set) noexcept { delete set_of(set); }

  static Status program(Set* set, const uint32_t* events, uint32_t count) noexcept {
    return guarded([&]() -> Status {
      BridgeSet& self = *set_of(set);
      const ForeignPapi& papi = self.bridge.papi;
      std::vector<Part> parts;
      std::vector<int64_t> last(count);
      for (uint32_t i = 0; i < count; ++i) {
        if (events[i] >= self.bridge.events.size())
          return {Code::kNoEvent, 0, "the bridge has no event of this number"};
        const ForeignEvent& event = self.bridge.events.event(events[i]);
        auto part = std::find_if(parts.begin(), parts.end(),
                                 [&](const Part& known) { return known.component() == event.component; });
        if (part == parts.end()) {
          parts.emplace_back(self.bridge, event.component);
          part = parts.end() - 1;
        }
        if (const int error = part->add(event.code, i); error != PAPI_OK)
          return refused(papi, error, event.name.c_str());
      }
      if (const Status status = attach_to(papi, parts, self.attached); !status.ok()) return status;
      self.parts = std::move(parts);
      self.last = std::move(last);
      return kSuccess;
    });
  }

  // That PAPI takes another process or thread; the rest of a configuration is the layer's defaults.
  static Status configure(Set* set, const Configuration* wanted) noexcept {
    BridgeSet& self = *set_of(set);
    const bool to_other = wanted->target == Target::kThreadOrProcess;
    if ((wanted->target != Target::kSelf && !to_other) || wanted->inherit != 0 || wanted->multiplex != 0 ||
        wanted->domain != kDomainAll || wanted->granularity != kGranularitySystem)
      return {Code::kComponent, 0,
              "the bridge counts a thread as that PAPI does by default; it only attaches"};
    const int64_t id = to_other ? wanted->target_id : 0;
    if (id == 0 && self.attached != 0)
      return {Code::kNoSupport, 0, "what was attached by the bridge stays so; make another set"};
    if (const Status status = attach_to(self.bridge.papi, self.parts, id); !status.ok()) return status;
    self.attached = id;
    return kSuccess;
  }

  // All parts run or none does.
  static Status start(Set* set) noexcept {
    BridgeSet& self = *set_of(set);
    for (size_t i = 0; i < self.parts.size(); ++i) {
      const int error = self.parts[i].start();
      if (error == PAPI_OK) continue;
      while (i-- > 0) self.parts[i].stop();
      return refused(self.bridge.papi, error, "to start");
    }
    self.running = true;
    return kSuccess;
  }

  static Status stop(Set* set) noexcept {
    BridgeSet& self = *set_of(set);
    if (!self.running) return {Code::kNotRunning, 0, "the set is not running"};
    self.running = false;
    int first = PAPI_OK;
    for (Part& part : self.parts) {
      const int error = part.stop();
      if (first == PAPI_OK) first = error;
      if (error != bridge::kNeverCame) part.give(self.last.data());
    }
    return first == PAPI_OK ? kSuccess : refused(self.bridge.papi, first, "to stop");
  }

  static Status read(Set* set, int64_t* values) noexcept {
    BridgeSet& self = *set_of(set);
    if (!self.running) {
      if (!self.last.empty()) std::memcpy(values, self.last.data(), self.last.size() * sizeof values[0]);
      return kSuccess;
    }
    for (Part& part : self.parts)
      if (const int error = part.read(); error != PAPI_OK) return refused(self.bridge.papi, error, "to read");
    for (const Part& part : self.parts) part.give(values);
    return kSuccess;
  }

  static Status reset(Set* set) noexcept {
    BridgeSet& self = *set_of(set);
    for (Part& part : self.parts)
      if (const int error = part.reset(); error != PAPI_OK)
        return refused(self.bridge.papi, error, "to reset");
    std::fill(self.last.begin(), self.last.end(), 0);
    return kSuccess;
  }
};

constexpr SubstrateTable kTable = table_of<Slots>({
    .name = "bridge",
    .summary = "Components of an installed PAPI, counted through it",
    .version = "1.0",
    .traits = kReadBlocks | kCanAttach | kOnRequest | kPrefixNeeded,
    .max_events = 512,
    .max_multiplexed = 512,
    .read_bound_ns = 1'000'000'000,
});

}  // namespace

SUBSTRATA_PUBLISH(bridge, kTable);
