// Takes what the threads of a program publish, and has one of them run it through the model for all.
#include "numachine/live.hpp"

#include <substrata/feed.hpp>
#include <substrata/result.hpp>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/parse.hpp"
#include "base/raised.hpp"
#include "feed/compact.hpp"
#include "numachine/access_records.hpp"
#include "numachine/last_run.hpp"
#include "numachine/machine.hpp"
#include "numachine/thread_merge.hpp"
#include "sources/workloads/run.hpp"

namespace substrata::numachine {
namespace {

// How many records of all threads together wait for those of a thread that has none, before it is taken to
// do something else (to wait, or code that is not traced).
constexpr std::size_t kPatience = 32768;
// How many new records of a thread are worth running the model for.
constexpr std::size_t kWorthIt = 4096;
// Threads that one machine distinguishes.
constexpr std::uint32_t kMostThreads = 65536;
// How many records a thread may be ahead of the model while another thread runs it.
constexpr std::size_t kBacklog = 16384;

// Is this thread running the followed machine right now? A handler it calls may read counters, and gets what
// has been counted so far.
thread_local bool running_here = false;

// The names of variables and heap objects. They are asked for once each, as long as one report takes.
class Names {
 public:
  std::string operator()(std::uint64_t address) {
    if (auto next = known_.upper_bound(address); next != known_.begin()) {
      const auto& [low, place] = *--next;
      if (address - low < place.length) return place.name;
    }
    auto place = client::sized<substrata_place>();
    if (substrata_place_at(address, &place) != 0) return {};
    known_[place.low] = {place.length, place.name};
    return place.name;
  }

 private:
  struct Place {
    std::uint64_t length;
    std::string name;
  };
  std::map<std::uint64_t, Place> known_;
};

// One followed machine. Batches arrive from any thread, several at once; one of the threads that bring them
// runs the model for all, the others go on until they are too far ahead. Thread-safe.
class LiveAdapter {
 public:
  LiveAdapter(const Parameters& parameters, std::uint16_t program) {
    const Rack::Use use(Rack::instance());
    model_ = std::make_unique<Model>(parameters, program);
    merge_ = std::make_unique<ThreadMerge>(*model_);
  }
  ~LiveAdapter() {
    {
      const Raised running(running_here);
      observer_.destroy();
    }
    const std::lock_guard lock(mutex_);
    const Rack::Use use(Rack::instance());
    collect();
    merge_->finish();
    model_->settle(merge_->newest());
    keep();
    model_.reset();
  }
  LiveAdapter(const LiveAdapter&) = delete;
  LiveAdapter& operator=(const LiveAdapter&) = delete;

  bool begin() {
    return observer_.try_create<&LiveAdapter::observe>(*this, SUBSTRATA_OBSERVER_CONCURRENT) == 0 &&
           observer_.try_take_compact<&LiveAdapter::observe_compact, LiveAdapter>() == 0 &&
           observer_.try_subscribe("mem.cpu*.accesses") == 0;
  }

  void drain() {
    const Raised running(running_here);
    const std::lock_guard lock(mutex_);
    const Rack::Use use(Rack::instance());
    run_all();
  }
  void refresh() {
    const Raised running(running_here);
    const std::lock_guard lock(mutex_);
    const Rack::Use use(Rack::instance());
    run_all();
    keep();
  }

 private:
  // What a thread did that the model has not taken yet.
  struct Inbox {
    std::mutex mutex;
    Records records;
    std::uint32_t phase = 0;  // of the newest transaction
  };

  void observe(const substrata_transaction* batch, std::size_t count) noexcept {
    take(batch[0].probe, [&](Inbox& inbox) {
      std::uint64_t records[feed::kMostRecords];
      for (const substrata_transaction& t : std::span(batch, count)) {
        const bool is_lock = t.kind == SUBSTRATA_LOCK || t.kind == SUBSTRATA_UNLOCK;
        append(inbox, {records, is_lock ? encode_lock(t, inbox.phase, records)
                                        : feed::encode(t, &inbox.phase, records)});
      }
    });
  }
  // As the record of a barrier is, but for its kind. Numbers count from the first that this machine hears of.
  std::size_t encode_lock(const substrata_transaction& t, std::uint32_t phase, std::uint64_t* records) {
    const bool locks = t.kind == SUBSTRATA_LOCK, shared = t.state == SUBSTRATA_SHARED;
    LockRecord what = locks ? (shared ? LockRecord::kSharedLock : LockRecord::kLock)
                            : (shared ? LockRecord::kSharedUnlock : LockRecord::kUnlock);
    substrata_transaction as_barrier = t;
    as_barrier.kind = SUBSTRATA_BARRIER;
    as_barrier.phase = static_cast<std::uint16_t>(phase);
    if (locks && (t.state == SUBSTRATA_RETRIED || t.state == SUBSTRATA_CANCELLED)) {
      what = t.state == SUBSTRATA_RETRIED ? LockRecord::kAsk : LockRecord::kGiveUp;
    } else {
      const std::lock_guard lock(first_mutex_);
      const std::uint64_t first = locks || t.detail == 0 ? t.detail : t.detail - 1;
      as_barrier.detail -= std::min(t.detail, first_.try_emplace(t.address, first).first->second);
    }
    const std::size_t count = feed::encode(as_barrier, &phase, records);
    records[count - 1] = (records[count - 1] & ~std::uint64_t{0xff}) | static_cast<std::uint8_t>(what);
    return count;
  }
  void observe_compact(const substrata_compact_batch& batch) noexcept {
    take(static_cast<std::uint16_t>(batch.probe), [&](Inbox& inbox) {
      append(inbox, {batch.records, batch.count});
    });
  }
  template <typename Append>
  void take(std::uint16_t probe, const Append& append_to) noexcept {
    try {
      Inbox& inbox = inbox_of(probe);
      std::size_t ahead = 0;
      {
        const std::lock_guard lock(inbox.mutex);
        append_to(inbox);
        ahead = inbox.records.size();
      }
      go_on(ahead);
    } catch (...) {
      // No memory: they are left out.
    }
  }
  static void append(Inbox& inbox, std::span<const std::uint64_t> words) {
    const std::size_t before = inbox.records.size();
    inbox.records.resize(before + words.size());
    std::memcpy(static_cast<void*>(inbox.records.data() + before), words.data(), words.size_bytes());
  }

  // Runs the model if that is worth it and no other thread does; waits for that one when this thread is too
  // far ahead.
  void go_on(std::size_t ahead) {
    if (ahead < kWorthIt || running_here) return;
    std::unique_lock lock(mutex_, std::defer_lock);
    if (ahead >= kBacklog) {
      lock.lock();
    } else if (!lock.try_lock()) {
      return;
    }
    const Raised running(running_here);
    const Rack::Use use(Rack::instance());
    collect();
    merge_->run(kPatience);
  }
  // Everything that has come in so far.
  void run_all() {
    collect();
    merge_->run(0);
    model_->settle(merge_->newest());
  }
  void collect() {
    const std::lock_guard all(probes_mutex_);
    for (std::uint32_t number = 0; number < inboxes_.size(); ++number) {
      const std::lock_guard lock(inboxes_[number].mutex);
      merge_->add(number, inboxes_[number].records);
    }
  }
  void keep() {
    std::vector<Waits> waits = merge_->waits().all();
    Names names;
    for (Waits& each : waits) each.name = names(each.address);
    keep_last_run(*model_, names, {std::move(waits), merge_->waits().lost()});
  }

  // By the number in the probe point's name, the thread's.
  Inbox& inbox_of(std::uint16_t probe) {
    const std::lock_guard lock(probes_mutex_);
    if (by_probe_.size() <= probe) by_probe_.resize(probe + 1U, nullptr);
    if (by_probe_[probe] != nullptr) return *by_probe_[probe];
    auto info = client::sized<substrata_probe_info>();
    std::uint32_t number = 0;
    if (substrata_probe_at(probe, &info) == 0) {
      leading_number(info.name + std::strlen("mem.cpu"), &number);
    }
    number = std::min(number, kMostThreads - 1);
    while (inboxes_.size() <= number) inboxes_.emplace_back();
    return *(by_probe_[probe] = &inboxes_[number]);
  }

  std::mutex mutex_;  // of the model and the merge; taken before an inbox's
  std::unique_ptr<Model> model_;
  std::unique_ptr<ThreadMerge> merge_;
  client::feed::Observer observer_;
  std::mutex probes_mutex_;    // of the two below; taken before an inbox's
  std::deque<Inbox> inboxes_;  // one for each thread
  std::vector<Inbox*> by_probe_;
  std::mutex first_mutex_;
  std::unordered_map<std::uint64_t, std::uint64_t>
      first_;  // release of each lock that came before this machine
};

struct Current {
  std::mutex mutex;
  LiveAdapter* adapter = nullptr;
};
Current& current() {
  static Current* const all = new Current;
  return *all;
}

}  // namespace

void* begin_live(const workloads::Asked& asked, std::string& error) {
  Parameters parameters;
  if (!parse_parameters(asked.parameters, 0, &parameters, error)) return nullptr;
  auto adapter = std::make_unique<LiveAdapter>(parameters, asked.program);
  if (!adapter->begin()) {
    error = substrata_feed_error();
    return nullptr;
  }
  const std::lock_guard lock(current().mutex);
  current().adapter = adapter.get();
  return adapter.release();
}

void end_live(void* following) noexcept {
  auto* const adapter = static_cast<LiveAdapter*>(following);
  {
    const std::lock_guard lock(current().mutex);
    if (current().adapter == adapter) current().adapter = nullptr;
  }
  try {
    delete adapter;
  } catch (...) {
    // No memory for the findings: the machine is gone all the same.
  }
}

// Another thread that is at it already does the same work; waiting for it here could wait for oneself, as it
// may wait for a batch that this thread is delivering.
void drain_live() noexcept {
  if (running_here) return;
  try {
    const std::unique_lock lock(current().mutex, std::try_to_lock);
    if (!lock.owns_lock() || current().adapter == nullptr) return;
    const Raised running(running_here);
    substrata_flush();
    current().adapter->drain();
  } catch (...) {
    // No memory: what waits is run with the next batch.
  }
}

void refresh_live_findings() {
  if (running_here) return;
  const std::unique_lock lock(current().mutex, std::try_to_lock);
  if (!lock.owns_lock() || current().adapter == nullptr) return;
  const Raised running(running_here);
  substrata_flush();
  current().adapter->refresh();
}

}  // namespace substrata::numachine
