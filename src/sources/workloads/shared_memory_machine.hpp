// Synchronisation and messages of a machine whose processors share one coherent memory.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "sources/workloads/engine.hpp"
#include "sources/workloads/machine.hpp"

namespace substrata::workloads {

// What synchronisation costs, in picoseconds.
struct SynchronisationCosts {
  Time lock = 1000;       // to take a free lock
  Time unlock = 1000;     // to give one back
  Time hand_over = 1000;  // from an unlock to the next holder
  Time barrier = 1000;    // from the last arrival to everybody's departure
  Time send = 1000;       // the sender's time for a message
  Time receive = 1000;    // the receiver's time for a message that is there
  Time message = 1000;    // from send to arrival
  Time message_byte = 0;  // and for each byte

  // The same for everything but a message's bytes.
  static SynchronisationCosts all(Time cost, Time message_byte) noexcept {
    return {cost, cost, cost, cost, cost, cost, cost, message_byte};
  }
};

// Locks are handed over in the order of asking, barriers open for all at once, messages arrive after a fixed
// time and in order. A derived machine charges accesses (advance) and may add the traffic of synchronisation
// by the hooks. Thread-bound as its engine.
class SharedMemoryMachine : public Machine {
 public:
  explicit SharedMemoryMachine(const SynchronisationCosts& costs) : costs_(costs) {}

  void begin(Engine& engine) override { engine_ = &engine; }
  ProcessView view(ProcessId) override { return {.memory = engine_->memory().data()}; }
  void on_lock(ProcessId process, std::uint32_t lock, Time now) override;
  void on_unlock(ProcessId process, std::uint32_t lock, Time now) override;
  void on_barrier(ProcessId process, std::uint32_t barrier, Time now) override;
  void on_send(ProcessId process, MessageNumber message, Time now) override;
  Time on_receive(ProcessId process, const Message& message, Time now) override;

 protected:
  // Hooks: extra time of one step (a spin on a line, a jitter, a bus); called in the order of simulated time.
  virtual Time extra(ProcessId /*process*/, WaitKind /*step*/, std::uint32_t /*number*/, Time /*now*/) {
    return 0;
  }
  Engine& engine() noexcept { return *engine_; }

 private:
  struct Lock {
    bool held = false;
    std::deque<ProcessId> queue;
  };
  SynchronisationCosts costs_;
  Engine* engine_ = nullptr;
  std::unordered_map<std::uint32_t, Lock> locks_;
  std::unordered_map<std::uint32_t, std::vector<ProcessId>> barriers_;
  std::unordered_map<std::uint64_t, Time>
      last_arrival_;  // of each pair of processes, so that messages keep order
};

}  // namespace substrata::workloads
