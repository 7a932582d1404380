// The substrate `metric`: numbers that people ask for (instructions in a cycle,
// bytes by the second), computed from events of the other substrates by
// formulas that stand in text files.
#include <substrata/substrate.h>

#include <bit>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/fork_lock.hpp"
#include "base/guard.hpp"
#include "base/table_of.hpp"
#include "core/eventset/library.hpp"
#include "metric/parts.hpp"
#include "metrics/here/here.hpp"
#include "metrics/library.hpp"

namespace {

using namespace substrata;
using metric::Parts;

struct Entry {
  const metrics::Metric* metric;
  std::string unit;
  bool asked = false;  // whether it can be counted is known
  bool modelled = false;
  std::string why;  // it cannot
};

struct Metrics {
  Metrics() : library(metrics::library_of_this_machine()) {
    for (const metrics::Metric* one : library->metrics())
      entries.push_back({one, one->unit_text == "1" ? "" : one->unit_text, false, false, {}});
  }
  std::unique_ptr<metrics::Library> library;
  std::vector<Entry> entries;
  ForkLock lock;  // of asked and why
};

struct State {
  explicit State(Metrics* the_device) : device(the_device) {}
  Metrics* device;
  std::unique_ptr<Parts> parts = std::make_unique<Parts>();
  std::vector<metrics::Number> numbers;
  size_t count = 0;
};

Metrics* device_of(Device* device) noexcept { return reinterpret_cast<Metrics*>(device); }
State* state_of(Set* set) noexcept { return reinterpret_cast<State*>(set); }

Status no_such_event() noexcept { return {Code::kNoEvent, 0, "there is no metric of this index"}; }

// Asking for an event that there is not makes the layer look for near names, among metrics too.
constinit thread_local bool asking __attribute__((tls_model("initial-exec"))) = false;

struct Asking {
  Asking() { asking = true; }
  ~Asking() { asking = false; }
};

// A metric without a number is NaN.
int64_t bits_of(const metrics::Number& number) noexcept {
  return std::bit_cast<int64_t>(number.present ? number.value : std::numeric_limits<double>::quiet_NaN());
}

struct Slots {
  static Status open(const Host*, Device** out) noexcept { return make<Metrics>(out); }

  static void close(Device* device) noexcept { delete device_of(device); }

  static uint32_t event_count(Device* device) noexcept {
    return static_cast<uint32_t>(device_of(device)->entries.size());
  }

  static Status event_at(Device* device, uint32_t index, Event* out) noexcept {
    return guarded([&]() -> Status {
      Metrics& self = *device_of(device);
      if (index >= self.entries.size()) return no_such_event();
      Entry& entry = self.entries[index];
      const bool up = substrata::Library::instance().initialised();
      bool asked = !up || asking;
      if (!asked) {
        const std::lock_guard guard(self.lock);
        asked = entry.asked;
      }
      if (!asked) {
        // Without the lock: the other substrates are asked, which may hold locks of their own.
        const Asking now;
        std::string why;
        bool modelled = false;
        if (const auto bound = self.library->bind(entry.metric->name, metrics::in_this_process(), &why)) {
          why.clear();
          modelled = metrics::is_modelled(*bound);
        }
        const std::lock_guard guard(self.lock);
        if (!entry.asked) {
          entry.why = std::move(why);
          entry.modelled = modelled;
        }
        entry.asked = true;
      }
      *out = Event{};
      out->name = entry.metric->name.c_str();
      out->text = entry.metric->text.c_str();
      out->unit = entry.unit.c_str();
      out->kind = ValueKind::kGauge;
      out->type = ValueType::kDouble;
      out->flags = kEventScopeThread | kEventReadLocks;
      if (up && !asking && entry.modelled) out->flags |= kEventModelled;
      if (!up || asking || !entry.why.empty()) {
        out->flags |= kEventUnavailable;
        out->why = !up      ? "the library is not initialised: PAPI_library_init comes first"
                   : asking ? "it is being looked for"
                            : entry.why.c_str();
      }
      return kSuccess;
    });
  }

  static Status find_event(Device* device, const char* name, uint32_t* index) noexcept {
    const Metrics& self = *device_of(device);
    for (size_t i = 0; i < self.entries.size(); ++i)
      if (self.entries[i].metric->name == name) {
        *index = static_cast<uint32_t>(i);
        return kSuccess;
      }
    return {Code::kNoEvent, 0, "no file defines this metric; `substrata stat -g list` lists what there is"};
  }

  static Status create_set(Device* device, Thread*, Set** out) noexcept {
    return make<State>(out, device_of(device));
  }

  static void destroy_set(Set* set) noexcept { delete state_of(set); }

  static Status program(Set* set, const uint32_t* events, uint32_t count) noexcept {
    return guarded([&]() -> Status {
      State& state = *state_of(set);
      const Asking now;
      std::vector<metrics::Bound> all;
      for (uint32_t i = 0; i < count; ++i) {
        if (events[i] >= state.device->entries.size()) return no_such_event();
        std::string why;
        auto bound = state.device->library->bind(state.device->entries[events[i]].metric->name,
                                                 metrics::in_this_process(), &why);
        if (!bound) return refuse(Code::kNoEvent, "%s", why.c_str());
        all.push_back(std::move(*bound));
      }
      // The list before stays where the new one is refused.
      auto parts = std::make_unique<Parts>();
      if (const Status status = parts->program(std::move(all)); !status.ok()) return status;
      state.parts = std::move(parts);
      state.count = count;
      return kSuccess;
    });
  }

  static Status start(Set* set) noexcept {
    return guarded([&]() -> Status { return state_of(set)->parts->start(); });
  }
  static Status stop(Set* set) noexcept {
    return guarded([&]() -> Status { return state_of(set)->parts->stop(); });
  }
  static Status reset(Set* set) noexcept {
    return guarded([&]() -> Status { return state_of(set)->parts->reset(); });
  }

  static Status read_details(Set* set, ValueDetail* details) noexcept {
    return guarded([&]() -> Status {
      State& state = *state_of(set);
      int64_t time_ns = 0;
      if (const Status status = state.parts->read(&state.numbers, &time_ns); !status.ok()) return status;
      for (size_t i = 0; i < state.count; ++i) {
        details[i] = ValueDetail{};
        details[i].value = bits_of(state.numbers[i]);
        details[i].time_ns = time_ns;
        if (state.numbers[i].scaled) details[i].flags |= kValueScaled;
        if (state.numbers[i].modelled) details[i].flags |= kValueModelled;
      }
      return kSuccess;
    });
  }

  static Status read(Set* set, int64_t* values) noexcept {
    return guarded([&]() -> Status {
      State& state = *state_of(set);
      int64_t time_ns = 0;
      if (const Status status = state.parts->read(&state.numbers, &time_ns); !status.ok()) return status;
      for (size_t i = 0; i < state.count; ++i) values[i] = bits_of(state.numbers[i]);
      return kSuccess;
    });
  }
};

constexpr SubstrateTable kTable = table_of<Slots>({
    .name = "metric",
    .summary = "Metrics computed from events of the other substrates by "
               "formulas in text files; values are doubles",
    .version = "1.0",
    .traits = kPrefixNeeded,
});

}  // namespace

SUBSTRATA_PUBLISH(metric, kTable);
