// The process-wide state of the feed: sources, probe points, their publishers and observers.
#ifndef SUBSTRATA_FEED_REGISTRY_HPP
#define SUBSTRATA_FEED_REGISTRY_HPP

#include <substrata/feed.h>

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

struct substrata_observer {
  substrata_batch_function call = nullptr;
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

// What lies behind the public structure. The producer's line and the consumers' line are apart.
struct alignas(64) Publisher : substrata_publisher {
  Probe* owner = nullptr;
  Publisher* next = nullptr;      // guarded by Registry::mutex
  Publisher* previous = nullptr;  // guarded by Registry::mutex
  uint32_t pins = 0;              // guarded by Registry::mutex: flushers that look at it
  bool closed = false;            // guarded by Registry::mutex
  uint64_t* epoch = nullptr;      // guarded by Registry::mutex: grows when observed changes
  alignas(64) std::mutex draining;
  std::atomic<uint64_t> tail{0};                 // everything before it was delivered; written under draining
  std::atomic<const void*> delivering{nullptr};  // identity of the thread that delivers from here
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

// Sets what publishers of the probe test; with Registry::mutex held.
void announce_observed(Probe& probe) noexcept;

// Adds the observer to the probe's list unless it is there; with Registry::mutex held.
void add_observer(Probe& probe, const std::shared_ptr<substrata_observer>& observer);

// Is the calling thread inside an observer's callback?
bool inside_callback() noexcept;

// Delivers the array as one batch after what the ring holds, watched or not.
void deliver_array(Publisher& publisher, const substrata_transaction* transactions, size_t count) noexcept;

}  // namespace substrata::feed

#endif
