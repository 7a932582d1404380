// The access tracer's runtime in one process: what the hooks and the allocation functions call.
#ifndef SUBSTRATA_ACCESS_TRACER_RUNTIME_HPP
#define SUBSTRATA_ACCESS_TRACER_RUNTIME_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "filter.hpp"
#include "objects.hpp"
#include "sites.hpp"
#include "threads.hpp"

namespace substrata::access_tracer {

// Made at the first constructor of an instrumented file and never destroyed, since threads may run on while
// the program ends. Thread-safe by its lock; the hooks' tables belong to their threads.
class Runtime {
 public:
  static Runtime& instance() {
    static Runtime* const runtime = new Runtime;
    return *runtime;
  }

  void begin(volatile uint64_t* salt);
  void end();

  // The hooks' (interface.h).
  substrata_memory_thread* attach();
  void bind(ThreadState& state, uintptr_t pc, uintptr_t address, unsigned kind, unsigned size);
  static void publish(ThreadState& state, uintptr_t address, unsigned kind, uint32_t size) {
    if (state.records.is_open()) state.records.access(0, address, kind, size, true);
    state.publisher.access(0, address, kind, size);
  }
  void range(ThreadState& state, uintptr_t pc, uintptr_t address, unsigned kind, uint64_t size);
  void barrier_made(uintptr_t barrier, unsigned threads);
  void barrier(ThreadState& state, uintptr_t pc, uintptr_t barrier);

  // The program's heap.
  void allocated(void* memory, size_t size, uintptr_t site);
  void freed(void* memory);

  // A model's (records.h).
  int set_sink(const substrata_access_sink* sink);
  void hand_over();
  bool name_at(uintptr_t address, char* out, size_t size, uintptr_t* low, uintptr_t* length);

 private:
  struct Barrier {
    uint32_t threads;
    uint64_t arrivals;
  };
  // The watchers of a thread's accesses, and of one of them.
  struct Watchers {
    Subscription sink;
    bool observed = false;  // through the feed
    bool wanted = false;    // that access: there is a watcher, and the filter lets it through
  };

  Runtime();
  Watchers bind_locked(ThreadState& state, uintptr_t pc, uintptr_t address, unsigned kind, unsigned size);
  Watchers watchers_of(const ThreadState& state, bool taken) const;
  bool takes(uintptr_t pc, uint32_t object, uintptr_t address);
  static void send(ThreadState& state, uintptr_t pc, uintptr_t address, unsigned kind, uint64_t size,
                   bool one_instruction);
  std::vector<ThreadState*> threads();
  void after_fork_in_child();

  std::mutex lock_;
  BindingSalt salt_;
  bool has_feed_ = false;
  bool forked_ = false;
  Filter filter_;
  Burst burst_;
  substrata_recorder* recorder_ = nullptr;
  Objects objects_;
  std::vector<ThreadState*> threads_;
  std::unordered_map<uintptr_t, Barrier> barriers_;
  substrata_access_sink sink_{};
  uint64_t sinks_ = 0;                     // so far
  std::atomic<uint64_t> current_sink_{0};  // the number of the one there is
};

}  // namespace substrata::access_tracer

#endif
