// What the threads of a program did, merged by simulated time. Thread i is on processor i, modulo their number:
// threads of one processor take turns there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "numachine/access_records.hpp"
#include "numachine/code_blocks.hpp"
#include "numachine/model.hpp"
#include "numachine/synchronisation.hpp"

namespace substrata::numachine {

// Records between those of compact.h that say what a thread does at locks; the number is the lock's address.
enum class LockRecord : std::uint8_t {
  kAsk = 0x80,     // it waits for a lock, or for a condition, of this address
  kGiveUp = 0x81,  // and does not any more
  kLock = 0x82,    // it has the lock; detail: the number of the release that it comes after
  kSharedLock = 0x83,
  kUnlock = 0x84,  // detail: the number of this release
  kSharedUnlock = 0x85
};

// The queues of one followed machine. Thread-compatible; run() needs a Rack::Use of the calling thread.
class ThreadMerge {
 public:
  explicit ThreadMerge(Model& model);
  ThreadMerge(const ThreadMerge&) = delete;
  ThreadMerge& operator=(const ThreadMerge&) = delete;

  // What a thread did next. Leaves an empty vector, with the memory of one that was run before.
  void add(std::uint32_t number, Records& incoming);
  // Runs threads by their time until one that was seen has nothing left and no more than `patience` records
  // wait. Those at a barrier wait there for the others.
  void run(std::size_t patience);
  // Runs all there is; nothing more will come.
  void finish();
  const WaitTallies& waits() const noexcept { return waits_; }
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
  enum class LockStage : std::uint8_t { kNone, kLook, kWait };
  struct Thread {
    std::uint32_t cpu = 0;
    std::uint16_t phase = 0;
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
    LockOrder* lock = nullptr;    // its next record is that it has it
    std::uint64_t after = 0;      // the release that it comes after
    LockStage stage = LockStage::kNone;
    bool is_asking = false;
    std::uint64_t asked_for = 0;
    Time asked = 0;
    Records now_running;
    std::deque<Records> later;
    bool is_empty() const noexcept { return at == end; }
    bool has_more() const noexcept { return at + 1 != end || !later.empty(); }
    // It waits for a lock, and has not said yet that it got it.
    bool is_waiting_unheard() const noexcept {
      return !is_empty() && is_asking && at->what() == static_cast<unsigned>(LockRecord::kAsk) && !has_more();
    }
    bool is_held_up() const noexcept {
      return (waits_at != nullptr && !waits_at->is_open) ||
             (stage == LockStage::kWait && !lock->has_passed(after)) || is_waiting_unheard();
    }
  };
  // Threads of one processor.
  struct Turn {
    Thread* whose = nullptr;
    Time since = 0;
  };

  void begin_next(Thread& thread);
  bool order_threads();
  void put_in_order() noexcept;
  static bool is_before(const Thread& a, const Thread& b) noexcept;
  static void fetch_soon(const Thread& thread) noexcept;
  void advance(Thread& thread, Time in_order, Time horizon, std::size_t most);
  bool do_other(Thread& thread, Record record, Time in_order, bool& moved);
  bool do_lock(Thread& thread, LockRecord record, std::uint64_t lock, Time in_order, bool& moved);
  bool take(Thread& thread, std::uint64_t lock, bool shared, Time in_order, bool& moved);
  bool access(Thread& thread, const Access& access, bool fetch, Time in_order, bool& moved);
  void compute(Thread& thread, std::uint64_t instructions);
  void take_turns();
  Time least_time() const noexcept;
  bool pass(Thread& thread, std::uint64_t barrier, std::uint64_t threads);
  bool open_one_that_was_passed() noexcept;
  bool step(Thread& thread, const Access& access, bool fetch, Time in_order, bool& moved);

  Model& model_;
  std::deque<Thread> threads_;  // by number
  std::vector<Thread*> seen_;   // those that did something
  std::vector<Thread*> order_;  // of them those that can go on, by their time
  bool reorder_ = true;         // the set of those that can go on has changed
  std::vector<Records> spare_;  // their memory is reused
  std::map<std::pair<std::uint64_t, std::uint64_t>, Opening> openings_;  // by barrier and number
  std::unordered_map<std::uint64_t, LockOrder> locks_;
  WaitTallies waits_;
  CodeBlocks blocks_;
  std::vector<Turn> turns_;  // by processor, where there are more threads
  bool no_more_ = false;
  std::size_t waiting_ = 0;  // records
  Time newest_ = 0;
};

}  // namespace substrata::numachine
