// Takes what the threads of a program publish, and has one of them run it through the model for all.
#include "live.hpp"

#include <substrata/feed.hpp>
#include <substrata/result.hpp>

#include <charconv>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "access_records.hpp"
#include "feed/compact.hpp"
#include "last_run.hpp"
#include "machine.hpp"
#include "thread_merge.hpp"
#include "workloads/run.hpp"

namespace substrata::numachine {
namespace {

// How many records of all threads together wait for those of a thread that has none, before it is taken to
// do something else (to wait, or code that is not traced).
constexpr std::size_t kPatience = 32768;
// How many new records of a thread are worth running the model for.
constexpr std::size_t kWorthIt = 4096;
// How many records a thread may be ahead of the model while another thread runs it.
constexpr std::size_t kBacklog = 16384;

// Is this thread running the followed machine right now? A handler it calls may read counters, and gets what
// has been counted so far.
thread_local bool running_here = false;

class Running {
 public:
  Running() noexcept : before_(running_here) { running_here = true; }
  ~Running() { running_here = before_; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  const bool before_;
};

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
    inboxes_ = std::vector<Inbox>(model_->processors());
  }
  ~LiveAdapter() {
    {
      const Running running;
      observer_.destroy();
    }
    const std::lock_guard lock(mutex_);
    const Rack::Use use(Rack::instance());
    run_all();
    keep_last_run(*model_, Names());
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
    const Running running;
    const std::lock_guard lock(mutex_);
    const Rack::Use use(Rack::instance());
    run_all();
  }
  void refresh() {
    const Running running;
    const std::lock_guard lock(mutex_);
    const Rack::Use use(Rack::instance());
    run_all();
    keep_last_run(*model_, Names());
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
      for (const substrata_transaction& t : std::span(batch, count))
        append(inbox, {records, feed::encode(t, &inbox.phase, records)});
    });
  }
  void observe_compact(const substrata_compact_batch& batch) noexcept {
    take(static_cast<std::uint16_t>(batch.probe), [&](Inbox& inbox) {
      append(inbox, {batch.records, batch.count});
    });
  }
  template <typename Append>
  void take(std::uint16_t probe, const Append& append_to) noexcept {
    try {
      Inbox& inbox = inboxes_[processor_of(probe) % inboxes_.size()];
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
    const Running running;
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
    for (std::uint32_t cpu = 0; cpu < inboxes_.size(); ++cpu) {
      const std::lock_guard lock(inboxes_[cpu].mutex);
      merge_->add(cpu, inboxes_[cpu].records);
    }
  }

  // Thread by processor: the number in the probe point's name.
  std::uint32_t processor_of(std::uint16_t probe) {
    const std::lock_guard lock(probes_mutex_);
    if (by_probe_.size() <= probe) by_probe_.resize(probe + 1U, -1);
    if (by_probe_[probe] >= 0) return static_cast<std::uint32_t>(by_probe_[probe]);
    auto info = client::sized<substrata_probe_info>();
    std::uint32_t number = 0;
    if (substrata_probe_at(probe, &info) == 0) {
      const char* const digits = info.name + std::strlen("mem.cpu");
      std::from_chars(digits, info.name + std::strlen(info.name), number);
    }
    by_probe_[probe] = static_cast<std::int32_t>(number);
    return number;
  }

  std::mutex mutex_;  // of the model and the merge; taken before an inbox's
  std::unique_ptr<Model> model_;
  std::unique_ptr<ThreadMerge> merge_;
  client::feed::Observer observer_;
  std::vector<Inbox> inboxes_;  // one for each processor
  std::mutex probes_mutex_;
  std::vector<std::int32_t> by_probe_;
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

void* follow_live(const substrata_run_options* options, substrata_run_result* result) noexcept {
  const std::uint16_t program = options != nullptr ? options->program : std::uint16_t{0};
  const auto begin = [program](std::string_view text, std::string& error) -> void* {
    Parameters parameters;
    if (!parse_parameters(text, 0, &parameters, error)) return nullptr;
    auto adapter = std::make_unique<LiveAdapter>(parameters, program);
    if (!adapter->begin()) {
      error = substrata_feed_error();
      return nullptr;
    }
    const std::lock_guard lock(current().mutex);
    current().adapter = adapter.get();
    return adapter.release();
  };
  return workloads::follow_registered("numachine", begin, options, result);
}

void unfollow_live(void* following) noexcept {
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
    const Running running;
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
  const Running running;
  substrata_flush();
  current().adapter->refresh();
}

}  // namespace substrata::numachine
