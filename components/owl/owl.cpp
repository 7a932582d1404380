// The substrate "owl": what capsules and their modules count, as events.
#include <substrata/owl.h>
#include <substrata/substrate.h>
#include <substrata/result.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "base/guard.hpp"
#include "base/table_of.hpp"
#include "models/counting/counting.hpp"
#include "owl/capsule.hpp"

namespace {

using namespace substrata;
using owl::Capsule;
using owl::CapsuleRecord;
using owl::kPacketsInjected;
using owl::kStatistics;
using owl::Watcher;

constexpr size_t kLongestEventName = 120;

struct StatisticText {
  const char* name;
  const char* text;
  const char* unit;
};
constexpr StatisticText kStatisticTexts[kStatistics] = {
    {"EVENTS_SEEN", "Transactions that the capsule gave to its module.", "transactions"},
    {"PACKETS_INJECTED", "Packets that the capsule wrote into its ring buffer.", "packets"},
    {"BYTES_INJECTED", "Bytes of these packets.", "bytes"},
    {"DROPPED", "Packets that did not fit, or were overwritten before a consumer was given them.", "packets"},
    {"NEAR_FULL", "Times the ring's fill passed the near-full mark.", "times"},
    {"SIGNALS", "Signals of the module on a transaction.", "times"},
};

// One event: a number of one record, or of all of them together.
struct OwlEvent {
  std::string name;
  std::string text;
  const char* unit;
  bool gauge;
  std::shared_ptr<CapsuleRecord> record;  // null: the sum over all
  uint32_t value;
};

// The catalogue grows as capsules are attached. Thread-safe.
class Catalogue {
 public:
  Catalogue() {
    for (uint32_t i = 0; i < kStatistics; ++i) {
      add({kStatisticTexts[i].name, std::string(kStatisticTexts[i].text) + " All capsules together.",
           kStatisticTexts[i].unit, false, nullptr, i});
    }
  }
  uint32_t count() {
    const std::lock_guard lock(mutex_);
    refresh();
    return static_cast<uint32_t>(events_.size());
  }
  // Null: no such event. Events stay where they are.
  const OwlEvent* at(uint32_t index) {
    const std::lock_guard lock(mutex_);
    return index < events_.size() ? &events_[index] : nullptr;
  }
  bool find(const std::string& name, uint32_t* index) {
    const std::lock_guard lock(mutex_);
    refresh();
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return false;
    *index = found->second;
    return true;
  }

 private:
  void add(OwlEvent event) {
    events_.push_back(std::move(event));
    // Where a module was replaced the name is that of the last one's number.
    by_name_[events_.back().name] = static_cast<uint32_t>(events_.size() - 1);
  }
  void add_all_of(const std::shared_ptr<CapsuleRecord>& record) {
    const owl::Module& module = *record->entry->module;
    const std::string prefix = record->name + "." + module.name + ".";
    const std::string place = "; capsule " + record->name + ", module " + module.name + ".";
    for (uint32_t i = 0; i < module.metric_count; ++i) {
      add({prefix + module.metrics[i].name, module.metrics[i].text + place, module.metrics[i].unit,
           module.metrics[i].gauge != 0, record, kStatistics + i});
    }
    for (uint32_t i = 0; i < kStatistics; ++i) {
      add({prefix + kStatisticTexts[i].name,
           kStatisticTexts[i].text + std::string(" Capsule ") + record->name + "." +
               (i == kPacketsInjected && !record->kept_ring.empty() ? " Its ring: " + record->kept_ring : ""),
           kStatisticTexts[i].unit, false, record, i});
    }
  }
  // Lists the events of every record once: those of a record all, or, where memory ends, none.
  void refresh() {
    if (owl::record_count() == records_) return;
    const std::vector<std::shared_ptr<CapsuleRecord>> all = owl::records();
    for (; records_ < all.size(); ++records_) {
      const size_t before = events_.size();
      try {
        add_all_of(all[records_]);
      } catch (...) {
        std::erase_if(by_name_, [&](const auto& each) { return each.second >= before; });
        events_.erase(events_.begin() + static_cast<std::ptrdiff_t>(before), events_.end());
        throw;
      }
    }
  }
  std::mutex mutex_;
  std::deque<OwlEvent> events_;
  std::map<std::string, uint32_t> by_name_;
  size_t records_ = 0;
};

// Capsules that a name asked for; at rest unless a set runs, and there until the process ends. Gives why
// not, or "".
std::string attach_by_name(const std::string& name) {
  const size_t last = name.rfind('.');
  const size_t middle = last == std::string::npos || last == 0 ? last : name.rfind('.', last - 1);
  if (last == std::string::npos || middle == std::string::npos || name.size() > kLongestEventName)
    return "an event of owl is PROBE_POINTS.MODULE.METRIC";
  const std::string probes = name.substr(0, middle);
  const std::string module = name.substr(middle + 1, last - middle - 1);
  const std::string metric = name.substr(last + 1);
  const owl::LibraryEntry* const entry = owl::find_module(module);
  if (entry == nullptr)
    return "there is no module '" + module + "'; `substrata module list` shows what there is";
  const auto same = [&](const auto& each) { return metric == each.name; };
  const auto* const begin = entry->module->metrics;
  const auto* const end = begin + entry->module->metric_count;
  if (std::none_of(std::begin(kStatisticTexts), std::end(kStatisticTexts), same) &&
      std::none_of(begin, end, same)) {
    std::string known;
    for (const auto* each = begin; each != end; ++each) known += std::string(each->name) + ", ";
    for (const StatisticText& each : kStatisticTexts) known += std::string(each.name) + ", ";
    known.resize(known.size() - 2);
    return "the module '" + module + "' has no metric '" + metric + "'; there are " + known;
  }
  auto options = client::sized<substrata_owl_capsule_options>();
  options.probes = probes.c_str();
  options.name = probes.c_str();
  options.module = module.c_str();
  Capsule* capsule = nullptr;
  if (owl::attach_capsule(options, &capsule, true) != 0) return last_refusal();
  static std::mutex mutex;
  static auto* const kept = new std::vector<Capsule*>;
  const std::lock_guard lock(mutex);
  kept->push_back(capsule);
  return {};
}

Catalogue& catalogue() {
  static auto* const made = new Catalogue;
  return *made;
}

struct Armed {
  int64_t threshold = 0;
  SampleSink sink;
  std::shared_ptr<Watcher> watcher;  // while running
  uint64_t mask = 0;
};

// One eventset.
struct OwlSet {
  struct Bound {
    const OwlEvent* event;
    uint64_t base = 0;
    int64_t value = 0;
  };
  std::vector<Bound> events;
  std::vector<std::shared_ptr<CapsuleRecord>> used;  // each once
  std::vector<uint64_t> started;                     // the generation of each that runs; 0: none
  std::map<uint32_t, std::unique_ptr<Armed>> armed;
  bool running = false;
  // Of the sums over all capsules: what there was when the set was programmed, so that reading allocates
  // nothing.
  std::vector<std::shared_ptr<CapsuleRecord>> all;

  uint64_t now(const OwlEvent& event) const noexcept {
    if (event.record != nullptr) return event.record->values[event.value].value();
    uint64_t sum = 0;
    for (const std::shared_ptr<CapsuleRecord>& record : all) sum += record->values[event.value].value();
    return sum;
  }
  void look() noexcept {
    for (Bound& each : events) {
      const uint64_t value = now(*each.event);
      each.value = static_cast<int64_t>(each.event->gauge ? value : value - each.base);
    }
  }
  void begin_at_zero() noexcept {
    for (Bound& each : events) each.base = now(*each.event);
    look();
  }
  void stop_capsules() noexcept {
    for (size_t i = 0; i < used.size(); ++i) {
      if (started[i] == 0) continue;
      const std::lock_guard life(used[i]->life);
      if (used[i]->capsule != nullptr && used[i]->generation == started[i]) used[i]->capsule->stop();
      started[i] = 0;
    }
  }
  void end_watchers() noexcept {
    for (auto& [position, each] : armed) {
      if (each->watcher == nullptr) continue;
      events[position].event->record->unwatch(each->watcher);
      each->watcher = nullptr;
    }
  }
  void begin_watcher(uint32_t position, Armed& each) {
    auto watcher = std::make_shared<Watcher>();
    watcher->value = events[position].event->value;
    watcher->period = static_cast<uint64_t>(each.threshold);
    watcher->owner = &each;
    watcher->call = [](void* owner, uint64_t) noexcept {
      const auto& self = *static_cast<const Armed*>(owner);
      const Sample sample{0, self.mask, nullptr};
      self.sink.call(self.sink.owner, &sample);
    };
    events[position].event->record->watch(watcher);
    each.watcher = std::move(watcher);
  }
};

OwlSet& set_of(Set* set) noexcept { return *reinterpret_cast<OwlSet*>(set); }

struct Slots {
  static uint32_t event_count(Device*) noexcept {
    return guarded([] { return catalogue().count(); }, [](const Status&) { return uint32_t{kStatistics}; });
  }

  static Status event_at(Device*, uint32_t index, Event* out) noexcept {
    return guarded([&]() -> Status {
      const OwlEvent* const event = catalogue().at(index);
      if (event == nullptr) return refuse(Code::kNoEvent, "event %u was asked for; there are fewer", index);
      *out = Event{};
      out->name = event->name.c_str();
      out->text = event->text.c_str();
      out->unit = event->unit;
      out->kind = event->gauge ? ValueKind::kGauge : ValueKind::kCount;
      out->flags = kEventScopeProcess;
      // Sums over all capsules have whatever comes.
      if (event->record == nullptr || !event->record->measured()) out->flags |= kEventModelled;
      return kSuccess;
    });
  }

  static Status find_event(Device*, const char* name, uint32_t* index) noexcept {
    return guarded([&]() -> Status {
      if (catalogue().find(name, index)) return kSuccess;
      const std::string why = attach_by_name(name);
      if (catalogue().find(name, index)) return kSuccess;
      return refuse(Code::kNoEvent, "%.300s", why.empty() ? "there is no such event" : why.c_str());
    });
  }

  static Status create_set(Device*, Thread*, Set** out) noexcept {
    auto* const set = new (std::nothrow) OwlSet;
    if (set == nullptr) return {Code::kNoMemory, 0, "no memory for the eventset"};
    *out = reinterpret_cast<Set*>(set);
    return kSuccess;
  }

  static void destroy_set(Set* set) noexcept {
    OwlSet* const self = &set_of(set);
    self->end_watchers();
    self->stop_capsules();
    delete self;
  }

  static Status program(Set* set, const uint32_t* events, uint32_t count) noexcept {
    OwlSet& self = set_of(set);
    if (self.running)
      return {Code::kRunning, 0, "the eventset is running; stop it before changing its events"};
    return guarded([&]() -> Status {
      std::vector<OwlSet::Bound> bound;
      std::vector<std::shared_ptr<CapsuleRecord>> used;
      for (uint32_t i = 0; i < count; ++i) {
        const OwlEvent* const event = catalogue().at(events[i]);
        if (event == nullptr)
          return refuse(Code::kNoEvent, "event %u was asked for; there are fewer", events[i]);
        bound.push_back({event, 0, 0});
        if (event->record != nullptr && std::find(used.begin(), used.end(), event->record) == used.end()) {
          used.push_back(event->record);
        }
      }
      std::vector<uint64_t> started(used.size(), 0);
      auto all = owl::records();
      self.events.swap(bound);
      self.used.swap(used);
      self.started.swap(started);
      self.all.swap(all);
      self.armed.clear();
      return kSuccess;
    });
  }

  static Status start(Set* set) noexcept {
    OwlSet& self = set_of(set);
    const auto begin = [&]() -> Status {
      for (size_t i = 0; i < self.used.size(); ++i) {
        CapsuleRecord& record = *self.used[i];
        const std::lock_guard life(record.life);
        if (record.capsule == nullptr) continue;  // detached: its last values stay
        if (const int refused = record.capsule->start(); refused != 0) {
          const Status why = refuse(static_cast<Code>(refused), "%s", last_refusal());
          for (size_t k = 0; k < i; ++k) {
            if (self.started[k] == 0) continue;
            const std::lock_guard other(self.used[k]->life);
            if (self.used[k]->capsule != nullptr) self.used[k]->capsule->stop();
            self.started[k] = 0;
          }
          return why;
        }
        self.started[i] = record.generation;
      }
      self.all = owl::records();
      substrata_flush();
      self.begin_at_zero();
      for (auto& [position, each] : self.armed) self.begin_watcher(position, *each);
      self.running = true;
      return kSuccess;
    };
    return guarded(begin, [&](const Status& why) {
      self.end_watchers();
      self.stop_capsules();
      return why;
    });
  }

  static Status stop(Set* set) noexcept {
    OwlSet& self = set_of(set);
    substrata_flush();
    self.look();
    self.running = false;
    self.end_watchers();
    self.stop_capsules();
    return kSuccess;
  }

  static Status read(Set* set, int64_t* values) noexcept {
    OwlSet& self = set_of(set);
    if (self.running) {
      substrata_flush();
      self.look();
    }
    for (size_t i = 0; i < self.events.size(); ++i) values[i] = self.events[i].value;
    return kSuccess;
  }

  static Status reset(Set* set) noexcept {
    OwlSet& self = set_of(set);
    if (self.running) substrata_flush();
    self.begin_at_zero();
    return kSuccess;
  }

  static Status write(Set* set, const int64_t* values) noexcept {
    OwlSet& self = set_of(set);
    if (self.running) substrata_flush();
    for (size_t i = 0; i < self.events.size(); ++i) {
      OwlSet::Bound& each = self.events[i];
      if (each.event->gauge) continue;
      each.base = self.now(*each.event) - static_cast<uint64_t>(values[i]);
      each.value = values[i];
    }
    return kSuccess;
  }

  // The sink is called in the publisher's thread after the batch that passed the threshold, once for each
  // multiple.
  static Status arm(Set* set, uint32_t position, int64_t threshold, uint32_t,
                    const SampleSink* sink) noexcept {
    OwlSet& self = set_of(set);
    if (position >= self.events.size() || threshold <= 0 || sink == nullptr || sink->call == nullptr) {
      return {Code::kInvalid, 0, "overflow needs an event of the set, a positive threshold and a handler"};
    }
    if (self.events[position].event->record == nullptr || self.events[position].event->gauge) {
      return {Code::kComponent, 0,
              "overflow works on the counts of one capsule, not on levels or sums over capsules"};
    }
    return guarded([&]() -> Status {
      auto armed = std::make_unique<Armed>();
      armed->threshold = threshold;
      armed->sink = *sink;
      armed->mask = position < 64 ? uint64_t{1} << position : 0;
      if (self.running) {
        const auto old = self.armed.find(position);
        if (old != self.armed.end()) self.events[position].event->record->unwatch(old->second->watcher);
        self.begin_watcher(position, *armed);
      }
      self.armed[position] = std::move(armed);
      return kSuccess;
    });
  }

  static Status disarm(Set* set, uint32_t position) noexcept {
    OwlSet& self = set_of(set);
    const auto found = self.armed.find(position);
    if (found == self.armed.end()) return kSuccess;
    if (found->second->watcher != nullptr)
      self.events[position].event->record->unwatch(found->second->watcher);
    self.armed.erase(found);
    return kSuccess;
  }
};

constexpr SubstrateTable kTable = table_of<Slots>({
    .name = "owl",
    .summary = "Owl capsules at any probe points: what their modules count and emit",
    .version = "1",
    .traits = kReadBlocks,
    .read_bound_ns = counting::kReadBound_ns,
    .event_names = "*.*.*,EVENTS_SEEN,PACKETS_INJECTED,BYTES_INJECTED,DROPPED,NEAR_FULL,SIGNALS",
});

}  // namespace

SUBSTRATA_PUBLISH(owl, kTable);
