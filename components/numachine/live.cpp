// Queues the accesses of each thread and runs them through the model by its time.
#include "live.hpp"

#include <substrata/result.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <bit>
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

#include "access_tracer/records.h"
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

// As access_tracer/records.h has them.
class Record {
 public:
  Record() = default;
  explicit constexpr Record(std::uint64_t word) noexcept : word_(word) {}

  unsigned what() const noexcept { return static_cast<unsigned>(word_ & 0xffU); }
  std::uint64_t address() const noexcept { return word_ >> 16; }
  unsigned size() const noexcept { return static_cast<unsigned>(word_ >> 8 & 0xffU) + 1; }
  // A read or write within one line of any cache.
  bool is_plain() const noexcept { return (word_ & 0xfeU) == 0; }
  bool is_write() const noexcept { return (word_ & 1U) != 0; }

 private:
  std::uint64_t word_;
};
static_assert(sizeof(Record) == sizeof(std::uint64_t));

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

// An access that is not a plain record.
struct Access {
  std::uint64_t address;
  std::uint32_t size;
  bool write;
};

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
    {
      const Running running;
      if (probe_ != nullptr) probe_->set_sink(nullptr);
    }
    substrata_observer_destroy(observer_);
    const std::lock_guard lock(mutex_);
    const Rack::Use use(Rack::instance());
    run_all();
    keep_last_run(*model_, Names());
    model_.reset();
  }
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // From the memory probe itself where this program was built with it, else from the feed.
  bool begin() {
    const substrata_access_sink sink{.owner = this, .take = take_records};
    if (const Probe* const probe = Probe::here(); probe != nullptr && probe->set_sink(&sink) == 0) {
      probe_ = probe;
      return true;
    }
    return substrata_observer_create(observe, this, SUBSTRATA_OBSERVER_CONCURRENT, &observer_) == 0 &&
           substrata_subscribe(observer_, "mem.cpu*.accesses") == 0;
  }

  void drain() {
    const Running running;
    if (probe_ != nullptr) probe_->hand_over();
    const std::lock_guard lock(mutex_);
    const Rack::Use use(Rack::instance());
    run_all();
  }
  void refresh() {
    const Running running;
    if (probe_ != nullptr) probe_->hand_over();
    const std::lock_guard lock(mutex_);
    const Rack::Use use(Rack::instance());
    run_all();
    keep_last_run(*model_, Names());
  }

 private:
  // The memory probe's runtime, which a program has that was built with it.
  struct Probe {
    int (*set_sink)(const substrata_access_sink*);
    void (*hand_over)();
    int (*name_at)(std::uintptr_t, char*, std::size_t, std::uintptr_t*, std::uintptr_t*);

    static const Probe* here() noexcept {
      static const Probe found{
          reinterpret_cast<decltype(set_sink)>(dlsym(RTLD_DEFAULT, "substrata_memory_set_sink")),
          reinterpret_cast<decltype(hand_over)>(dlsym(RTLD_DEFAULT, "substrata_memory_hand_over")),
          reinterpret_cast<decltype(name_at)>(dlsym(RTLD_DEFAULT, "substrata_memory_name_at"))};
      return found.set_sink != nullptr && found.hand_over != nullptr && found.name_at != nullptr ? &found
                                                                                                 : nullptr;
    }
  };
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
    std::size_t seen = 0;        // how many were seen before it
    const Record* at = nullptr;  // in `now_running`
    const Record* end = nullptr;
    Time now = 0;
    // Of the next record, where one before it says so.
    std::uint64_t number = 0;     // site of an access, or which opening of a barrier
    std::uint64_t size = 0;       // 0: its own
    std::uint64_t upper = 0;      // bits of its address or number, in their place
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
      for (const substrata_transaction* t = batch; t != batch + count; ++t) append(inbox, *t);
      ahead = inbox.records.size();
    }
    go_on(ahead);
  }
  static void take_records(void* owner, std::uint32_t thread, const std::uint64_t* words, std::size_t count) {
    try {
      auto& follower = *static_cast<Follower*>(owner);
      Inbox& inbox = follower.inboxes_[thread % follower.inboxes_.size()];
      std::size_t ahead = 0;
      {
        const std::lock_guard lock(inbox.mutex);
        const std::size_t before = inbox.records.size();
        inbox.records.resize(before + count);
        std::memcpy(static_cast<void*>(inbox.records.data() + before), words, count * sizeof *words);
        ahead = inbox.records.size();
      }
      follower.go_on(ahead);
    } catch (...) {
      // No memory: they are left out.
    }
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
    run(kPatience);
  }

  static void append(Inbox& inbox, const substrata_transaction& t) {
    Records& out = inbox.records;
    const auto put = [&out](unsigned what, std::uint64_t number, unsigned size = 1) {
      if (number >> 48 != 0) out.push_back(Record(substrata_record(SUBSTRATA_RECORD_UPPER, 1, number >> 48)));
      out.push_back(Record(substrata_record(what, size, number)));
    };
    if (t.phase != inbox.phase) {
      inbox.phase = t.phase;
      put(SUBSTRATA_RECORD_PHASE, t.phase);
    }
    if (t.kind == SUBSTRATA_READ || t.kind == SUBSTRATA_WRITE || t.kind == SUBSTRATA_ATOMIC ||
        t.kind == SUBSTRATA_FETCH) {
      if (t.site != 0) put(SUBSTRATA_RECORD_NUMBER, t.site);
      if (t.size - 1U > 0xffU) put(SUBSTRATA_RECORD_SIZE, t.size);
      const bool plain =
          std::has_single_bit(t.size) && t.size <= 16 && substrata_record_is_plain(t.address, t.size);
      unsigned what = plain ? SUBSTRATA_RECORD_WRITE : SUBSTRATA_RECORD_ANY_WRITE;
      if (t.kind == SUBSTRATA_READ) what = plain ? SUBSTRATA_RECORD_READ : SUBSTRATA_RECORD_ANY_READ;
      if (t.kind == SUBSTRATA_FETCH) what = SUBSTRATA_RECORD_FETCH;
      put(what, t.address, t.size);
    } else if (t.kind == SUBSTRATA_INSTRUCTIONS) {
      put(SUBSTRATA_RECORD_COMPUTE, t.detail);
    } else if (t.kind == SUBSTRATA_BRANCH) {
      put(t.state == SUBSTRATA_MISS ? SUBSTRATA_RECORD_MISPREDICTED : SUBSTRATA_RECORD_BRANCH, 0);
    } else if (t.kind == SUBSTRATA_BARRIER && t.size > 1) {
      put(SUBSTRATA_RECORD_NUMBER, t.detail);
      put(SUBSTRATA_RECORD_SIZE, t.size);
      put(SUBSTRATA_RECORD_BARRIER, t.address);
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
      if (std::find(seen_.begin(), seen_.end(), &thread) == seen_.end()) {
        thread.seen = seen_.size();
        seen_.push_back(&thread);
      }
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
    bool one_is_empty = false;
    reorder_ = true;
    while (waiting_ != 0) {
      if (reorder_) one_is_empty = order_threads();
      if (one_is_empty && waiting_ <= patience) return;
      if (order_.empty()) {
        // All wait. Who did something after a barrier passed it, so those who are missing there were not
        // heard of yet.
        if (waiting_ <= patience || !open_one_that_was_passed()) return;
        reorder_ = true;
        continue;
      }
      Thread& first = *order_.front();
      const Time horizon = order_.size() > 1 ? order_[1]->now : ~Time{0};
      // A little further than the next, so that threads do not change at every access.
      const Time ahead = horizon > ~Time{0} - model_->window() ? ~Time{0} : horizon + model_->window();
      const std::size_t enough = one_is_empty ? waiting_ - patience : waiting_;
      const Record* const begin = first.at;
      if (order_.size() > 1) fetch_soon(*order_[1]);
      advance(first, horizon, ahead, enough);
      waiting_ -= static_cast<std::size_t>(first.at - begin);
      newest_ = std::max(newest_, first.now);
      if (first.is_empty()) {
        go_on(first);
        if (first.is_empty()) reorder_ = true;
      }
      if (!reorder_) put_in_order();
    }
  }
  // Who can go on, by their time. True: one that was seen has nothing left.
  bool order_threads() {
    reorder_ = false;
    bool one_is_empty = false;
    order_.clear();
    for (Thread* const thread : seen_) {
      if (thread->is_empty()) {
        one_is_empty = true;
      } else if (thread->waits_at == nullptr || thread->waits_at->is_open) {
        order_.push_back(thread);
      }
    }
    std::sort(order_.begin(), order_.end(),
              [](const Thread* a, const Thread* b) { return is_before(*a, *b); });
    return one_is_empty;
  }
  // The first has gone on; the others are in order.
  void put_in_order() noexcept {
    Thread* const moved = order_.front();
    std::size_t place = 0;
    for (; place + 1 < order_.size() && is_before(*order_[place + 1], *moved); ++place)
      order_[place] = order_[place + 1];
    order_[place] = moved;
  }
  static bool is_before(const Thread& a, const Thread& b) noexcept {
    return a.now != b.now ? a.now < b.now : a.seen < b.seen;
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
      Record record = *thread.at;
      if (record.is_plain()) {
        if (!model.is_requesting(cpu)) {
          const Record* const served = model.serve_by_caches(cpu, thread.at, end, horizon, thread.now);
          if (served != thread.at) {
            thread.at = served;
            thread.number = 0;
            moved = true;
            if (served == end || thread.now > horizon || !served->is_plain()) continue;
            record = *served;
          }
        }
        if (!step(thread, {record.address(), record.size(), record.is_write()}, false, in_order, moved))
          return;
      } else if (!do_other(thread, record, in_order, moved)) {
        return;
      }
      moved = true;
      ++thread.at;
    }
  }
  // A record that is not a plain access. False: it goes on when others have come as far.
  bool do_other(Thread& thread, Record record, Time in_order, bool& moved) {
    Model& model = *model_;
    const std::uint64_t number = record.address() | thread.upper;
    switch (record.what()) {
      case SUBSTRATA_RECORD_ANY_READ:
      case SUBSTRATA_RECORD_ANY_WRITE:
      case SUBSTRATA_RECORD_FETCH: {
        const Access access{number,
                            thread.size != 0 ? static_cast<std::uint32_t>(thread.size) : record.size(),
                            record.what() == SUBSTRATA_RECORD_ANY_WRITE};
        const bool fetch = record.what() == SUBSTRATA_RECORD_FETCH;
        if ((fetch ||
             !model.serve_by_caches(thread.cpu, access.address, access.size, access.write, thread.now)) &&
            !step(thread, access, fetch, in_order, moved))
          return false;
        thread.number = 0;
        break;
      }
      case SUBSTRATA_RECORD_COMPUTE:
        model.compute(thread.cpu, number, thread.now);
        break;
      case SUBSTRATA_RECORD_BRANCH:
      case SUBSTRATA_RECORD_MISPREDICTED:
        model.branch(thread.cpu, record.what() == SUBSTRATA_RECORD_MISPREDICTED, thread.now);
        break;
      case SUBSTRATA_RECORD_PHASE:
        model.set_phase(thread.cpu, static_cast<std::uint16_t>(number), thread.now);
        break;
      case SUBSTRATA_RECORD_BARRIER:
        if (!pass(thread, number)) return false;
        break;
      case SUBSTRATA_RECORD_NUMBER:
        thread.number = number;
        break;
      case SUBSTRATA_RECORD_SIZE:
        thread.size = number;
        thread.upper = 0;
        return true;
      case SUBSTRATA_RECORD_UPPER:
        thread.upper = record.address() << 48;
        return true;
    }
    thread.size = thread.upper = 0;
    return true;
  }
  // A thread leaves a barrier when all have come to it, a trip after the last. False: not yet.
  bool pass(Thread& thread, std::uint64_t barrier) {
    reorder_ = true;
    const auto key = std::pair(barrier, thread.number);
    Opening& opening = openings_[key];
    if (thread.waits_at == nullptr) {
      thread.waits_at = &opening;
      ++opening.arrived;
      if (!opening.is_open) opening.latest = std::max(opening.latest, thread.now);
      if (opening.arrived >= thread.size) opening.is_open = true;
    }
    if (!opening.is_open) return false;
    thread.waits_at = nullptr;
    thread.number = 0;
    thread.now = std::max(thread.now, opening.latest + kSynchronisationCycles * model_->parameters().bus_ps);
    if (++opening.left >= thread.size) openings_.erase(key);
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
  bool step(Thread& thread, const Access& access, bool fetch, Time in_order, bool& moved) {
    bool done = false;
    while (!done) {
      if (moved && thread.now > in_order) {
        model_->expect(thread.cpu, access.address);
        return false;
      }
      done = model_->step(thread.cpu, access.address, access.size, access.write, fetch, thread.number,
                          thread.now);
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
    auto info = client::sized<substrata_probe_info>();
    std::uint32_t number = 0;
    if (substrata_probe_at(probe, &info) == 0) {
      const char* const digits = info.name + std::strlen("mem.cpu");
      std::from_chars(digits, info.name + std::strlen(info.name), number);
    }
    by_probe_[probe] = static_cast<std::int32_t>(number);
    return number;
  }

  // The memory probe's runtime knows variables and heap objects. It is asked once for each, as long as one
  // report takes.
  class Names {
   public:
    std::string operator()(std::uint64_t address) {
      const Probe* const probe = Probe::here();
      if (probe == nullptr) return {};
      if (auto next = known_.upper_bound(address); next != known_.begin()) {
        const auto& [low, place] = *--next;
        if (address - low < place.length) return place.name;
      }
      char name[128] = "";
      std::uintptr_t low = 0;
      std::uintptr_t length = 0;
      if (probe->name_at(address, name, sizeof name, &low, &length) != 0) return {};
      known_[low] = {length, name};
      return name;
    }

   private:
    struct Place {
      std::uint64_t length;
      std::string name;
    };
    std::map<std::uint64_t, Place> known_;
  };

  std::mutex mutex_;  // of the model and the threads' queues; taken before an inbox's
  std::unique_ptr<Model> model_;
  substrata_observer* observer_ = nullptr;
  const Probe* probe_ = nullptr;  // whose records are taken
  std::vector<Thread> threads_;
  std::vector<Thread*> seen_;   // those that did something
  std::vector<Thread*> order_;  // of them those that can go on, by their time
  bool reorder_ = true;         // the set of those that can go on has changed
  std::vector<Records> spare_;  // their memory is reused
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

void set_message(substrata_run_result* result, const char* text) noexcept {
  if (result != nullptr) std::snprintf(result->message, sizeof result->message, "numachine: %s", text);
}

}  // namespace

void* follow_live(const substrata_run_options* options, substrata_run_result* result) noexcept {
  try {
    Parameters parameters;
    std::string error;
    const char* text = options != nullptr && options->parameters != nullptr ? options->parameters : "";
    if (!parse_parameters(text, 0, &parameters, error)) {
      set_message(result, error.c_str());
      return nullptr;
    }
    auto follower =
        std::make_unique<Follower>(parameters, options != nullptr ? options->program : std::uint16_t{0});
    if (!follower->begin()) {
      set_message(result, substrata_feed_error());
      return nullptr;
    }
    const std::lock_guard lock(current().mutex);
    current().follower = follower.get();
    return follower.release();
  } catch (const std::exception& refused) {
    set_message(result, refused.what());
    return nullptr;
  } catch (...) {
    set_message(result, "an unexpected failure");
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
