// What the threads of a program did, merged by simulated time: each is a processor of the machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "access_records.hpp"
#include "model.hpp"

namespace substrata::numachine {

// The queues of one followed machine. Thread-compatible; run() needs a Rack::Use of the calling thread.
class ThreadMerge {
 public:
  explicit ThreadMerge(Model& model);
  ThreadMerge(const ThreadMerge&) = delete;
  ThreadMerge& operator=(const ThreadMerge&) = delete;

  // What a thread did next. Leaves an empty vector, with the memory of one that was run before.
  void add(std::uint32_t cpu, Records& incoming);
  // Runs threads by their time until one that was seen has nothing left and no more than `patience` records
  // wait. Those at a barrier wait there for the others.
  void run(std::size_t patience);
  // The latest time of all threads.
  Time newest() const noexcept { return newest_; }

 private:
  // An access that is not a plain record.
  struct Access {
    std::uint64_t address;
    std::uint32_t size;
    bool write;
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
    std::uint64_t site = 0;
    std::uint64_t detail = 0;
    std::uint64_t size = 0;       // 0: its own
    std::uint64_t upper = 0;      // bits of its address or number, in their place
    Opening* waits_at = nullptr;  // its next record is that barrier
    Records now_running;
    std::deque<Records> later;
    bool is_empty() const noexcept { return at == end; }
  };

  void begin_next(Thread& thread);
  bool order_threads();
  void put_in_order() noexcept;
  static bool is_before(const Thread& a, const Thread& b) noexcept;
  static void fetch_soon(const Thread& thread) noexcept;
  void advance(Thread& thread, Time in_order, Time horizon, std::size_t most);
  bool do_other(Thread& thread, Record record, Time in_order, bool& moved);
  bool pass(Thread& thread, std::uint64_t barrier, std::uint64_t threads);
  bool open_one_that_was_passed() noexcept;
  bool step(Thread& thread, const Access& access, bool fetch, Time in_order, bool& moved);

  Model& model_;
  std::vector<Thread> threads_;  // by processor
  std::vector<Thread*> seen_;    // those that did something
  std::vector<Thread*> order_;   // of them those that can go on, by their time
  bool reorder_ = true;          // the set of those that can go on has changed
  std::vector<Records> spare_;   // their memory is reused
  std::map<std::pair<std::uint64_t, std::uint64_t>, Opening> openings_;  // by barrier and number
  std::size_t waiting_ = 0;                                              // records
  Time newest_ = 0;
};

}  // namespace substrata::numachine
