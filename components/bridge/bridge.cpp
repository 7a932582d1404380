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
#include "foreign_events.hpp"
#include "foreign_papi.hpp"
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
  Part(const ForeignPapi& papi, int component) noexcept : papi_(&papi), component_(component) {}
  Part(Part&& other) noexcept
      : papi_(other.papi_),
        component_(other.component_),
        handle_(std::exchange(other.handle_, PAPI_NULL)),
        places_(std::move(other.places_)),
        values_(std::move(other.values_)) {}
  Part& operator=(Part&&) = delete;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  ~Part() {
    if (handle_ == PAPI_NULL) return;
    papi_->cleanup_eventset(handle_);
    papi_->destroy_eventset(&handle_);
  }

  int component() const noexcept { return component_; }

  // PAPI's error number.
  int add(int code, uint32_t place) {
    if (handle_ == PAPI_NULL) {
      if (const int error = papi_->create_eventset(&handle_); error != PAPI_OK) return error;
    }
    places_.reserve(places_.size() + 1);
    values_.reserve(places_.size() + 1);
    if (const int error = papi_->add_event(handle_, code); error != PAPI_OK) return error;
    places_.push_back(place);
    values_.push_back(0);
    return PAPI_OK;
  }
  int attach(int64_t id) noexcept { return papi_->attach(handle_, static_cast<unsigned long>(id)); }
  int start() noexcept { return papi_->start(handle_); }
  int stop() noexcept { return papi_->stop(handle_, values_.data()); }
  int read() noexcept { return papi_->read(handle_, values_.data()); }
  int reset() noexcept { return papi_->reset(handle_); }
  void give(int64_t* values) const noexcept {
    for (size_t i = 0; i < places_.size(); ++i) values[places_[i]] = values_[i];
  }

 private:
  const ForeignPapi* papi_;
  int component_;
  int handle_ = PAPI_NULL;
  std::vector<uint32_t> places_;
  std::vector<long long> values_;
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
          parts.emplace_back(papi, event.component);
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
      part.give(self.last.data());
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
