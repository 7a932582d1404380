// The process-wide state of the feed: sources, probe points, their publishers and observers.
#pragma once

#include <substrata/feed.h>

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "feed/compact.hpp"

struct substrata_observer {
  substrata_batch_function call = nullptr;
  substrata_compact_function take_compact = nullptr;  // null: it gets transactions only
  void* owner = nullptr;
  uint32_t flags = 0;
  std::mutex running;  // held while it runs, unless SUBSTRATA_OBSERVER_CONCURRENT
};

namespace substrata::feed {

struct Source {
  std::string name;
  std::string summary;
  // Replaced, never changed, and never freed: an info handed out stays valid.
  const std::string* why_not = nullptr;
  uint32_t kind = 0;
  uint32_t time_base = 0;
  uint64_t ticks_per_second = 0;
  uint32_t probe_count = 0;
};

using ObserverList = std::vector<std::shared_ptr<substrata_observer>>;

struct Publisher;

struct Probe {
  uint32_t number = 0;
  std::string name;
  std::string text;
  Source* source = nullptr;
  Publisher* publishers = nullptr;  // guarded by Registry::mutex
  uint32_t publisher_count = 0;     // guarded by Registry::mutex
  std::mutex observers_mutex;       // innermost lock: only around a copy or an exchange of the list
  std::shared_ptr<const ObserverList> observers = std::make_shared<const ObserverList>();
  std::atomic<uint64_t> delivered{0};
  std::atomic<uint64_t> refused{0};
};

// What a publisher of compact records has beside the rest: its owner's cursor is in a buffer of records that begins
// at its front again when it is full, and its ring is where they are expanded.
struct CompactBuffer {
  std::atomic<substrata_compact_cursor*> cursor{nullptr};  // null: closed
  std::unique_ptr<uint64_t[]> records;
  uint32_t size = 0;
  uint32_t initiator = 0;
  Expansion expansion;                              // guarded by draining
  std::shared_ptr<const ObserverList> observed_by;  // guarded by draining: at the last delivery
};

// What lies behind the public structure. The producer's line and the consumers' line are apart.
struct alignas(64) Publisher : substrata_publisher {
  explicit Publisher(uint32_t slots) : substrata_publisher{} {
    mask = slots - 1;
    ring = static_cast<substrata_transaction*>(
        ::operator new (slots * sizeof(substrata_transaction), std::align_val_t{64}));
  }
  ~Publisher() { ::operator delete (ring, std::align_val_t{64}); }
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  Probe* owner = nullptr;
  Publisher* next = nullptr;      // guarded by Registry::mutex
  Publisher* previous = nullptr;  // guarded by Registry::mutex
  uint32_t pins = 0;              // guarded by Registry::mutex: flushers that look at it
  bool closed = false;            // guarded by Registry::mutex
  uint64_t* epoch = nullptr;      // guarded by Registry::mutex: grows when observed changes
  alignas(64) std::mutex draining;
  std::atomic<uint64_t> tail{0};                 // everything before it was delivered; written under draining
  std::atomic<const void*> delivering{nullptr};  // identity of the thread that delivers from here
  std::unique_ptr<CompactBuffer> compact;        // null: it publishes transactions
};

// A pattern that also catches probe points to come.
struct StandingSubscription {
  std::shared_ptr<substrata_observer> observer;
  std::string patterns;
};

// Thread-safe: everything is guarded by mutex unless it says otherwise. No callback runs under mutex, and
// no thread waits for a draining lock under it.
struct Registry {
  std::mutex mutex;
  std::deque<Source> sources;
  std::deque<Probe> probes;  // a deque: addresses stay
  std::vector<std::shared_ptr<substrata_observer>> observers;
  std::vector<StandingSubscription> standing;
};

// Lives as long as the process, so that publishers may be closed by static destructors.
Registry& registry() noexcept;

// Does a pattern stand among the names? Thread-safe: pure.
bool has_wildcard(std::string_view patterns) noexcept;

// Stores in the publishers of the probe whether there are observers; with Registry::mutex held.
void store_observed(Probe& probe) noexcept;

// Adds the observer to the probe's list unless it is there; with Registry::mutex held.
void add_observer(Probe& probe, const std::shared_ptr<substrata_observer>& observer);

// Is the calling thread inside an observer's callback?
bool inside_callback() noexcept;

// Puts the publisher into the probe point's list and fills in *out. Negative: there is no such probe point.
int list_publisher(std::unique_ptr<Publisher> publisher, uint32_t probe, substrata_publisher** out);

// Empties a compact publisher's buffer for its thread; false in a circle.
bool make_compact_space(Publisher& publisher) noexcept;

// Delivers the array as one batch after what the ring holds, watched or not.
void deliver_array(Publisher& publisher, const substrata_transaction* transactions, size_t count) noexcept;

}  // namespace substrata::feed
