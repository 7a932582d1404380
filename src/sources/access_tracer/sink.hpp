// The accesses of one thread as records for an access sink (records.h): written one by one, handed over in
// batches.
#ifndef SUBSTRATA_ACCESS_TRACER_SINK_HPP
#define SUBSTRATA_ACCESS_TRACER_SINK_HPP

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "interface.h"
#include "records.h"

namespace substrata::access_tracer {

// The sink there is, and its number; 0: there is none.
struct Subscription {
  substrata_access_sink sink{};
  uint64_t number = 0;
};

// The thread writes without the mutex, as the hooks do, and begins at the front again with it. Other threads
// may hand over what it has written.
class SinkRecords {
 public:
  explicit SinkRecords(substrata_memory_thread& table) : table_(table) {}
  SinkRecords(const SinkRecords&) = delete;
  SinkRecords& operator=(const SinkRecords&) = delete;

  // The thread's records go to that sink from now on; `current` is the number of the one there is. One by
  // one: the hooks write none, as observers of the feed want the accesses too. False: not yet, as the thread
  // is handing records over.
  bool join(const Subscription& wanted, const std::atomic<uint64_t>& current, bool one_by_one);
  bool is_open() const { return table_.last != nullptr; }
  // One access of one instruction, whose size is a power of two, or of any length; pc 0: of no site.
  void access(uintptr_t pc, uintptr_t address, unsigned kind, uint32_t size, bool one_instruction);
  // Arrival at a barrier; the records go at once: the others wait for this thread, in a model too.
  void barrier(uint64_t opening, uint32_t threads, uintptr_t barrier);

  // The sink gets what it has not got yet. By any thread.
  void hand_over();
  // The same, and then it is forgotten.
  void leave();
  // The same by the thread itself, which begins at the front again.
  void hand_over_own();

  // In a child process, where no other thread is.
  void after_fork();

 private:
  // Records gathered: much more than a call costs, much less than a core's first cache.
  static constexpr size_t kRecords = 1024;
  uint64_t* end() const { return records_.get() + kRecords; }
  void hand_over_locked();
  void put(uint64_t record);
  void put_number(unsigned what, uint64_t number);
  void put_phase();

  substrata_memory_thread& table_;  // has the place of the next record
  std::mutex mutex_;
  std::unique_ptr<uint64_t[]> records_;
  uint64_t* handed_over_ = nullptr;  // up to here
  Subscription subscription_;
  bool one_by_one_ = false;
};

}  // namespace substrata::access_tracer

#endif
