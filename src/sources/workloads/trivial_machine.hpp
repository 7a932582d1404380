// The machine without a model: everything takes one cycle, or a random time when tests ask for disorder.
#pragma once

#include <cstdint>

#include "sources/workloads/shared_memory_machine.hpp"

namespace substrata::workloads {

struct TrivialParameters {
  Time cycle = 1000;         // picoseconds of every operation
  std::uint64_t jitter = 0;  // each batch and each synchronisation takes up to so many cycles more, at random
  std::uint64_t quantum = 0;  // cycles one process may be charged ahead of another
  std::uint64_t seed = 1;     // of the jitter
};

// One cycle an operation (compute: its cycles), no caches, no traffic. Thread-bound as its engine.
class TrivialMachine final : public SharedMemoryMachine {
 public:
  explicit TrivialMachine(const TrivialParameters& parameters);
  std::string_view name() const override { return "trivial"; }
  Time quantum() const override { return parameters_.quantum * parameters_.cycle; }
  std::size_t advance(ProcessId process, std::span<const Operation> operations, Time& now,
                      Time horizon) override;

 protected:
  Time extra(ProcessId process, WaitKind step, std::uint32_t number, Time now) override;

 private:
  Time random_delay();
  TrivialParameters parameters_;
  std::uint64_t random_;
};

}  // namespace substrata::workloads
