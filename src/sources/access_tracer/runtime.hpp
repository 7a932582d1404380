// The access tracer's runtime in one process: what the hooks and the allocation functions call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "sources/access_tracer/filter.hpp"
#include "sources/access_tracer/objects.hpp"
#include "sources/access_tracer/sites.hpp"
#include "sources/access_tracer/threads.hpp"

namespace substrata::access_tracer {

// Made at the first constructor of an instrumented file and never destroyed, since threads may run on while
// the program ends. Thread-safe by its lock; the hooks' tables belong to their threads.
class Runtime {
 public:
  static Runtime& instance() {
    static Runtime* const runtime = new Runtime;
    return *runtime;
  }

  void begin(volatile uint64_t* salt, substrata_memory_thread* first);
  void end();

  // The hooks' (interface.h).
  substrata_memory_thread* attach(substrata_memory_thread** place);
  void bind(ThreadState& state, unsigned slot, uintptr_t pc, uintptr_t address, unsigned kind, unsigned size);
  void range(ThreadState& state, uintptr_t pc, uintptr_t address, unsigned kind, uint64_t size);
  void ran(uintptr_t pc, uint64_t ns);
  void barrier_made(uintptr_t barrier, unsigned threads);
  void barrier(ThreadState& state, uintptr_t pc, uintptr_t barrier);
  // A lock that the thread has got, and one that it is about to give back.
  void locked(ThreadState& state, uintptr_t pc, uintptr_t lock, bool shared);
  void unlocks(ThreadState& state, uintptr_t pc, uintptr_t lock);
  // The thread has ended: its counts stay, everything else of it goes.
  void detach(ThreadState& state);

  // The program's heap.
  void allocated(void* memory, size_t size, uintptr_t site);
  void freed(void* memory);
  // The calling thread is about to free something.
  void before_free();
  // Its accesses so far go to their observers.
  void hand_on();

  // For the feed: what lies at an address. False: another thread is in here for longer than a second.
  bool place_at(uint64_t address, substrata_place* out);

 private:
  struct Barrier {
    uint32_t threads;
    uint64_t arrivals;
  };
  // Of a lock that was held while its thread was observed.
  struct Lock {
    uint64_t releases = 0;
    uint64_t last_exclusive = 0;  // its number
    bool is_exclusive = false;    // who has it has it alone
  };

  Runtime();
  // Nothing asks for what the thread accesses; its hooks know that now, until the salt changes.
  bool rests(ThreadState& state);
  // True: the access is observed, and the filter lets it through.
  bool bind_locked(ThreadState& state, unsigned slot, uintptr_t pc, uintptr_t address, unsigned kind,
                   unsigned size);
  bool takes(uintptr_t pc, uint32_t object, uintptr_t address);
  void after_fork_in_child();

  std::timed_mutex lock_;
  BindingSalt salt_;
  bool has_feed_ = false;
  bool forked_ = false;
  std::string summary_;  // the file's name; empty: none
  Filter filter_;
  Burst burst_;
  client::feed::Recorder recorder_;
  Objects objects_;
  substrata_memory_thread* first_table_ = nullptr;  // of threads that have none of their own
  std::vector<ThreadState*> threads_;               // those that have not ended
  std::set<uint32_t> free_numbers_;                 // of those that have
  uint32_t next_number_ = 0;
  Tallies ended_;             // their counts
  Times times_;               // of functions, where they are taken
  uint64_t all_threads_ = 0;  // that there were
  std::unordered_map<uintptr_t, Barrier> barriers_;
  std::unordered_map<uintptr_t, Lock> locks_;
};

}  // namespace substrata::access_tracer
