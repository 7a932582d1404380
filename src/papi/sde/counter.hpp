// One published event: what stands behind its name now, and how it is read while the program changes its
// mind.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "papi/sde/counting_set.hpp"
#include "papi/sde/recorder.hpp"
#include "papi/sde/tool_interface.h"
#include "sde_lib.h"

namespace substrata::sde {
class Counter;
}

// Where the delta counters that a group is made of stood when counting began.
struct substrata_sde_start {
  struct Stand {
    const substrata::sde::Counter* counter;
    long long value;
    bool floating;
  };
  std::vector<Stand> stands;  // in order of counter

  const Stand* of(const substrata::sde::Counter* counter) const noexcept;
};

namespace substrata::sde {

struct Library;

// From where delta counters count, also as members of a group: from nothing (their plain value), from their
// last reset, or from where they stood at a start.
struct Origin {
  bool last_reset = false;
  const substrata_sde_start* start = nullptr;
};

// What an event publishes. Immutable while it stands behind a name, but for the recorder and the set.
struct Source {
  int event_class = SUBSTRATA_SDE_WAITING;
  int type = PAPI_SDE_long_long;
  int mode = PAPI_SDE_RO | PAPI_SDE_INSTANT;
  void* variable = nullptr;
  papi_sde_fptr_t callback = nullptr;
  void* parameter = nullptr;
  std::shared_ptr<Recorder> recorder;
  int quarter = 0;
  std::unique_ptr<CountingSet> set;
  std::vector<Counter*> members;  // of a group; one may stand more than once
  std::uint32_t group_flags = 0;
  std::unique_ptr<Source> abandoned;  // an earlier one that its own callback took away

  bool floating() const noexcept { return type == PAPI_SDE_double || type == PAPI_SDE_float; }
  bool delta() const noexcept { return (mode & PAPI_SDE_INSTANT) == 0; }
};

// An event's place: made when a name is first registered or asked for, never destroyed, so that a handle or
// number stays good for ever. Thread-safe; source changes are made by one thread at a time (the registry's
// lock).
class Counter {
 public:
  static constexpr std::uint64_t kMark = 0x5344452d434e5452;

  Counter(std::uint32_t id, Library* library, const char* name) : id_(id), library_(library), name_(name) {}

  // Whether a handle that a program gave is one of ours.
  bool marked() const noexcept { return mark_ == kMark; }
  std::uint32_t id() const noexcept { return id_; }
  Library* library() const noexcept { return library_; }
  const char* name() const noexcept { return name_; }
  const char* description() const noexcept {
    const char* text = description_.load(std::memory_order_acquire);
    return text != nullptr ? text : name_;
  }
  void describe(const char* interned) noexcept { description_.store(interned, std::memory_order_release); }

  bool gone() const noexcept { return gone_.load(std::memory_order_acquire); }
  bool live() const noexcept { return source_.load(std::memory_order_acquire) != nullptr; }
  // The source without a pin: only under the registry's lock.
  const Source* source() const noexcept { return source_.load(std::memory_order_acquire); }
  // Puts a source (or none) behind the name and gives the former one, which readers may still be using: hand
  // it to release() after the registry's lock is given back, for a reader may be a callback that waits for
  // that lock.
  Source* replace(std::unique_ptr<Source> source) noexcept;
  Source* retire() noexcept;
  void revive() noexcept { gone_.store(false, std::memory_order_release); }
  // Destroys a former source when nobody reads it any more. A source that this very thread is reading (a
  // callback that takes its own event back) is kept instead.
  void release(Source* former) noexcept;

  // Holds the source in place while it is used. Two atomic operations, no lock, never waits.
  class Pin {
   public:
    explicit Pin(Counter& counter) noexcept;
    ~Pin();
    Pin(const Pin&) = delete;
    Pin& operator=(const Pin&) = delete;
    Source* operator->() const noexcept { return source_; }
    Source& operator*() const noexcept { return *source_; }
    explicit operator bool() const noexcept { return source_ != nullptr; }

   private:
    Counter& counter_;
    Source* source_;
    const Pin* outer_;  // what this thread was reading before
    friend class Counter;
  };

  // SDE_OK and 64 bits (a double's for floating types, an address for recorders and sets), or an error.
  // An event that waits for its program reads -1, as PAPI's. May throw std::bad_alloc.
  int read(long long* value, substrata_sde_nature* nature, const Origin& origin);
  // Adds where this counter, or the members of this group, stand now. May throw std::bad_alloc.
  int add_to(substrata_sde_start* start);
  int write(long long value) noexcept;
  int reset() noexcept;  // the baseline becomes the present value

  // Created counters.
  int add(long long increment) noexcept {
    if (!created_.load(std::memory_order_acquire)) return SDE_EINVAL;
    const long long now =
        value_.fetch_add(increment, std::memory_order_relaxed) + increment;  // wraps, as an atomic does
    if (watched_.load(std::memory_order_relaxed)) report_to_overflow_check(now);
    return SDE_OK;
  }
  int clear() noexcept {
    if (!created_.load(std::memory_order_acquire)) return SDE_EINVAL;
    value_.store(0, std::memory_order_relaxed);
    return SDE_OK;
  }
  void watch() noexcept { watched_.store(true, std::memory_order_relaxed); }
  bool overflow_wanted() const noexcept { return overflow_wanted_.load(std::memory_order_acquire); }
  void want_overflow(bool wanted) noexcept { overflow_wanted_.store(wanted, std::memory_order_release); }

 private:
  int read_number(const Source& source, long long* value) noexcept;
  int read_group(const Source& source, long long* value, const Origin& origin);
  void report_to_overflow_check(long long value) noexcept;

  const std::uint64_t mark_ = kMark;
  const std::uint32_t id_;
  Library* const library_;
  const char* const name_;
  std::atomic<const char*> description_{nullptr};
  std::atomic<bool> gone_{false};
  std::atomic<bool> created_{false};
  std::atomic<bool> watched_{false};
  std::atomic<bool> overflow_wanted_{false};
  std::atomic<Source*> source_{nullptr};
  std::atomic<int> readers_{0};
  std::atomic<Source*> kept_{nullptr};
  std::atomic<long long> value_{0};
  std::atomic<long long> baseline_{0};
};

// The words libpapi lends: found in the process when a tool first arms an overflow, forgotten at its
// shutdown.
void find_tool_words() noexcept;
void forget_tool_words() noexcept;
void ask_tool_for_timer() noexcept;

}  // namespace substrata::sde
