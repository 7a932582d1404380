// An out-of-order processor, cycle by cycle: how long a stream of operations takes when each waits for what
// it reads, for a unit, and for what was fetched in vain.
//
// After Kessler, "The Alpha 21264 microprocessor", IEEE Micro 19(2), 1999, and the Alpha 21264/EV67 hardware
// reference manual (chapter 2, table 2-4 for latencies). Left out: the clusters' crossing of a cycle, line
// mispredictions, replays after a load that was wrongly taken for a hit or wrongly passed a store (the order
// of loads and stores is known here), wrong paths, and translation buffers, which always hit.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace substrata::papers {

enum class Work : uint8_t {
  kNothing,  // fetched and retired, never issued
  kInteger,
  kSelect,  // a conditional move: two operations of a cycle each
  kCount,   // counts of bits and moves between the register files
  kMultiply,
  kDivide,
  kFloatAdd,
  kFloatMultiply,
  kFloatDivideSingle,
  kFloatDivideDouble,
  kFloatRootSingle,
  kFloatRootDouble,
  kLoad,
  kFloatLoad,
  kStore,
};

enum class Branch : uint8_t { kNone, kConditional, kJump, kIndirect, kCall, kIndirectCall, kReturn };

// One operation as the processor issues it. Registers are bits; which is which is the caller's matter.
struct Operation {
  uint64_t reads = 0;
  uint64_t writes = 0;
  uint64_t address = 0;  // of a load or store: the byte
  uint64_t place = 0;    // the address of its instruction; 0: it needs no instruction cache
  uint64_t behind = 0;   // of a branch: the address behind it
  uint64_t next = 0;     // of a branch: where it goes
  Work work = Work::kInteger;
  Branch branch = Branch::kNone;
};

// The 21264's choice between a predictor by each branch's own history and one by the history of all.
class Prediction {
 public:
  // Whether the fetch would have gone elsewhere than `branch` goes; learns from it at once.
  bool wrong(const Operation& branch) {
    switch (branch.branch) {
      case Branch::kNone:
      case Branch::kJump:
        return false;
      case Branch::kConditional:
        return wrong_direction(branch.place, branch.next != branch.behind);
      case Branch::kCall:
        call(branch.behind);
        return false;
      case Branch::kIndirectCall:
        call(branch.behind);
        return wrong_target(branch);
      case Branch::kIndirect:
        return wrong_target(branch);
      case Branch::kReturn:
        return returns_[--calls_ % returns_.size()] != branch.next;
    }
    return false;
  }

 private:
  void call(uint64_t behind) { returns_[calls_++ % returns_.size()] = behind; }
  bool wrong_target(const Operation& branch) {
    uint64_t& last = targets_[branch.place % targets_.size()];
    const bool wrong = last != branch.next;
    last = branch.next;
    return wrong;
  }
  bool wrong_direction(uint64_t place, bool taken) {
    uint16_t& history = histories_[place % histories_.size()];
    uint8_t& own = own_[history];
    uint8_t& common = common_[path_];
    uint8_t& choice = choice_[path_];
    const bool by_own = own >= 4;
    const bool by_common = common >= 2;
    const bool said = choice >= 2 ? by_common : by_own;
    if (by_own != by_common) step(choice, by_common == taken, 3);
    step(own, taken, 7);
    step(common, taken, 3);
    history = static_cast<uint16_t>((history << 1 | (taken ? 1 : 0)) & 1023);
    path_ = static_cast<uint16_t>((path_ << 1 | (taken ? 1 : 0)) & 4095);
    return said != taken;
  }
  static void step(uint8_t& counter, bool up, uint8_t most) {
    if (up && counter < most) ++counter;
    if (!up && counter > 0) --counter;
  }

  std::array<uint16_t, 1024> histories_{};
  std::array<uint8_t, 1024> own_{};
  std::array<uint8_t, 4096> common_{};
  std::array<uint8_t, 4096> choice_{};
  std::array<uint64_t, 4096> targets_{};
  std::array<uint64_t, 32> returns_{};
  uint32_t calls_ = 0;
  uint16_t path_ = 0;
};

// `Memory` is asked in the order of time:
//   uint64_t fetch(uint64_t place, uint64_t now)   when the instruction cache has the line
//   bool free(uint64_t now)                        whether a load or store may begin
//   void begin(uint64_t now)                       it takes one of the ports
//   uint64_t load(uint64_t address, uint64_t now)  when an integer register has what the load reads
//   uint64_t store(uint64_t address, uint64_t now) a retired store goes to the cache; when it leaves its
//   queue
template <class Memory>
class OutOfOrder {
 public:
  static constexpr unsigned kFetch = 4;      // operations a cycle; none behind a taken branch
  static constexpr unsigned kInFlight = 80;  // mapped and not retired
  static constexpr unsigned kRetire = 11;    // a cycle
  static constexpr unsigned kIntegerQueue = 20;
  static constexpr unsigned kFloatQueue = 15;
  static constexpr unsigned kIntegerIssue = 4;
  static constexpr unsigned kLoads = 32;
  static constexpr unsigned kStores = 32;
  // From the cycle of fetch: slot, map, queue, and issue in the fourth. A wrongly predicted branch is known
  // when it is issued and restarts the fetch so that seven cycles lie between its fetch and the next.
  static constexpr unsigned kToQueue = 3;
  static constexpr unsigned kRestart = 3;

  explicit OutOfOrder(Memory& memory) : memory_(memory) {}

  // Runs all that `next(Operation&)` gives, until it gives false.
  template <class Next>
  void run(Next&& next) {
    bool more = true;
    while (true) {
      bool moved = complete();
      moved |= retire();
      moved |= issue();
      moved |= map();
      if (more) moved |= fetch(next, more);
      if (!more && fetched_ == mapped_ && mapped_ == head_) return;
      ++now_;
      if (!moved) skip();
    }
  }

  uint64_t operations() const { return head_; }
  uint64_t cycles() const { return now_ + 1; }
  uint64_t branches() const { return branches_; }
  uint64_t mispredicted() const { return mispredicted_; }

 private:
  static constexpr unsigned kRing = 128;  // the window's places, a power of two above kInFlight
  static constexpr unsigned kWaiting = kFetch * (kToQueue + 1);
  static constexpr unsigned kWheel = 1 << 10;
  static constexpr uint64_t kCodeLine = 64;
  static constexpr uint64_t kNever = ~uint64_t{0};

  // A set of the window's places.
  struct Places {
    std::array<uint64_t, 2> words{};
    bool any() const { return (words[0] | words[1]) != 0; }
    bool has(unsigned i) const { return (words[i / 64] >> i % 64 & 1) != 0; }
    void add(unsigned i) { words[i / 64] |= uint64_t{1} << i % 64; }
    void drop(unsigned i) { words[i / 64] &= ~(uint64_t{1} << i % 64); }
    template <class Use>
    void each(Use&& use) const {
      for (unsigned w = 0; w < 2; ++w)
        for (uint64_t rest = words[w]; rest != 0; rest &= rest - 1)
          use(w * 64 + static_cast<unsigned>(__builtin_ctzll(rest)));
    }
    // From the oldest on, until `use` says that it is enough.
    template <class Use>
    void each_from(unsigned oldest, Use&& use) const {
      const unsigned first = oldest / 64;
      const uint64_t older = (uint64_t{1} << oldest % 64) - 1;
      const std::array<uint64_t, 3> parts = {words[first] & ~older, words[1 - first], words[first] & older};
      const std::array<unsigned, 3> bases = {first * 64, (1 - first) * 64, first * 64};
      for (unsigned p = 0; p < 3; ++p) {
        for (uint64_t rest = parts[p]; rest != 0; rest &= rest - 1)
          if (!use(bases[p] + static_cast<unsigned>(__builtin_ctzll(rest)))) return;
      }
    }
  };
  struct Entry {
    uint64_t address;
    uint64_t done;  // when its result is there
    Places dependents;
    uint64_t store;  // of a store: its number; of a load: one more than that of the store it reads from, or 0
    Work work;
    uint8_t missing;  // of what it reads
    bool complete;
    bool restarts;  // a branch that the fetch waits for
  };
  struct Fetched {
    Operation operation;
    uint64_t at;
    bool restarts;
  };
  struct Store {
    uint64_t word;
    uint64_t operation;  // its number
    uint64_t leaves;
  };

  static bool is_load(Work work) { return work == Work::kLoad || work == Work::kFloatLoad; }
  static bool is_memory(Work work) { return work >= Work::kLoad; }
  static bool is_float(Work work) { return work >= Work::kFloatAdd && work <= Work::kFloatRootDouble; }
  static unsigned latency(Work work) {
    switch (work) {
      case Work::kNothing:
        return 0;
      case Work::kInteger:
      case Work::kStore:
        return 1;
      case Work::kSelect:
        return 2;
      case Work::kCount:
      case Work::kLoad:
        return 3;
      case Work::kMultiply:
        return 7;
      case Work::kDivide:
        return 40;  // ours: the 21264 divides integers by a routine
      case Work::kFloatAdd:
      case Work::kFloatMultiply:
      case Work::kFloatLoad:
        return 4;
      case Work::kFloatDivideSingle:
        return 12;
      case Work::kFloatDivideDouble:
        return 15;
      case Work::kFloatRootSingle:
        return 18;
      case Work::kFloatRootDouble:
        return 33;
    }
    return 1;
  }

  bool complete() {
    Places& due = wheel_[now_ % kWheel];
    if (!due.any()) return false;
    const Places places = due;
    due = {};
    places.each([&](unsigned i) {
      Entry& entry = window_[i];
      if (entry.done > now_) {  // further away than the wheel reaches
        promise(i);
        return;
      }
      entry.complete = true;
      entry.dependents.each([&](unsigned d) {
        if (--window_[d].missing == 0) ready(d);
      });
    });
    return true;
  }
  bool retire() {
    bool moved = false;
    for (; first_store_ != next_store_ && stores_[first_store_ % kStores].leaves <= now_; ++first_store_) {
      --words_[stores_[first_store_ % kStores].word % words_.size()];
      moved = true;
    }
    for (unsigned i = 0; i < kRetire && head_ != mapped_; ++i) {
      const Entry& entry = window_[head_ % kRing];
      if (!entry.complete) break;
      if (entry.work == Work::kStore)
        stores_[entry.store % kStores].leaves = std::max(now_ + 1, memory_.store(entry.address, now_));
      if (is_load(entry.work)) --loads_;
      ++head_;
      moved = true;
    }
    return moved;
  }
  bool issue() {
    bool moved = false;
    if (integer_ready_.any()) {
      unsigned slots = kIntegerIssue;
      const Places candidates = integer_ready_;
      candidates.each_from(head_ % kRing, [&](unsigned i) {
        const Work work = window_[i].work;
        if (is_memory(work)) {
          if (!memory_.free(now_)) return true;
          memory_.begin(now_);
        } else if (work == Work::kMultiply || work == Work::kDivide) {
          if (multiplier_ > now_) return true;
          multiplier_ = now_ + (work == Work::kDivide ? latency(work) : 1);
        }
        integer_ready_.drop(i);
        --integer_queue_;
        start(i);
        moved = true;
        return --slots != 0;
      });
    }
    if (float_ready_.any()) {
      bool add = true;
      bool multiply = true;
      const Places candidates = float_ready_;
      candidates.each_from(head_ % kRing, [&](unsigned i) {
        const Work work = window_[i].work;
        bool& pipe = work == Work::kFloatMultiply ? multiply : add;
        if (!pipe) return true;
        if (work >= Work::kFloatDivideSingle) {
          if (divider_ > now_) return true;
          divider_ = now_ + latency(work);
        }
        pipe = false;
        float_ready_.drop(i);
        --float_queue_;
        start(i);
        moved = true;
        return add || multiply;
      });
    }
    return moved;
  }
  void start(unsigned i) {
    Entry& entry = window_[i];
    entry.done = now_ + latency(entry.work);
    if (is_load(entry.work)) {
      const uint64_t later = entry.work == Work::kFloatLoad ? 1 : 0;
      const uint64_t read = memory_.load(entry.address, now_) + later;
      // What a store in the queue holds needs no line.
      const bool forwarded = entry.store != 0 && entry.store > first_store_;
      if (!forwarded) entry.done = std::max(entry.done, read);
    }
    if (entry.restarts) resume_ = now_ + kRestart;
    promise(i);
  }
  void promise(unsigned i) { wheel_[std::min(window_[i].done, now_ + kWheel - 1) % kWheel].add(i); }
  bool map() {
    bool moved = false;
    for (unsigned n = 0; n < kFetch && mapped_ != fetched_; ++n) {
      const Fetched& from = waiting_[mapped_ % kWaiting];
      const Operation& operation = from.operation;
      if (from.at + kToQueue > now_ || mapped_ - head_ == kInFlight) break;
      const bool in_float = is_float(operation.work);
      if (operation.work != Work::kNothing &&
          (in_float ? float_queue_ == kFloatQueue : integer_queue_ == kIntegerQueue))
        break;
      if (operation.work == Work::kStore && next_store_ - first_store_ == kStores) break;
      if (is_load(operation.work) && loads_ == kLoads) break;
      const unsigned place = mapped_ % kRing;
      Entry& entry = window_[place];
      entry = {operation.address, kNever, {}, 0, operation.work, 0, false, from.restarts};
      if (operation.work == Work::kNothing) {
        entry.complete = true;
      } else {
        ++(in_float ? float_queue_ : integer_queue_);
        for (uint64_t rest = operation.reads; rest != 0; rest &= rest - 1)
          wait(entry, place, writer_[static_cast<unsigned>(__builtin_ctzll(rest))]);
        if (is_load(operation.work)) {
          ++loads_;
          wait_for_store(entry, place);
        }
        if (operation.work == Work::kStore) {
          entry.store = next_store_;
          const uint64_t word = operation.address / 8;
          stores_[next_store_++ % kStores] = {word, mapped_, kNever};
          ++words_[word % words_.size()];
        }
        for (uint64_t rest = operation.writes; rest != 0; rest &= rest - 1)
          writer_[static_cast<unsigned>(__builtin_ctzll(rest))] = mapped_ + 1;
        if (entry.missing == 0) ready(place);
      }
      ++mapped_;
      moved = true;
    }
    return moved;
  }
  // `writer`: one more than the number of the operation, or 0.
  void wait(Entry& entry, unsigned place, uint64_t writer) {
    if (writer <= head_) return;
    Entry& producer = window_[(writer - 1) % kRing];
    if (producer.complete || producer.dependents.has(place)) return;
    producer.dependents.add(place);
    ++entry.missing;
  }
  void wait_for_store(Entry& entry, unsigned place) {
    const uint64_t word = entry.address / 8;
    if (words_[word % words_.size()] == 0) return;
    for (uint64_t s = next_store_; s != first_store_; --s) {
      const Store& store = stores_[(s - 1) % kStores];
      if (store.word != word) continue;
      entry.store = s;
      wait(entry, place, store.operation + 1);
      return;
    }
  }
  void ready(unsigned place) { (is_float(window_[place].work) ? float_ready_ : integer_ready_).add(place); }
  template <class Next>
  bool fetch(Next&& next, bool& more) {
    if (resume_ > now_) return false;
    bool moved = false;
    for (unsigned n = 0; n < kFetch && fetched_ - mapped_ < kWaiting; ++n) {
      Fetched& into = waiting_[fetched_ % kWaiting];
      into.operation = Operation{};
      if (!next(into.operation)) {
        more = false;
        return true;
      }
      into.at = now_;
      into.restarts = false;
      ++fetched_;
      moved = true;
      if (const uint64_t line = into.operation.place / kCodeLine; line != line_) {
        line_ = line;
        into.at = memory_.fetch(into.operation.place, now_);
        resume_ = into.at;
      }
      const Operation& operation = into.operation;
      if (operation.branch != Branch::kNone) {
        ++branches_;
        into.restarts = prediction_.wrong(operation);
        if (into.restarts) {
          ++mispredicted_;
          resume_ = kNever;
        }
        if (into.restarts || operation.next != operation.behind) return true;
      }
      if (resume_ > now_) return true;
    }
    return moved;
  }
  // Nothing moved: to the next cycle in which something can.
  void skip() {
    if (integer_ready_.any() || float_ready_.any()) return;
    uint64_t until = now_ + kWheel;
    if (resume_ != kNever && resume_ >= now_) until = std::min(until, resume_);
    if (mapped_ != fetched_ && waiting_[mapped_ % kWaiting].at + kToQueue >= now_)
      until = std::min(until, waiting_[mapped_ % kWaiting].at + kToQueue);
    if (first_store_ != next_store_)
      until = std::min(until, std::max(now_, stores_[first_store_ % kStores].leaves));
    while (now_ < until && !wheel_[now_ % kWheel].any()) ++now_;
  }

  Memory& memory_;
  Prediction prediction_;
  uint64_t now_ = 0;
  // Numbers of operations: retired before head_, mapped before mapped_, fetched before fetched_.
  uint64_t head_ = 0;
  uint64_t mapped_ = 0;
  uint64_t fetched_ = 0;
  uint64_t resume_ = 0;  // when the fetch goes on
  uint64_t line_ = 0;    // of the instruction fetched last
  std::array<Entry, kRing> window_{};
  std::array<Fetched, kWaiting> waiting_{};
  std::vector<Places> wheel_ = std::vector<Places>(kWheel);  // what is done, by cycle
  std::array<uint64_t, 64> writer_{};                        // of each register, one more than its number
  Places integer_ready_;
  Places float_ready_;
  unsigned integer_queue_ = 0;
  unsigned float_queue_ = 0;
  unsigned loads_ = 0;
  uint64_t multiplier_ = 0;
  uint64_t divider_ = 0;
  std::array<Store, kStores> stores_{};
  uint64_t first_store_ = 0;
  uint64_t next_store_ = 0;
  std::array<uint8_t, 256> words_{};  // stores in the queue, by address: none means that no search is needed
  uint64_t branches_ = 0;
  uint64_t mispredicted_ = 0;
};

}  // namespace substrata::papers
