// Queues the accesses of each thread and runs them through the model by its time.
#include "live.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "last_run.hpp"
#include "machine.hpp"

namespace substrata::numachine {
namespace {

// How many accesses of all threads together wait for those of a thread that has none, before it is taken to
// do something else (to wait, or code that is not probed).
constexpr std::size_t kPatience = 32768;

struct Access {
  std::uint64_t address;
  std::uint64_t site;
  std::uint32_t size;
  std::uint16_t kind;
  std::uint16_t phase;
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

// One followed machine. Batches arrive from any thread, one at a time; drain() from any other. Thread-safe.
class Follower {
 public:
  Follower(const Parameters& parameters, std::uint16_t program) {
    const Rack::Use use(Rack::instance());
    model_ = std::make_unique<Model>(parameters, program);
    threads_.resize(model_->processors());
  }
  ~Follower() {
    substrata_observer_destroy(observer_);
    const std::lock_guard lock(mutex_);
    const Rack::Use use(Rack::instance());
    run(0);
    model_->settle(newest_);
    keep_last_run(*model_, name_at);
    model_.reset();
  }
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  bool begin() {
    return substrata_observer_create(observe, this, 0, &observer_) == 0 &&
           substrata_subscribe(observer_, "mem.cpu*.accesses") == 0;
  }

  void drain() {
    const std::lock_guard lock(mutex_);
    const Running running;
    const Rack::Use use(Rack::instance());
    run(0);
    model_->settle(newest_);
  }
  void refresh() {
    const std::lock_guard lock(mutex_);
    const Running running;
    const Rack::Use use(Rack::instance());
    run(0);
    model_->settle(newest_);
    keep_last_run(*model_, name_at);
  }

 private:
  struct Thread {
    std::vector<Access> queue;
    std::size_t next = 0;
    Time now = 0;
    std::uint16_t phase = 0;
    bool seen = false;
    std::size_t waiting() const noexcept { return queue.size() - next; }
  };

  static void observe(void* owner, const substrata_transaction* batch, std::size_t count) {
    try {
      static_cast<Follower*>(owner)->take(batch, count);
    } catch (...) {
      // No memory: the batch is left out.
    }
  }

  void take(const substrata_transaction* batch, std::size_t count) {
    const std::lock_guard lock(mutex_);
    Thread& thread = threads_[processor_of(batch[0].probe) % threads_.size()];
    if (thread.waiting() == 0) {
      thread.queue.clear();
      thread.next = 0;
      // It did something else meanwhile, and time went on for it too.
      Time least = ~Time{0};
      for (const Thread& other : threads_) {
        if (other.waiting() != 0) least = std::min(least, other.now);
      }
      if (least != ~Time{0}) thread.now = std::max(thread.now, least);
    }
    thread.seen = true;
    for (std::size_t i = 0; i < count; ++i) {
      const substrata_transaction& t = batch[i];
      thread.queue.push_back({t.address, t.kind == SUBSTRATA_INSTRUCTIONS ? t.detail : t.site, t.size,
                              t.kind == SUBSTRATA_BRANCH && t.state == SUBSTRATA_MISS
                                  ? std::uint16_t{SUBSTRATA_KIND_OWN}
                                  : t.kind,
                              t.phase});
    }
    waiting_ += count;
    const Running running;
    const Rack::Use use(Rack::instance());
    run(kPatience);
  }

  // Runs threads by their time until one that was seen has nothing left and no more than `patience` waits.
  void run(std::size_t patience) {
    while (waiting_ != 0) {
      Thread* first = nullptr;
      Time horizon = ~Time{0};
      bool one_is_empty = false;
      for (Thread& thread : threads_) {
        if (!thread.seen) continue;
        if (thread.waiting() == 0) {
          one_is_empty = true;
          continue;
        }
        if (first == nullptr || thread.now < first->now) {
          if (first != nullptr) horizon = std::min(horizon, first->now);
          first = &thread;
        } else {
          horizon = std::min(horizon, thread.now);
        }
      }
      if (one_is_empty && waiting_ <= patience) return;
      // A little further than the next, so that threads do not change at every access.
      const Time ahead = horizon > ~Time{0} - model_->window() ? ~Time{0} : horizon + model_->window();
      const std::size_t enough = one_is_empty ? waiting_ - patience : waiting_;
      advance(*first, horizon, ahead, enough);
    }
  }

  void advance(Thread& thread, Time in_order, Time horizon, std::size_t most) {
    Model& model = *model_;
    const auto cpu = static_cast<std::uint32_t>(&thread - threads_.data());
    const std::size_t begin = thread.next;
    const std::size_t end = std::min(thread.queue.size(), begin + most);
    bool moved = false;
    while (thread.next < end && (thread.now <= horizon || !moved)) {
      const Access& access = thread.queue[thread.next];
      if (access.phase != thread.phase) {
        thread.phase = access.phase;
        model.set_phase(cpu, access.phase, thread.now);
      }
      const bool fetch = access.kind == SUBSTRATA_FETCH;
      const bool write = access.kind == SUBSTRATA_WRITE || access.kind == SUBSTRATA_ATOMIC;
      if (access.kind == SUBSTRATA_READ || write || fetch) {
        if (fetch || !model.quick(cpu, access.address, access.size, write, thread.now)) {
          bool done = false;
          while (!done) {
            if (moved && thread.now > in_order) {
              finish(thread, begin);
              return;
            }
            done = model.step(cpu, access.address, access.size, write, fetch, access.site, thread.now);
            moved = true;
          }
        }
      } else if (access.kind == SUBSTRATA_INSTRUCTIONS) {
        model.compute(cpu, access.site, thread.now);
      } else if (access.kind == SUBSTRATA_BRANCH || access.kind == SUBSTRATA_KIND_OWN) {
        model.branch(cpu, access.kind == SUBSTRATA_KIND_OWN, thread.now);
      }
      moved = true;
      ++thread.next;
    }
    finish(thread, begin);
  }
  void finish(Thread& thread, std::size_t begin) {
    waiting_ -= thread.next - begin;
    newest_ = std::max(newest_, thread.now);
    if (thread.next == thread.queue.size()) {
      thread.queue.clear();
      thread.next = 0;
    }
  }

  // Thread by processor: the number in the probe point's name.
  std::uint32_t processor_of(std::uint16_t probe) {
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

  std::mutex mutex_;
  std::unique_ptr<Model> model_;
  substrata_observer* observer_ = nullptr;
  std::vector<Thread> threads_;
  std::vector<std::int32_t> by_probe_;
  std::size_t waiting_ = 0;
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
