// Publishers' rings, their delivery to observers, and subscriptions.
#include <algorithm>
#include <bit>
#include <new>

#include "base/glob.hpp"
#include "base/guard.hpp"
#include "feed/registry.hpp"

namespace substrata::feed {
namespace {

// How deep this thread is in observers' callbacks.
thread_local uint32_t callback_depth __attribute__((tls_model("initial-exec"))) = 0;
// Its address identifies the thread.
thread_local const char thread_identity __attribute__((tls_model("initial-exec"))) = 0;

// Models stand in a row (accesses -> first-level misses -> second-level misses); each pass of a flush moves
// what the row's previous member published. A bound, because live publishers may keep rings filled for ever.
constexpr int kFlushPasses = 16;

// Transactions or records that were committed.
uint64_t head_of(const Publisher& publisher) noexcept {
  if (const CompactBuffer* const compact = publisher.compact.get()) {
    const substrata_compact_cursor* const cursor = compact->cursor.load(std::memory_order_acquire);
    if (cursor == nullptr) return 0;
    return static_cast<uint64_t>(__atomic_load_n(&cursor->next, __ATOMIC_ACQUIRE) - compact->records.get());
  }
  return __atomic_load_n(&publisher.head, __ATOMIC_ACQUIRE);
}

bool has_undelivered(const Publisher& publisher) noexcept {
  return head_of(publisher) != publisher.tail.load(std::memory_order_acquire);
}

std::shared_ptr<const ObserverList> observers_of(Probe& probe) noexcept {
  const std::lock_guard lock(probe.observers_mutex);
  return probe.observers;
}

// Calls those observers that are chosen.
template <typename Chosen, typename Call>
void call_observers(const ObserverList& observers, const Chosen& chosen, const Call& call) noexcept {
  ++callback_depth;
  for (const std::shared_ptr<substrata_observer>& observer : observers) {
    if (!chosen(*observer)) continue;
    if ((observer->flags & SUBSTRATA_OBSERVER_CONCURRENT) != 0) {
      call(*observer);
    } else {
      const std::lock_guard lock(observer->running);
      call(*observer);
    }
  }
  --callback_depth;
}

void run_batch(Probe& probe, const ObserverList& observers, const substrata_transaction* batch,
               size_t count) noexcept {
  if (observers.empty()) return;  // published in the moment in which the last observer left
  call_observers(
      observers, [](const substrata_observer&) { return true; },
      [&](const substrata_observer& observer) { observer.call(observer.owner, batch, count); });
  probe.delivered.fetch_add(count, std::memory_order_relaxed);
}

bool takes_compact(const substrata_observer& observer) noexcept { return observer.take_compact != nullptr; }
bool takes_transactions(const substrata_observer& observer) noexcept { return !takes_compact(observer); }

void run_compact(Publisher& publisher, const ObserverList& observers, const uint64_t* records,
                 size_t count) noexcept {
  const substrata_compact_batch batch{.format = SUBSTRATA_COMPACT_ACCESSES,
                                      .probe = publisher.probe,
                                      .initiator = publisher.compact->initiator,
                                      .reserved = 0,
                                      .records = records,
                                      .count = count};
  call_observers(observers, takes_compact,
                 [&](const substrata_observer& observer) { observer.take_compact(observer.owner, &batch); });
}

// The records as transactions to those who want such. How many they were.
uint64_t run_expanded(Publisher& publisher, const ObserverList& observers,
                      std::span<const uint64_t> records) noexcept {
  const size_t slots = size_t{publisher.mask} + 1;
  uint64_t all = 0;
  const uint64_t* at = records.data();
  const uint64_t* const end = at + records.size();
  while (at != end) {
    const size_t count = publisher.compact->expansion.take(at, end, publisher.ring, slots);
    if (count == 0) break;
    all += count;
    call_observers(observers, takes_transactions, [&](const substrata_observer& observer) {
      observer.call(observer.owner, publisher.ring, count);
    });
  }
  return all;
}

// Who observes is not as it was: all are given the phase that holds now, which a new one has not seen.
void publish_phase(Publisher& publisher, const ObserverList& observers, uint64_t tail) noexcept {
  const uint16_t phase = phase_after({publisher.compact->records.get(), tail});
  publisher.compact->expansion.begin_phase(phase);
  const uint64_t record = substrata_compact_record(SUBSTRATA_COMPACT_PHASE, 1, phase);
  if (phase != 0) run_compact(publisher, observers, &record, 1);
}

// Delivers records; with draining held.
void drain_compact(Publisher& publisher, uint64_t tail, uint64_t head) noexcept {
  CompactBuffer& compact = *publisher.compact;
  const std::shared_ptr<const ObserverList> observers = observers_of(*publisher.owner);
  if (!observers->empty()) {
    if (compact.observed_by != observers) {
      publish_phase(publisher, *observers, tail);
      compact.observed_by = observers;
    }
    const std::span<const uint64_t> records(compact.records.get() + tail, head - tail);
    run_compact(publisher, *observers, records.data(), records.size());
    const bool some_expand = std::any_of(observers->begin(), observers->end(),
                                         [](const auto& observer) { return takes_transactions(*observer); });
    publisher.owner->delivered.fetch_add(
        some_expand ? run_expanded(publisher, *observers, records) : records.size(),
        std::memory_order_relaxed);
  }
  publisher.tail.store(head, std::memory_order_release);
}

// Delivers transactions; with draining held.
void drain_ring(Publisher& publisher, uint64_t tail, uint64_t head) noexcept {
  const std::shared_ptr<const ObserverList> observers = observers_of(*publisher.owner);
  const uint64_t slots = static_cast<uint64_t>(publisher.mask) + 1;
  while (tail != head) {
    const uint64_t first = tail & publisher.mask;
    const uint64_t count = std::min(head - tail, slots - first);
    run_batch(*publisher.owner, *observers, publisher.ring + first, count);
    tail += count;
    publisher.tail.store(tail, std::memory_order_release);
  }
}

// Delivers what the publisher holds now; with draining held.
void drain(Publisher& publisher) noexcept {
  const uint64_t head = head_of(publisher);
  const uint64_t tail = publisher.tail.load(std::memory_order_relaxed);
  if (tail == head) return;
  publisher.delivering.store(&thread_identity, std::memory_order_relaxed);
  publisher.compact != nullptr ? drain_compact(publisher, tail, head) : drain_ring(publisher, tail, head);
  publisher.delivering.store(nullptr, std::memory_order_relaxed);
}

bool delivers_here(const Publisher& publisher) noexcept {
  return publisher.delivering.load(std::memory_order_relaxed) == &thread_identity;
}

// With Registry::mutex held: takes the publisher out of its probe point's list and frees it, if nothing
// uses it.
bool release_if_unused(Publisher* publisher) noexcept {
  if (!publisher->closed || publisher->pins != 0) return false;
  Probe& probe = *publisher->owner;
  if (publisher->previous != nullptr) publisher->previous->next = publisher->next;
  if (publisher->next != nullptr) publisher->next->previous = publisher->previous;
  if (probe.publishers == publisher) probe.publishers = publisher->next;
  delete publisher;
  return true;
}

// Calls visit for every publisher of the probe points chosen that wants it, with no lock held and the
// publisher pinned. Returns how many were visited.
template <typename Chosen, typename Wanted, typename Visit>
size_t for_each_publisher(const Chosen& chosen, const Wanted& wanted, const Visit& visit) {
  Registry& all = registry();
  size_t visited = 0;
  std::unique_lock lock(all.mutex);
  for (size_t i = 0; i < all.probes.size(); ++i) {
    Probe& probe = all.probes[i];
    if (!chosen(probe)) continue;
    Publisher* publisher = probe.publishers;
    while (publisher != nullptr) {
      if (!wanted(*publisher)) {
        publisher = publisher->next;
        continue;
      }
      ++publisher->pins;
      lock.unlock();
      visit(*publisher);
      ++visited;
      lock.lock();
      --publisher->pins;
      Publisher* const following = publisher->next;
      release_if_unused(publisher);
      publisher = following;
    }
  }
  return visited;
}

template <typename Chosen>
void flush_chosen(const Chosen& chosen) noexcept {
  if (inside_callback()) return;
  for (int pass = 0; pass < kFlushPasses; ++pass) {
    const size_t visited = for_each_publisher(
        chosen, [](const Publisher& publisher) { return has_undelivered(publisher); },
        [](Publisher& publisher) {
          const std::lock_guard lock(publisher.draining);
          drain(publisher);
        });
    if (visited == 0) return;
  }
}

// Waits until no publisher of the probe points chosen is in the middle of a delivery that began before.
template <typename Chosen>
void wait_for_deliveries(const Chosen& chosen) noexcept {
  if (inside_callback()) return;
  for_each_publisher(
      chosen, [](const Publisher&) { return true; },
      [](Publisher& publisher) { const std::lock_guard lock(publisher.draining); });
}

void exchange_observers(Probe& probe, ObserverList list) {
  auto fresh = std::make_shared<const ObserverList>(std::move(list));
  {
    const std::lock_guard lock(probe.observers_mutex);
    probe.observers.swap(fresh);
  }
  store_observed(probe);
}  // the old list is released here, outside the lock

std::shared_ptr<substrata_observer> find_observer(Registry& all, const substrata_observer* observer) {
  for (const std::shared_ptr<substrata_observer>& known : all.observers) {
    if (known.get() == observer) return known;
  }
  return nullptr;
}

}  // namespace

bool inside_callback() noexcept { return callback_depth != 0; }

void store_observed(Probe& probe) noexcept {
  const uint32_t observed = observers_of(probe)->empty() ? 0 : 1;
  for (Publisher* publisher = probe.publishers; publisher != nullptr; publisher = publisher->next) {
    if (publisher->observed == observed) continue;
    __atomic_store_n(&publisher->observed, observed, __ATOMIC_RELAXED);
    if (publisher->epoch != nullptr) __atomic_fetch_add(publisher->epoch, 1, __ATOMIC_RELEASE);
  }
}

void add_observer(Probe& probe, const std::shared_ptr<substrata_observer>& observer) {
  ObserverList list = *observers_of(probe);
  if (std::find(list.begin(), list.end(), observer) != list.end()) return;
  list.push_back(observer);
  exchange_observers(probe, std::move(list));
}

int list_publisher(std::unique_ptr<Publisher> publisher, uint32_t probe, substrata_publisher** out) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  if (probe >= all.probes.size())
    return fail(Code::kInvalid, "a publisher was asked for at probe point %u; there are %zu", probe,
                all.probes.size());
  Probe& owner = all.probes[probe];
  publisher->probe = static_cast<uint16_t>(probe);
  publisher->owner = &owner;
  publisher->next = owner.publishers;
  if (owner.publishers != nullptr) owner.publishers->previous = publisher.get();
  owner.publishers = publisher.release();
  ++owner.publisher_count;
  *out = owner.publishers;
  store_observed(owner);
  return 0;
}

bool make_compact_space(Publisher& publisher) noexcept {
  if (delivers_here(publisher)) {
    publisher.owner->refused.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  const std::lock_guard lock(publisher.draining);
  drain(publisher);
  CompactBuffer& compact = *publisher.compact;
  substrata_compact_cursor& cursor = *compact.cursor.load(std::memory_order_relaxed);
  uint64_t* next = compact.records.get();
  // The buffer says which phase holds in it.
  if (cursor.phase != 0) *next++ = substrata_compact_record(SUBSTRATA_COMPACT_PHASE, 1, cursor.phase);
  publisher.tail.store(static_cast<uint64_t>(next - compact.records.get()), std::memory_order_relaxed);
  __atomic_store_n(&cursor.next, next, __ATOMIC_RELEASE);
  return true;
}

void deliver_array(Publisher& publisher, const substrata_transaction* transactions, size_t count) noexcept {
  if (count == 0) return;
  if (delivers_here(publisher)) {
    publisher.owner->refused.fetch_add(count, std::memory_order_relaxed);
    return;
  }
  const std::lock_guard lock(publisher.draining);
  drain(publisher);
  publisher.delivering.store(&thread_identity, std::memory_order_relaxed);
  run_batch(*publisher.owner, *observers_of(*publisher.owner), transactions, count);
  publisher.delivering.store(nullptr, std::memory_order_relaxed);
}

}  // namespace substrata::feed

using namespace substrata;
using namespace substrata::feed;

extern "C" {

int substrata_publisher_open(uint32_t probe, uint32_t slots, substrata_publisher** out) {
  return guarded([&] {
    constexpr uint32_t kMostSlots = 1u << 20;
    if (out == nullptr)
      return fail(Code::kInvalid, "substrata_publisher_open needs a place for the publisher");
    if (slots > kMostSlots)
      return fail(Code::kInvalid, "a ring of %u slots was asked for; at most %u", slots, kMostSlots);
    const uint32_t size = std::bit_ceil(slots == 0 ? 512u : slots);
    auto publisher = std::make_unique<Publisher>(size);
    publisher->limit = size;
    return list_publisher(std::move(publisher), probe, out);
  });
}

void substrata_publisher_close(substrata_publisher* publisher) {
  if (publisher == nullptr) return;
  Publisher& closing = *static_cast<Publisher*>(publisher);
  {
    const std::lock_guard lock(closing.draining);
    drain(closing);
    if (closing.compact != nullptr) {
      closing.compact->cursor.store(nullptr);
      closing.compact->observed_by = nullptr;
      closing.tail.store(0);
    }
  }
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  closing.closed = true;
  closing.epoch = nullptr;
  --closing.owner->publisher_count;
  release_if_unused(&closing);
}

void substrata_publisher_epoch(substrata_publisher* publisher, uint64_t* epoch) {
  const std::lock_guard lock(registry().mutex);
  static_cast<Publisher*>(publisher)->epoch = epoch;
}

substrata_transaction* substrata_make_room(substrata_publisher* publisher) {
  Publisher& full = *static_cast<Publisher*>(publisher);
  if (delivers_here(full)) {
    full.owner->refused.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  if (full.compact != nullptr) return nullptr;  // it takes records
  const std::lock_guard lock(full.draining);
  drain(full);
  full.limit = full.tail.load(std::memory_order_relaxed) + full.mask + 1;
  return full.ring + (full.head & full.mask);
}

void substrata_publish_all(substrata_publisher* publisher, const substrata_transaction* transactions,
                           size_t count) {
  if (substrata_observed(publisher)) deliver_array(*static_cast<Publisher*>(publisher), transactions, count);
}

void substrata_publisher_deliver(substrata_publisher* publisher) {
  Publisher& one = *static_cast<Publisher*>(publisher);
  if (delivers_here(one)) return;
  const std::lock_guard lock(one.draining);
  drain(one);
}

void substrata_flush(void) {
  flush_chosen([](const Probe&) { return true; });
}

int substrata_observer_create(substrata_batch_function call, void* owner, uint32_t flags,
                              substrata_observer** out) {
  return guarded([&] {
    if (call == nullptr || out == nullptr ||
        (flags & ~static_cast<uint32_t>(SUBSTRATA_OBSERVER_CONCURRENT)) != 0) {
      return fail(Code::kInvalid, "an observer needs a function, known flags and a place for the result");
    }
    auto observer = std::make_shared<substrata_observer>();
    observer->call = call;
    observer->owner = owner;
    observer->flags = flags;
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    all.observers.push_back(observer);
    *out = observer.get();
    return 0;
  });
}

void substrata_observer_destroy(substrata_observer* observer) {
  if (observer == nullptr) return;
  substrata_unsubscribe(observer, nullptr);
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.observers,
                [&](const std::shared_ptr<substrata_observer>& known) { return known.get() == observer; });
}

int substrata_subscribe(substrata_observer* observer, const char* patterns) {
  return guarded([&] {
    if (observer == nullptr || patterns == nullptr || *patterns == '\0') {
      return fail(Code::kInvalid, "substrata_subscribe needs an observer and a pattern of names");
    }
    const auto chosen = [&](const Probe& probe) { return any_glob(patterns, probe.name); };
    // What was published before is for those who observed before.
    flush_chosen(chosen);
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    const std::shared_ptr<substrata_observer> known = find_observer(all, observer);
    if (known == nullptr)
      return fail(Code::kInvalid, "substrata_subscribe was given an observer that does not exist");
    const bool standing = has_wildcard(patterns);
    const bool any = std::any_of(all.probes.begin(), all.probes.end(), chosen);
    if (!any && !standing)
      return fail(Code::kNoEvent, "there is no probe point '%s'; `substrata probes` lists them", patterns);
    if (standing) all.standing.push_back({known, patterns});
    for (Probe& probe : all.probes) {
      if (chosen(probe)) add_observer(probe, known);
    }
    return 0;
  });
}

int substrata_unsubscribe(substrata_observer* observer, const char* patterns) {
  return guarded([&] {
    if (observer == nullptr) return fail(Code::kInvalid, "substrata_unsubscribe needs an observer");
    const std::string_view wanted = patterns != nullptr ? patterns : "*";
    const auto chosen = [&](const Probe& probe) { return any_glob(wanted, probe.name); };
    // What was published before is still delivered to it.
    flush_chosen(chosen);
    Registry& all = registry();
    {
      const std::lock_guard lock(all.mutex);
      if (find_observer(all, observer) == nullptr) {
        return fail(Code::kInvalid, "substrata_unsubscribe was given an observer that does not exist");
      }
      std::erase_if(all.standing, [&](const StandingSubscription& standing) {
        return standing.observer.get() == observer && (wanted == "*" || standing.patterns == wanted);
      });
      for (Probe& probe : all.probes) {
        if (!chosen(probe)) continue;
        ObserverList list = *observers_of(probe);
        if (std::erase_if(list, [&](const std::shared_ptr<substrata_observer>& each) {
              return each.get() == observer;
            }) != 0) {
          exchange_observers(probe, std::move(list));
        }
      }
    }
    wait_for_deliveries(chosen);
    return 0;
  });
}

}  // extern "C"
