// Locks and barriers of a followed program: who may go on, and how long processors waited for what.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "numachine/model.hpp"

namespace substrata::numachine {

enum class WaitKind : std::uint8_t { kLock, kCondition, kBarrier };

// What processors did at one lock, condition or barrier.
struct Waits {
  std::uint64_t address = 0;
  WaitKind kind = WaitKind::kLock;
  std::string name;
  std::uint64_t uses = 0;        // times it was passed
  std::uint64_t waited = 0;      // of them those that waited
  Time wait = 0;                 // of all of these
  Time longest = 0;              // of one of these
  Time held = 0;                 // of a lock
  std::uint64_t processors = 0;  // (modulo 64) that passed it
};

// Time that one processor lost.
struct LostTime {
  Time locks = 0;     // synchronisation (thesis, section 3.1.3)
  Time barriers = 0;  // load imbalance (section 3.1.4)
};

// One lock. Releases are numbered from 1 in the order in which the program made them.
class LockOrder {
 public:
  // Have all releases up to this number passed in simulated time?
  bool has_passed(std::uint64_t number) const noexcept { return passed_ >= number; }
  // When the lock was free for one who comes next.
  Time free_at(bool shared) const noexcept { return shared ? exclusive_at_ : all_at_; }
  void release(std::uint64_t number, bool exclusive, Time now);
  // Those before this one will not come any more.
  void give_up_before(std::uint64_t number) noexcept { passed_ = number > passed_ ? number : passed_; }

  Time taken_at = 0;

 private:
  std::uint64_t passed_ = 0;
  std::set<std::uint64_t> early_;  // releases that passed before one with a lower number: readers'
  Time exclusive_at_ = 0;
  Time all_at_ = 0;
};

// Thread-compatible.
class WaitTallies {
 public:
  explicit WaitTallies(std::uint32_t processors) : lost_(processors) {}
  void pass(std::uint64_t address, WaitKind kind, std::uint32_t cpu, Time wait);
  void hold(std::uint64_t address, Time held) { of(address).held += held; }
  // Most waited for first.
  std::vector<Waits> all() const;
  const std::vector<LostTime>& lost() const noexcept { return lost_; }

 private:
  Waits& of(std::uint64_t address);

  std::unordered_map<std::uint64_t, Waits> waits_;
  std::vector<LostTime> lost_;  // by processor
};

}  // namespace substrata::numachine
