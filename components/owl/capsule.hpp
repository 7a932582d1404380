// Capsules: a probe's transactions to a module, the module's packets into a ring, and the numbers that events
// read.
#pragma once

#include <substrata/owl.h>
#include <substrata/substrate.h>
#include <substrata/feed.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "models/counting/counter.hpp"
#include "owl/library.hpp"
#include "owl/ring.hpp"

namespace substrata::owl {

// What every capsule counts by itself, before its module's metrics.
enum Statistic : uint32_t {
  kEventsSeen,
  kPacketsInjected,
  kBytesInjected,
  kDropped,
  kNearFull,
  kSignals,
  kStatistics
};

class Capsule;

// Something that hears of a number that grows, in the publisher's thread after a batch.
struct Watcher {
  uint32_t value = 0;  // index into CapsuleRecord::values
  uint64_t period = 1;
  uint64_t next = 0;
  void (*call)(void* owner, uint64_t value) noexcept = nullptr;
  void* owner = nullptr;
  std::atomic<bool> ended{false};
};

// The numbers of one capsule and module by name; outlives the capsule, so that events keep their last values.
// A capsule attached later under the same name goes on counting here. Thread-safe.
struct CapsuleRecord {
  std::string name;  // of the capsule
  const LibraryEntry* entry = nullptr;
  std::vector<counting::Counter> values;  // statistics, then metrics
  std::string kept_ring;  // where the ring of a capsule can be opened that stays to the end; else ""
  std::mutex life;        // around capsule and probes
  Capsule* capsule = nullptr;
  std::string probes;       // of the last capsule
  uint64_t generation = 0;  // of capsule
  std::recursive_mutex watchers_mutex;
  std::vector<std::shared_ptr<Watcher>> watchers;
  std::atomic<uint32_t> watcher_count{0};

  void watch(const std::shared_ptr<Watcher>& watcher);
  void unwatch(const std::shared_ptr<Watcher>& watcher) noexcept;
  void notify_watchers() noexcept;
  // Is what is counted here measured, as far as its probe points are known now? Each belongs to a running program or
  // the operating system then, whose time is not a model's.
  bool measured();
};

// All records in the order of their making; never shrinks.
std::vector<std::shared_ptr<CapsuleRecord>> records();
std::shared_ptr<CapsuleRecord> find_record(const std::string& capsule, const std::string& module);
uint64_t record_count() noexcept;

// Makes the capsule and its record. 0, or negative with a message. `kept`: it will stay to the end of the process.
int attach_capsule(const substrata_owl_capsule_options& options, Capsule** out, bool kept = false);

// One thread's own instance of the module, in a capsule that gives each thread one. Its mutex is held by that
// thread for a batch, and for a moment by a merge; it is taken before the capsule's.
struct Seat {
  explicit Seat(Capsule& owner) : capsule(owner) {}
  Capsule& capsule;
  const std::thread::id thread = std::this_thread::get_id();
  std::mutex mutex;
  void* instance = nullptr;
  uint64_t registers[SUBSTRATA_OWL_MOST_REGISTERS] = {};
  uint64_t register_changes = 0;
  uint64_t metrics[SUBSTRATA_OWL_MOST_METRICS] = {};  // as the record's values know them
  uint64_t events = 0;
  std::vector<uint8_t> accepted;    // by probe point: 0 not asked yet, 1 no, 2 yes
  std::unique_ptr<uint8_t[]> sent;  // packets on their way to the ring, which all seats share
  size_t sent_bytes = 0;
  bool merging = false;  // the thread that is here holds the capsule's mutex as well
  Seat* next = nullptr;
};

class Capsule {
 public:
  Capsule(const LibraryEntry& entry, std::string name, std::string probes);
  ~Capsule();
  Capsule(const Capsule&) = delete;
  Capsule& operator=(const Capsule&) = delete;

  int start();
  void stop() noexcept;
  // The same without counting and without a lock, for the capsule's only user; also from inside a
  // callback.
  int begin();
  void end() noexcept;
  int write_back();
  int read_register(const char* name, uint64_t* value);
  int write_register(const char* name, uint64_t value);
  // "NAME=NUMBER:NAME=NUMBER", all at once.
  int write_registers(const char* assignments);
  int metric(const char* name, uint64_t* value);
  void statistics(substrata_owl_statistics* out) noexcept;
  void on_near_full(void (*call)(void*, substrata_owl_capsule*), void* owner);
  void on_signal(void (*call)(void*, const Transaction*, uint32_t), void* owner);
  const char* ring_path() noexcept { return ring_.memory().path().c_str(); }
  const std::shared_ptr<CapsuleRecord>& record() const noexcept { return record_; }
  const Module& module() const noexcept { return *entry_.module; }
  // Makes the module and the ring; the registers' values lie in registers_.
  int build(const substrata_owl_capsule_options& options);
  // The interface of composed modules: packets with the number of their sub-module.
  void emit(const void* packet, uint32_t bytes, uint32_t stage) noexcept;
  void signal(const Transaction* cause, uint32_t reason) noexcept;
  static Capsule& of(void* capsule) noexcept { return *static_cast<Capsule*>(capsule); }

 private:
  friend int attach_capsule(const substrata_owl_capsule_options& options, Capsule** out, bool kept);
  void observe(const Transaction* batch, size_t count) noexcept;
  void observe_apart(Seat& seat, const Transaction* batch, size_t count) noexcept;
  // The calling thread's own; null: none is available, and the shared instance is used.
  Seat* seat() noexcept;
  bool accepts(std::vector<uint8_t>& known, uint16_t probe) const;
  void take_registers() noexcept;
  // 0 where the register may have that value.
  int check_register(const char* name, uint64_t value, RegisterValue* out) const;
  void publish_numbers() noexcept;
  // With the seat's mutex: what its module counted since goes to the record.
  void publish(Seat& seat, const uint64_t* metrics) noexcept;
  // With the seat's mutex and mutex_: its packets go into the ring.
  void send(Seat& seat) noexcept;
  // Every seat's counts into the shared instance.
  void merge_seats() noexcept;
  static void emit_from_seat(void* owner, const void* packet, uint32_t bytes, uint32_t stage) noexcept;
  static void signal_from_seat(void* owner, const Transaction* cause, uint32_t reason) noexcept;

  const LibraryEntry& entry_;
  const std::string name_;
  const std::string probes_;
  std::shared_ptr<CapsuleRecord> record_;
  std::vector<uint64_t> base_;  // the record's counts when this capsule took it over
  uint64_t registers_[SUBSTRATA_OWL_MOST_REGISTERS] = {};
  uint64_t register_changes_ = 0;
  Cost cost_{};
  Cost budget_{};

  std::mutex control_;  // around users_ and the subscription
  uint32_t users_ = 0;
  client::feed::Observer observer_;

  std::mutex mutex_;  // around the module, the ring's producer and the callbacks
  void* instance_ = nullptr;
  RingProducer ring_;
  uint64_t metrics_[SUBSTRATA_OWL_MOST_METRICS] = {};
  uint64_t counts_[kStatistics] = {};
  void (*near_full_)(void*, substrata_owl_capsule*) = nullptr;
  void* near_full_owner_ = nullptr;
  void (*signal_)(void*, const Transaction*, uint32_t) = nullptr;
  void* signal_owner_ = nullptr;
  std::atomic<bool> exact_{true};  // the subscription takes only what probes_ names
  std::vector<uint8_t> accepted_;  // by probe point: 0 not asked yet, 1 no, 2 yes
  // Where threads have seats, values of the record have several writers: each adds what is new since.
  bool apart_ = false;
  uint64_t published_[kStatistics + SUBSTRATA_OWL_MOST_METRICS] = {};
  std::atomic<Seat*> seats_{nullptr};  // only grows while the capsule lives
  std::atomic<uint64_t> seat_count_{0};
};

}  // namespace substrata::owl

// The C interface's name of it.
struct substrata_owl_capsule : substrata::owl::Capsule {
  using Capsule::Capsule;
};
