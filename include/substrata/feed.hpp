// The C++ interface of the feed (substrata/feed.h): what publishes, observes, records, reads and replays
// transactions, each an object that ends what it began. Header-only over the C functions; struct_size is
// filled in here.
//
//   namespace feed = substrata::client::feed;
//   const feed::Source thermometers = feed::Source::simulated("lab", "thermometers of the laboratory");
//   feed::Publisher out = thermometers.publisher("lab.cellar", "readings; initiator: the device").value();
//   feed::Observer in =
//       feed::Observer::create([](const substrata_transaction* batch, size_t count) { ... }).value();
//   in.subscribe("lab.*").value();
//   substrata_transaction reading{};
//   reading.time = now;
//   reading.detail = millidegrees;
//   reading.kind = SUBSTRATA_SAMPLE;
//   out.publish(reading);
//   feed::flush();
//
// ERRORS: what may be refused gives a Result (substrata/result.hpp): ask it, or call value(), which throws
// Failure. Error::code is the feed's number (-1 invalid argument, -2 no memory, -3 the operating system
// refused, -7 no such name, -8 already there, -18 not supported), Error::sentence says what was asked, what
// refused it and what to do. Functions that begin with try_ are for callers that must not throw, as inside
// the library and behind a C interface: they are noexcept and give that number, 0 for success, and
// substrata_feed_error() has the message. A refused call has no effect.
//
// UNITS: a transaction's time and start are ticks of its probe point's source (ticks_per_second); sizes are
// bytes; slots are transactions.
#ifndef SUBSTRATA_FEED_HPP
#define SUBSTRATA_FEED_HPP

#include <substrata/compact.h>
#include <substrata/feed.h>
#include <substrata/result.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace substrata::client::feed {

// The calling thread's last refusal. Thread-safe.
inline Error refusal(int code) { return {code, substrata_feed_error()}; }

// Throws Failure for a number that is not 0. Thread-safe.
inline void demand(int code) {
  if (code != 0) throw Failure(refusal(code));
}

namespace detail {

inline Result<void> result(int code) {
  if (code != 0) return refusal(code);
  return {};
}

template <auto end>
struct End {
  template <class T>
  void operator()(T* handle) const noexcept {
    end(handle);
  }
};

// Owns what a C function `open(..., T** out)` gives and `end` takes back.
template <class T, auto end>
using Owned = std::unique_ptr<T, End<end>>;

template <class T, auto end, class Open>
int open(Owned<T, end>* out, const Open& call) noexcept {
  T* made = nullptr;
  const int refused = call(&made);
  if (refused == 0) out->reset(made);
  return refused;
}

}  // namespace detail

// Runs what waits in the rings through the observers. Thread-safe.
inline void flush() noexcept { substrata_flush(); }

// One thread's ring at one probe point; closing delivers what it holds. Empty when default-constructed or
// moved from: then only get(), open() and the conversion to bool may be used. Thread-compatible: one thread
// at a time.
class Publisher {
 public:
  Publisher() noexcept = default;

  // slots: of the ring, rounded up to a power of two; 0: 512.
  static Result<Publisher> open(std::uint32_t probe, std::uint32_t slots = 0) {
    Publisher made;
    if (const int refused = made.try_open(probe, slots)) return refusal(refused);
    return made;
  }
  // Closes what it had, when the new one is there.
  int try_open(std::uint32_t probe, std::uint32_t slots = 0) noexcept {
    return detail::open(
        &held_, [&](substrata_publisher** out) { return substrata_publisher_open(probe, slots, out); });
  }
  // Of compact records (compact.h), for put() alone; the cursor must outlive it.
  int try_open_compact(std::uint32_t probe, std::uint32_t initiator, substrata_compact_cursor* cursor,
                       std::uint32_t records = 0) noexcept {
    return detail::open(&held_, [&](substrata_publisher** out) {
      return substrata_compact_open(probe, SUBSTRATA_COMPACT_ACCESSES, initiator, records, cursor, out);
    });
  }
  void put(const substrata_transaction& transaction) const noexcept {
    substrata_compact_put(held_.get(), &transaction);
  }
  // Runs what it holds through the observers.
  void deliver() const noexcept { substrata_publisher_deliver(held_.get()); }
  // It is closed by nobody any more.
  void release() noexcept { (void)held_.release(); }
  void close() noexcept { held_.reset(); }

  explicit operator bool() const noexcept { return held_ != nullptr; }
  substrata_publisher* get() const noexcept { return held_.get(); }
  std::uint32_t probe() const noexcept { return held_->probe; }
  // Committed so far.
  std::uint64_t published() const noexcept { return held_->head; }

  // Does anyone observe it? Publishing costs one predictable branch when not.
  bool observed() const noexcept { return substrata_observed(held_.get()) != 0; }
  // The next slot, to be filled in whole and committed; null when nobody observes.
  substrata_transaction* reserve() const noexcept { return substrata_reserve(held_.get()); }
  void commit() const noexcept { substrata_commit(held_.get()); }
  void publish(const substrata_transaction& transaction) const noexcept {
    substrata_publish(held_.get(), &transaction);
  }
  // One batch without copying; every probe field must be probe(). It must stay until this returns.
  void publish_all(std::span<const substrata_transaction> batch) const noexcept {
    substrata_publish_all(held_.get(), batch.data(), batch.size());
  }

 private:
  detail::Owned<substrata_publisher, substrata_publisher_close> held_;
};

// What makes transactions, as data: adding it or a probe point of it registers it, again without
// harm. The strings are copied then. Thread-compatible; adding is Thread-safe.
struct Source {
  const char* name;          // [a-z0-9_-]+
  const char* summary = "";  // what it is
  substrata_source_kind kind = SUBSTRATA_SOURCE_LIVE;
  substrata_time_base time_base = SUBSTRATA_TIME_REAL;
  std::uint64_t ticks_per_second = 1'000'000'000;
  const char* why_not = nullptr;  // not available here: reason and cure

  // A machine model whose time is in picoseconds.
  static constexpr Source simulated(const char* name, const char* summary) noexcept {
    return {name, summary, SUBSTRATA_SOURCE_MACHINE, SUBSTRATA_TIME_SIMULATED, 1'000'000'000'000};
  }
  // Generated transactions, numbered instead of stamped.
  static constexpr Source generated(const char* name, const char* summary = "") noexcept {
    return {name, summary, SUBSTRATA_SOURCE_TEST, SUBSTRATA_TIME_NONE, 0};
  }

  Result<void> add() const { return detail::result(try_add()); }
  int try_add() const noexcept {
    auto info = sized<substrata_source_info>();
    info.kind = kind;
    info.name = name;
    info.summary = summary;
    info.why_not = why_not;
    info.time_base = time_base;
    info.ticks_per_second = ticks_per_second;
    return substrata_source_add(&info);
  }

  // Finds or adds a probe point of this source and gives its number. `text`: what passes there, what
  // initiator and target are.
  Result<std::uint32_t> probe(const char* point, const char* text = "") const {
    std::uint32_t number = 0;
    if (const int refused = try_probe(point, text, &number)) return refusal(refused);
    return number;
  }
  int try_probe(const char* point, const char* text, std::uint32_t* number) const noexcept {
    if (const int refused = try_add()) return refused;
    auto info = sized<substrata_probe_info>();
    info.name = point;
    info.text = text;
    info.source = name;
    return substrata_probe_add(&info, number);
  }

  // A publisher at such a probe point; slots as in Publisher::open.
  Result<Publisher> publisher(const char* point, const char* text = "", std::uint32_t slots = 0) const {
    Publisher made;
    if (const int refused = try_publisher(point, text, slots, &made)) return refusal(refused);
    return made;
  }
  int try_publisher(const char* point, const char* text, std::uint32_t slots, Publisher* out) const noexcept {
    std::uint32_t number = 0;
    if (const int refused = try_probe(point, text, &number)) return refused;
    return out->try_open(number, slots);
  }
};

// Is given batches; destroying it unsubscribes it everywhere, and no callback runs afterwards. Never to be
// destroyed from inside a callback. Empty when default-constructed or moved from. Thread-compatible; its
// callback runs in whichever thread delivers, in one at a time unless it was created with
// SUBSTRATA_OBSERVER_CONCURRENT.
class Observer {
 public:
  Observer() noexcept = default;
  Observer(Observer&&) noexcept = default;
  Observer& operator=(Observer&& other) noexcept {
    destroy();
    kept_ = std::move(other.kept_);
    held_ = std::move(other.held_);
    return *this;
  }

  // `call(const substrata_transaction* batch, size_t count)` is kept; it must not throw.
  template <class Call>
  static Result<Observer> create(Call call, std::uint32_t flags = 0) {
    auto kept = std::make_unique<Call>(std::move(call));
    Observer made;
    if (const int refused = made.try_create([](void* owner, const substrata_transaction* batch,
                                               size_t count) { (*static_cast<Call*>(owner))(batch, count); },
                                            kept.get(), flags))
      return refusal(refused);
    made.kept_ = {kept.release(), [](void* call_of) { delete static_cast<Call*>(call_of); }};
    return made;
  }
  // Calls a member function `void (T::*)(const substrata_transaction*, size_t)` of `owner`, which must
  // outlive this: try_create<&Model::observe>(*this).
  template <auto member, class T>
  int try_create(T& owner, std::uint32_t flags = 0) noexcept {
    return try_create([](void* self, const substrata_transaction* batch,
                         size_t count) { (static_cast<T*>(self)->*member)(batch, count); },
                      &owner, flags);
  }
  int try_create(substrata_batch_function call, void* owner, std::uint32_t flags = 0) noexcept {
    return detail::open(
        &held_, [&](substrata_observer** out) { return substrata_observer_create(call, owner, flags, out); });
  }
  // It gets compact batches as they are, by a member function `void (T::*)(const substrata_compact_batch&)` of
  // the owner that try_create was given. Before it subscribes.
  template <auto member, class T>
  int try_take_compact() const noexcept {
    return substrata_observer_take_compact(
        held_.get(), SUBSTRATA_COMPACT_ACCESSES,
        [](void* self, const substrata_compact_batch* batch) { (static_cast<T*>(self)->*member)(*batch); });
  }
  void destroy() noexcept {
    held_.reset();
    kept_.reset();
  }

  explicit operator bool() const noexcept { return held_ != nullptr; }
  substrata_observer* get() const noexcept { return held_.get(); }

  // Patterns: names separated by commas, '*' for any characters, '?' for one.
  Result<void> subscribe(const char* patterns) const { return detail::result(try_subscribe(patterns)); }
  int try_subscribe(const char* patterns) const noexcept {
    return substrata_subscribe(held_.get(), patterns);
  }
  // Null: everywhere.
  Result<void> unsubscribe(const char* patterns = nullptr) const {
    return detail::result(try_unsubscribe(patterns));
  }
  int try_unsubscribe(const char* patterns = nullptr) const noexcept {
    return substrata_unsubscribe(held_.get(), patterns);
  }

 private:
  // The callable, freed after the observer that calls it: declared before it.
  std::unique_ptr<void, void (*)(void*)> kept_{nullptr, nullptr};
  detail::Owned<substrata_observer, substrata_observer_destroy> held_;
};

// A machine that models what live programs or a replay publish, until the end of this, which flushes first.
// Thread-compatible.
class Following {
 public:
  Following() noexcept = default;
  // parameters: the machine's ("l1=32768:line=64"); null: defaults.
  static Result<Following> begin(const char* machine, const char* parameters = nullptr) {
    Following made;
    if (const int refused = made.try_begin(machine, parameters)) return refusal(refused);
    return made;
  }
  int try_begin(const char* machine, const char* parameters = nullptr) noexcept {
    auto options = sized<substrata_run_options>();
    options.parameters = parameters;
    return detail::open(&held_,
                        [&](substrata_following** out) { return substrata_follow(machine, &options, out); });
  }
  void end() noexcept { held_.reset(); }
  explicit operator bool() const noexcept { return held_ != nullptr; }

 private:
  detail::Owned<substrata_following, substrata_unfollow> held_;
};

// Runs a workload ("fft:points=65536") on a machine to its end. options: struct_size is filled in here. A
// wrong result of the workload is not a refusal: `correct` is 0 then. Thread-safe.
inline Result<substrata_run_result> run(const char* machine, const char* workload,
                                        substrata_run_options options = {}) {
  options.struct_size = sizeof options;
  auto outcome = sized<substrata_run_result>();
  if (const int refused = substrata_run(machine, workload, &options, &outcome)) return refusal(refused);
  return outcome;
}

// Writes a trace file of what passes at probe points, until stop() or the end of this. Thread-compatible.
class Recorder {
 public:
  Recorder() noexcept = default;
  // options: struct_size is filled in here. The file is replaced.
  static Result<Recorder> start(const char* path, const char* patterns = "*",
                                substrata_record_options options = {}) {
    options.struct_size = sizeof options;
    Recorder made;
    if (const int refused = detail::open(&made.held_, [&](substrata_recorder** out) {
          return substrata_record_start(path, patterns, &options, out);
        }))
      return refusal(refused);
    return made;
  }
  // Brings all that was published so far to the file.
  Result<void> flush() const { return detail::result(substrata_record_flush(held_.get())); }
  // Ends the recording in every case; the error is the first that occurred while recording.
  Result<substrata_record_summary> stop() {
    auto summary = sized<substrata_record_summary>();
    if (const int refused = substrata_record_stop(held_.release(), &summary)) return refusal(refused);
    return summary;
  }
  // In a child process, which does not record: the file is the parent's.
  void release() noexcept { (void)held_.release(); }
  explicit operator bool() const noexcept { return held_ != nullptr; }

 private:
  static void end(substrata_recorder* recorder) noexcept { substrata_record_stop(recorder, nullptr); }
  detail::Owned<substrata_recorder, end> held_;
};

// A trace file open for reading. Thread-compatible.
class Trace {
 public:
  Trace() noexcept = default;
  // A file that is cut off or damaged further on opens: describe() says how far it reads.
  static Result<Trace> open(const char* path) {
    Trace made;
    if (const int refused =
            detail::open(&made.held_, [&](substrata_trace** out) { return substrata_trace_open(path, out); }))
      return refusal(refused);
    return made;
  }

  // The strings of what these give are valid as long as this is.
  Result<substrata_trace_info> describe() const {
    auto info = sized<substrata_trace_info>();
    if (const int refused = substrata_trace_describe(held_.get(), &info)) return refusal(refused);
    return info;
  }
  Result<substrata_probe_info> probe(std::uint32_t index) const {
    auto info = sized<substrata_probe_info>();
    if (const int refused = substrata_trace_probe(held_.get(), index, &info)) return refusal(refused);
    return info;
  }
  Result<substrata_source_info> source(std::uint32_t index) const {
    auto info = sized<substrata_source_info>();
    if (const int refused = substrata_trace_source(held_.get(), index, &info)) return refusal(refused);
    return info;
  }

  // The next batch as it was recorded, empty at the end; probe fields are indices into the file's probe
  // points. Valid until the next call.
  Result<std::span<const substrata_transaction>> next() const {
    const substrata_transaction* batch = nullptr;
    std::size_t count = 0;
    if (const int refused = substrata_trace_next(held_.get(), &batch, &count)) return refusal(refused);
    return std::span<const substrata_transaction>(batch, count);
  }
  // The next batch begins with this transaction, counted from 0.
  Result<void> seek(std::uint64_t transaction) const {
    return detail::result(substrata_trace_seek(held_.get(), transaction));
  }
  explicit operator bool() const noexcept { return held_ != nullptr; }
  substrata_trace* get() const noexcept { return held_.get(); }

 private:
  detail::Owned<substrata_trace, substrata_trace_close> held_;
};

// Publishes a trace at the probe points of the same names, in the calling thread. patterns: which, null: all.
// Of a cut-off or damaged file what is whole is replayed before the refusal. Thread-safe.
inline Result<substrata_replay_summary> replay(const char* path, const char* patterns = nullptr) {
  auto summary = sized<substrata_replay_summary>();
  if (const int refused = substrata_replay(path, patterns, &summary)) return refusal(refused);
  return summary;
}

}  // namespace substrata::client::feed

#endif
