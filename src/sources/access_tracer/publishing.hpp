// The accesses of one thread as compact records of the feed, all of them or in bursts.
#pragma once

#include <substrata/feed.hpp>

#include <cstdint>

#include "sources/access_tracer/filter.hpp"
#include "sources/access_tracer/interface.h"

namespace substrata::access_tracer {

// The probe point of one thread. For that thread.
class ThreadPublisher {
 public:
  explicit ThreadPublisher(substrata_memory_thread& table) : table_(table) {}
  ThreadPublisher(const ThreadPublisher&) = delete;
  ThreadPublisher& operator=(const ThreadPublisher&) = delete;

  // Adds the probe point; while that is observed or ceases to be, the feed changes `salt`.
  void open(uint32_t number, const Burst& burst, uint64_t* salt);
  // What others published before, as the thread that started this one did, goes before what this one publishes.
  void begin();
  bool is_observed() const { return publisher_ && publisher_.observed(); }
  // An access of any length, in parts where it is long; pc 0: of no site.
  void access(uintptr_t pc, uintptr_t address, unsigned kind, uint64_t size) {
    if (publisher_ && (burst_.on == 0 || in_burst())) put(pc, address, kind, size);
  }
  // Predicted or not, as far as is known here.
  void branch(uintptr_t block);
  // SUBSTRATA_MEMORY_SITES: each access comes with its site, so that the hooks write none of them themselves.
  bool keeps_sites() const { return keeps_sites_; }
  // What the thread published goes to its observers now, its last write with the value that lies there now.
  void deliver();
  // The thread is about to free something. SUBSTRATA_MEMORY_OBJECTS: observers get its accesses before, while what it
  // frees has its name.
  void before_free();
  // Arrival at a barrier; what the thread did before goes at once: the others wait for it, in a model too.
  void barrier(uintptr_t pc, uintptr_t barrier, uint64_t opening, uint32_t threads) {
    synchronise(SUBSTRATA_BARRIER, pc, barrier, opening, threads, 0);
  }
  // A lock, or a wait for one; goes at once, so that it is known before what other threads do next.
  void lock(uint16_t kind, uintptr_t pc, uintptr_t lock, uint64_t number, uint16_t state) {
    synchronise(kind, pc, lock, number, SUBSTRATA_MEMORY_LOCK_BYTES, state);
  }
  void asks(uintptr_t pc, const void* lock_or_condition, uint16_t state) {
    lock(SUBSTRATA_LOCK, pc, reinterpret_cast<uintptr_t>(lock_or_condition), 0, state);
  }
  // Delivers what it has, and ends.
  void close();
  // In a child process, which has no feed.
  void after_fork();

 private:
  bool in_burst() { return position_++ % (burst_.on + burst_.off) < burst_.on; }
  void put(uintptr_t pc, uintptr_t address, unsigned kind, uint64_t size);
  void put(const substrata_transaction& transaction);
  void synchronise(uint16_t kind, uintptr_t pc, uintptr_t what, uint64_t number, uint32_t size,
                   uint16_t state);
  void append(substrata_transaction transaction);
  uint16_t phase() const { return __atomic_load_n(*table_.phase, __ATOMIC_RELAXED); }
  // Puts the write that waits for its value, which the program has stored by now, and the read behind it.
  void settle();

  substrata_memory_thread& table_;
  client::feed::Publisher publisher_;
  // In its place where accesses come with values, which compact records do not hold.
  client::feed::Publisher whole_;
  // The hooks write no record.
  void keep_all() {
    if (burst_.on != 0 || keeps_sites_ || keeps_values_) table_.records.end = table_.records.next;
  }

  bool keeps_sites_ = false;
  bool keeps_values_ = false;
  bool delivers_before_frees_ = false;
  bool has_written_ = false;
  bool has_read_ = false;
  substrata_transaction written_{};  // a write whose value is not known yet
  substrata_transaction read_{};     // came behind it; the value that is copied to it, maybe
  uint32_t number_ = 0;
  uint64_t sequence_ = 0;
  Burst burst_;
  uint64_t position_ = 0;  // in bursts and between them
};

// The feed's source of which all these are; false: there is no feed.
bool add_source();
// The trace that SUBSTRATA_MEMORY_TRACE asks for; without one, empty, and why not is reported.
client::feed::Recorder begin_trace();

}  // namespace substrata::access_tracer
