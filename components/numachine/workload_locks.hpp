// Locks and barriers of a workload as what programs do for them: accesses to words that the processors share.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "numachine/model.hpp"
#include "numachine/synchronisation.hpp"
#include "sources/workloads/engine.hpp"

namespace substrata::numachine {

enum class LockScheme : std::uint8_t {
  kNone,        // a fixed cost, no accesses
  kTestAndSet,  // test and test-and-set: who finds it taken spins on its copy, and all try when it is given back
  kQueue        // each waits at a line of its own, which its predecessor writes (Mellor-Crummey and Scott)
};

// Runs them through the model, in the order of simulated time. Thread-bound as its engine.
class WorkloadLocks final : public workloads::EventSink {
 public:
  using Named = std::function<void(std::string name, std::uint64_t address, std::uint64_t bytes)>;
  // `first`: an address that lies behind all others. `named` gets what is laid out there.
  WorkloadLocks(workloads::Engine& engine, Model& model, LockScheme scheme, std::uint64_t first, Named named);

  void lock(workloads::ProcessId process, std::uint32_t number, Time now);
  void unlock(workloads::ProcessId process, std::uint32_t number, Time now);
  // A counter that all add to, and a flag that the last one writes.
  void barrier(workloads::ProcessId process, std::uint32_t number, Time now);
  void on_event(Time now, std::uint64_t process) override;

  Time newest() const noexcept { return newest_; }
  const WaitTallies& waits() const noexcept { return waits_; }

 private:
  enum class Doing : std::uint8_t {
    kTest,  // of a lock: reads its word
    kTake,
    kGive,
    kJoin,  // of a queue: puts itself at its end
    kLink,
    kWatch,  // reads its own line
    kLeave,
    kHand,
    kArrive,  // of a barrier: adds to the counter
    kLook,    // reads the flag
    kOpen
  };
  struct Shared {
    std::uint64_t address = 0;
    bool is_held = false;
    Time taken_at = 0;
    std::deque<workloads::ProcessId> queue;  // of a queue lock, the holder first
    std::vector<workloads::ProcessId> idle;  // who spins on a copy
    std::uint32_t arrived = 0;
    std::uint64_t openings = 0;
  };
  struct Process {
    Doing doing = Doing::kTest;
    Shared* at = nullptr;
    workloads::ProcessId predecessor = 0;
    bool is_granted = false;
    bool has_waited = false;
    Time since = 0;  // it waits
    std::uint64_t opening = 0;
  };

  Shared& shared(std::unordered_map<std::uint32_t, Shared>& all, std::uint32_t number, const char* what,
                 std::uint64_t lines);
  void begin(workloads::ProcessId process, Shared& at, Doing doing, Time now);
  void go(workloads::ProcessId process, Doing doing, Time now);
  std::uint64_t address_of(workloads::ProcessId process) const noexcept;
  void done(workloads::ProcessId process, Time now);
  void wait(workloads::ProcessId process, Time now);
  void acquired(workloads::ProcessId process, Time now);
  void wake(Shared& at, Doing doing, Time now);

  workloads::Engine& engine_;
  Model& model_;
  const LockScheme scheme_;
  const std::uint64_t line_;
  std::uint64_t next_;
  const Named named_;
  std::unordered_map<std::uint32_t, Shared> locks_, barriers_;  // references to them stay
  std::vector<Process> processes_;
  WaitTallies waits_;
  Time newest_ = 0;
};

}  // namespace substrata::numachine
