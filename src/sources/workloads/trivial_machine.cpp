// Charges one cycle an operation.
#include "sources/workloads/trivial_machine.hpp"

#include <algorithm>

#include "sources/workloads/random.hpp"

namespace substrata::workloads {

TrivialMachine::TrivialMachine(const TrivialParameters& parameters)
    : SharedMemoryMachine(SynchronisationCosts::all(parameters.cycle, 0)),
      parameters_(parameters),
      random_(parameters.seed) {}

Time TrivialMachine::random_delay() {
  if (parameters_.jitter == 0) return 0;
  return parameters_.cycle * (scatter(random_++) % (parameters_.jitter + 1));
}

Time TrivialMachine::extra(ProcessId, WaitKind, std::uint32_t, Time) { return random_delay(); }

namespace {
// Cycles of one operation, without a branch, as the kinds come mixed: the argument of a compute operation,
// else one. kCompute is the only kind of 2 and 3 that is even, and 4 and 5 have no bit of 2.
std::uint64_t cycles_of(Operation operation) {
  const std::uint64_t kind = operation.bits() >> 56;
  const std::uint64_t computed = (kind >> 1) & ~kind & 1U;
  return (operation.argument() & (std::uint64_t{0} - computed)) + (computed ^ 1U);
}
}  // namespace

std::size_t TrivialMachine::advance(ProcessId, std::span<const Operation> operations, Time& now,
                                    Time horizon) {
  constexpr std::size_t kBlock = 256;
  now += random_delay();
  std::size_t i = 0;
  // Whole blocks while none of their operations can reach the horizon; the sum is what a compiler makes
  // vectors of.
  for (std::size_t end = 0; i < operations.size(); i = end) {
    end = std::min(operations.size(), i + kBlock);
    std::uint64_t cycles = 0;
    for (std::size_t j = i; j < end; ++j) cycles += cycles_of(operations[j]);
    if (now >= horizon || cycles * parameters_.cycle >= horizon - now) break;
    now += cycles * parameters_.cycle;
  }
  if (i == operations.size()) return i;
  do {
    now += cycles_of(operations[i++]) * parameters_.cycle;
  } while (i < operations.size() && now < horizon);
  return i;
}

}  // namespace substrata::workloads
