// Queues the accesses of each thread and runs them through the model by its time.
#include "live.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "last_run.hpp"
#include "machine.hpp"

namespace substrata::numachine {
namespace {

// How many records of all threads together wait for those of a thread that has none, before it is taken to
// do something else (to wait, or code that is not probed).
constexpr std::size_t kPatience = 32768;
// How many new records of a thread are worth running the model for.
constexpr std::size_t kWorthIt = 4096;
// How many records a thread may be ahead of the model while another thread runs it.
constexpr std::size_t kBacklog = 16384;

// What the model distinguishes; the first two are most of all, and what the primary cache may serve.
enum class Action : std::uint8_t {
  kRead,
  kWrite,
  kFetch,
  kCompute,  // address: how many instructions
  kBranch,
  kMispredicted,
  kBarrier,  // address: the barrier, size: how many threads meet there
  kPhase,    // address: the phase of what follows
  kNumber    // address: the site of the next access, or which opening of the next barrier
};

struct Record {
  std::uint64_t address;
  std::uint32_t size;
  Action action;

  bool is_access() const noexcept { return action <= Action::kWrite; }
  bool is_write() const noexcept { return action == Action::kWrite; }
};

// Records are written once; a vector of them grows without writing them before.
struct Unwritten : std::allocator<Record> {
  template <typename>
  struct rebind {
    using other = Unwritten;
  };
  void construct(Record* place) const noexcept { ::new (static_cast<void*>(place)) Record; }
  void construct(Record* place, const Record& record) const noexcept {
    ::new (static_cast<void*>(place)) Record(record);
  }
};
using Records = std::vector<Record, Unwritten>;

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

// One followed machine. Batches arrive from any thread, several at once; one of the threads that bring them
// runs the model for all, the others go on until they are too far ahead. Thread-safe.
class Follower {
 public:
  Follower(const Parameters& parameters, std::uint16_t program) {
    const Rack::Use use(Rack::instance());
    model_ = std::make_unique<Model>(parameters, program);
    threads_.resize(model_->processors());
    for (std::uint32_t cpu = 0; cpu < threads_.size(); ++cpu) threads_[cpu].cpu = cpu;
    inboxes_ = std::vector<Inbox>(model_->processors());
  }
  ~Follower() {
    substrata_observer_destroy(observer_);
    const std::lock_guard lock(mutex_);
    const Rack::Use use(Rack::instance());
    run_all();
    keep_last_run(*model_, name_at);
    model_.reset();
  }
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  bool begin() {
    return substrata_observer_create(observe, this, SUBSTRATA_OBSERVER_CONCURRENT, &observer_) == 0 &&
           substrata_subscribe(observer_, "mem.cpu*.accesses") == 0;
  }

  void drain() {
    const std::lock_guard lock(mutex_);
    const Running running;
    const Rack::Use use(Rack::instance());
    run_all();
  }
  void refresh() {
    const std::lock_guard lock(mutex_);
    const Running running;
    const Rack::Use use(Rack::instance());
    run_all();
    keep_last_run(*model_, name_at);
  }

 private:
  // What a thread did that the model has not taken yet.
  struct Inbox {
    std::mutex mutex;
    Records records;
    std::uint16_t phase = 0;  // at their end
  };
  // One opening of a barrier.
  struct Opening {
    std::uint32_t arrived = 0;
    std::uint32_t left = 0;
    bool is_open = false;
    Time latest = 0;  // of those who arrived
  };
  struct Thread {
    std::uint32_t cpu = 0;
    const Record* at = nullptr;  // in `now_running`
    const Record* end = nullptr;
    Time now = 0;
    std::uint64_t number = 0;     // site of the next access, or which opening of the next barrier
    Opening* waits_at = nullptr;  // its next record is that barrier
    Records now_running;
    std::deque<Records> later;
    bool is_empty() const noexcept { return at == end; }
  };

  static void observe(void* owner, const substrata_transaction* batch, std::size_t count) {
    try {
      static_cast<Follower*>(owner)->take(batch, count);
    } catch (...) {
      // No memory: the batch is left out.
    }
  }

  void take(const substrata_transaction* batch, std::size_t count) {
    Inbox& inbox = inboxes_[processor_of(batch[0].probe) % inboxes_.size()];
    std::size_t ahead = 0;
    {
      const std::lock_guard lock(inbox.mutex);
      append(inbox, batch, count);
      ahead = inbox.records.size();
    }
    if (ahead < kWorthIt) return;
    std::unique_lock lock(mutex_, std::defer_lock);
    if (ahead >= kBacklog) {
      lock.lock();
    } else if (!lock.try_lock()) {
      return;
    }
    const Running running;
    const Rack::Use use(Rack::instance());
    collect();
    run(kPatience);
  }

  static void append(Inbox& inbox, const substrata_transaction* batch, std::size_t count) {
    Records& out = inbox.records;
    for (const substrata_transaction* t = batch; t != batch + count; ++t) {
      const std::size_t begin = out.size();
      const auto left = static_cast<std::size_t>(batch + count - t);
      // Most are plain accesses in a row: their room is made once.
      out.resize(begin + left);
      Record* next = out.data() + begin;
      const Record* const first = next;
      for (; t != batch + count; ++t, ++next) {
        const bool write = t->kind == SUBSTRATA_WRITE;
        if ((!write && t->kind != SUBSTRATA_READ) || t->site != 0 || t->phase != inbox.phase) break;
        *next = {t->address, t->size, write ? Action::kWrite : Action::kRead};
      }
      out.resize(begin + static_cast<std::size_t>(next - first));
      if (t == batch + count) return;
      append_any(inbox, *t);
    }
  }
  static void append_any(Inbox& inbox, const substrata_transaction& t) {
    Records& out = inbox.records;
    if (t.phase != inbox.phase) {
      inbox.phase = t.phase;
      out.push_back({t.phase, 0, Action::kPhase});
    }
    if (t.kind == SUBSTRATA_READ || t.kind == SUBSTRATA_WRITE || t.kind == SUBSTRATA_ATOMIC ||
        t.kind == SUBSTRATA_FETCH) {
      if (t.site != 0) out.push_back({t.site, 0, Action::kNumber});
      out.push_back({t.address, t.size,
                     t.kind == SUBSTRATA_READ    ? Action::kRead
                     : t.kind == SUBSTRATA_FETCH ? Action::kFetch
                                                 : Action::kWrite});
    } else if (t.kind == SUBSTRATA_INSTRUCTIONS) {
      out.push_back({t.detail, 0, Action::kCompute});
    } else if (t.kind == SUBSTRATA_BRANCH) {
      out.push_back({0, 0, t.state == SUBSTRATA_MISS ? Action::kMispredicted : Action::kBranch});
    } else if (t.kind == SUBSTRATA_BARRIER && t.size > 1) {
      out.push_back({t.detail, 0, Action::kNumber});
      out.push_back({t.address, t.size, Action::kBarrier});
    }
  }

  // Everything that has come in so far.
  void run_all() {
    collect();
    run(0);
    model_->settle(newest_);
  }

  void collect() {
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      Thread& thread = threads_[i];
      const std::lock_guard lock(inboxes_[i].mutex);
      Records& incoming = inboxes_[i].records;
      if (incoming.empty()) continue;
      waiting_ += incoming.size();
      if (std::find(seen_.begin(), seen_.end(), &thread) == seen_.end()) seen_.push_back(&thread);
      if (thread.is_empty()) {
        // It did something else meanwhile, and time went on for it too.
        Time least = ~Time{0};
        for (const Thread* other : seen_) {
          if (!other->is_empty()) least = std::min(least, other->now);
        }
        if (least != ~Time{0}) thread.now = std::max(thread.now, least);
      }
      thread.later.push_back(std::move(incoming));
      incoming.clear();
      if (!spare_.empty()) {
        incoming.swap(spare_.back());
        spare_.pop_back();
      }
      if (thread.is_empty()) go_on(thread);
    }
  }

  // What it did later becomes what is run now.
  void go_on(Thread& thread) {
    if (thread.now_running.capacity() != 0) {
      thread.now_running.clear();
      spare_.push_back(std::move(thread.now_running));
      thread.now_running = {};
    }
    if (!thread.later.empty()) {
      thread.now_running = std::move(thread.later.front());
      thread.later.pop_front();
    }
    thread.at = thread.now_running.data();
    thread.end = thread.at + thread.now_running.size();
  }

  // Runs threads by their time until one that was seen has nothing left and no more than `patience` waits.
  // Those at a barrier wait there for the others.
  void run(std::size_t patience) {
    while (waiting_ != 0) {
      Thread* first = nullptr;
      const Thread* second = nullptr;
      Time horizon = ~Time{0};
      bool one_is_empty = false;
      for (Thread* const thread : seen_) {
        if (thread->is_empty()) {
          one_is_empty = true;
        } else if (thread->waits_at != nullptr && !thread->waits_at->is_open) {
          continue;
        } else if (first == nullptr || thread->now < first->now) {
          if (first != nullptr) horizon = first->now;
          second = first;
          first = thread;
        } else if (second == nullptr || thread->now < second->now) {
          horizon = thread->now;
          second = thread;
        }
      }
      if (one_is_empty && waiting_ <= patience) return;
      if (first == nullptr) {
        // All wait. Who did something after a barrier passed it, so those who are missing there were not
        // heard of yet.
        if (waiting_ <= patience || !open_one_that_was_passed()) return;
        continue;
      }
      // A little further than the next, so that threads do not change at every access.
      const Time ahead = horizon > ~Time{0} - model_->window() ? ~Time{0} : horizon + model_->window();
      const std::size_t enough = one_is_empty ? waiting_ - patience : waiting_;
      const Record* const begin = first->at;
      if (second != nullptr) fetch_soon(*second);
      advance(*first, horizon, ahead, enough);
      waiting_ -= static_cast<std::size_t>(first->at - begin);
      newest_ = std::max(newest_, first->now);
      if (first->is_empty()) go_on(*first);
    }
  }

  // What a thread's next turn will look at.
  static void fetch_soon(const Thread& thread) noexcept {
    constexpr std::ptrdiff_t kTurn = 32;
    constexpr std::ptrdiff_t kLine = 64 / sizeof(Record);
    const Record* const end = thread.at + std::min<std::ptrdiff_t>(kTurn, thread.end - thread.at);
    for (const Record* record = thread.at; record < end; record += kLine) __builtin_prefetch(record);
  }

  // Runs a thread up to `horizon` where its caches serve it, and its misses up to `in_order`, but one step at
  // least and `most` records at most.
  void advance(Thread& thread, Time in_order, Time horizon, std::size_t most) {
    Model& model = *model_;
    const std::uint32_t cpu = thread.cpu;
    const auto left = static_cast<std::size_t>(thread.end - thread.at);
    const Record* const end = thread.at + std::min(left, most);
    bool moved = false;
    while (thread.at != end && (thread.now <= horizon || !moved)) {
      const Record& record = *thread.at;
      switch (record.action) {
        case Action::kRead:
        case Action::kWrite: {
          const Record* const served = model.serve_by_caches(cpu, thread.at, end, horizon, thread.now);
          if (served != thread.at) {
            thread.at = served;
            thread.number = 0;
            moved = true;
            continue;
          }
          if (!step(thread, record, in_order, moved)) return;
          break;
        }
        case Action::kFetch:
          if (!step(thread, record, in_order, moved)) return;
          break;
        case Action::kCompute:
          model.compute(cpu, record.address, thread.now);
          break;
        case Action::kBranch:
        case Action::kMispredicted:
          model.branch(cpu, record.action == Action::kMispredicted, thread.now);
          break;
        case Action::kPhase:
          model.set_phase(cpu, static_cast<std::uint16_t>(record.address), thread.now);
          break;
        case Action::kNumber:
          thread.number = record.address;
          break;
        case Action::kBarrier:
          if (!pass(thread, record)) return;
          break;
      }
      moved = true;
      ++thread.at;
    }
  }
  // A thread leaves a barrier when all have come to it, a trip after the last. False: not yet.
  bool pass(Thread& thread, const Record& record) {
    const auto key = std::pair(record.address, thread.number);
    Opening& opening = openings_[key];
    if (thread.waits_at == nullptr) {
      thread.waits_at = &opening;
      ++opening.arrived;
      if (!opening.is_open) opening.latest = std::max(opening.latest, thread.now);
      if (opening.arrived >= record.size) opening.is_open = true;
    }
    if (!opening.is_open) return false;
    thread.waits_at = nullptr;
    thread.number = 0;
    thread.now = std::max(thread.now, opening.latest + kSynchronisationCycles * model_->parameters().bus_ps);
    if (++opening.left >= record.size) openings_.erase(key);
    return true;
  }
  bool open_one_that_was_passed() noexcept {
    for (Thread* const thread : seen_) {
      if (thread->waits_at == nullptr || thread->waits_at->is_open) continue;
      if (thread->at + 1 == thread->end && thread->later.empty()) continue;
      thread->waits_at->is_open = true;
      return true;
    }
    return false;
  }
  // The steps of one access. False: it goes on when others have come as far.
  bool step(Thread& thread, const Record& record, Time in_order, bool& moved) {
    bool done = false;
    while (!done) {
      if (moved && thread.now > in_order) {
        model_->expect(thread.cpu, record.address);
        return false;
      }
      done = model_->step(thread.cpu, record.address, record.size, record.is_write(),
                          record.action == Action::kFetch, thread.number, thread.now);
      moved = true;
    }
    thread.number = 0;
    return true;
  }

  // Thread by processor: the number in the probe point's name.
  std::uint32_t processor_of(std::uint16_t probe) {
    const std::lock_guard lock(probes_mutex_);
    if (by_probe_.size() <= probe) by_probe_.resize(probe + 1U, -1);
    if (by_probe_[probe] >= 0) return static_cast<std::uint32_t>(by_probe_[probe]);
    substrata_probe_info info{};
    info.struct_size = sizeof info;
    std::uint32_t number = 0;
    if (substrata_probe_at(probe, &info) == 0) {
      const char* const digits = info.name + std::strlen("mem.cpu");
      std::from_chars(digits, info.name + std::strlen(info.name), number);
    }
    by_probe_[probe] = static_cast<std::int32_t>(number);
    return number;
  }

  // The memory probe's runtime knows variables and heap objects; it is there when the program was built with
  // it.
  static std::string name_at(std::uint64_t address) {
    using Lookup = int (*)(std::uintptr_t, char*, std::size_t);
    static const auto lookup = reinterpret_cast<Lookup>(dlsym(RTLD_DEFAULT, "substrata_memory_name_at"));
    char name[128] = "";
    if (lookup == nullptr || lookup(static_cast<std::uintptr_t>(address), name, sizeof name) != 0) return {};
    return name;
  }

  std::mutex mutex_;  // of the model and the threads' queues; taken before an inbox's
  std::unique_ptr<Model> model_;
  substrata_observer* observer_ = nullptr;
  std::vector<Thread> threads_;
  std::vector<Thread*> seen_;   // those that did something
  std::vector<Records> spare_;  // their room is used again
  std::vector<Inbox> inboxes_;  // one for each thread
  std::mutex probes_mutex_;
  std::vector<std::int32_t> by_probe_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Opening> openings_;  // by barrier and number
  std::size_t waiting_ = 0;                                              // records
  Time newest_ = 0;
};

struct Current {
  std::mutex mutex;
  Follower* follower = nullptr;
};
Current& current() {
  static Current* const all = new Current;
  return *all;
}

void tell(substrata_run_result* result, const char* sentence) noexcept {
  if (result != nullptr) std::snprintf(result->message, sizeof result->message, "numachine: %s", sentence);
}

}  // namespace

void* follow_live(const substrata_run_options* options, substrata_run_result* result) noexcept {
  try {
    Parameters parameters;
    std::string error;
    const char* text = options != nullptr && options->parameters != nullptr ? options->parameters : "";
    if (!parse_parameters(text, 0, &parameters, error)) {
      tell(result, error.c_str());
      return nullptr;
    }
    auto follower =
        std::make_unique<Follower>(parameters, options != nullptr ? options->program : std::uint16_t{0});
    if (!follower->begin()) {
      tell(result, substrata_feed_error());
      return nullptr;
    }
    const std::lock_guard lock(current().mutex);
    current().follower = follower.get();
    return follower.release();
  } catch (const std::exception& refused) {
    tell(result, refused.what());
    return nullptr;
  } catch (...) {
    tell(result, "an unexpected failure");
    return nullptr;
  }
}

void unfollow_live(void* following) noexcept {
  auto* const follower = static_cast<Follower*>(following);
  {
    const std::lock_guard lock(current().mutex);
    if (current().follower == follower) current().follower = nullptr;
  }
  try {
    delete follower;
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
    if (!lock.owns_lock() || current().follower == nullptr) return;
    const Running running;
    substrata_flush();
    current().follower->drain();
  } catch (...) {
    // No memory: what waits is run with the next batch.
  }
}

void refresh_live_findings() {
  if (running_here) return;
  const std::unique_lock lock(current().mutex, std::try_to_lock);
  if (!lock.owns_lock() || current().follower == nullptr) return;
  const Running running;
  substrata_flush();
  current().follower->refresh();
}

}  // namespace substrata::numachine
