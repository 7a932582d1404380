// Charges one cycle an operation.
#include "trivial_machine.hpp"

#include "random.hpp"

namespace substrata::workloads {
namespace {
SynchronisationCosts costs(Time cycle) {
  return {.lock = cycle,
          .unlock = cycle,
          .hand_over = cycle,
          .barrier = cycle,
          .send = cycle,
          .receive = cycle,
          .message = cycle,
          .message_byte = 0};
}
}  // namespace

TrivialMachine::TrivialMachine(const TrivialParameters& parameters)
    : SharedMemoryMachine(costs(parameters.cycle)), parameters_(parameters), random_(parameters.seed) {}

Time TrivialMachine::random_delay() {
  if (parameters_.jitter == 0) return 0;
  return parameters_.cycle * (scatter(random_++) % (parameters_.jitter + 1));
}

Time TrivialMachine::extra(ProcessId, WaitKind, std::uint32_t, Time) { return random_delay(); }

std::size_t TrivialMachine::advance(ProcessId, std::span<const Operation> operations, Time& now,
                                    Time horizon) {
  now += random_delay();
  std::size_t i = 0;
  do {
    const Operation operation = operations[i++];
    const std::uint64_t computed = operation.kind() == OperationKind::kCompute ? 1 : 0;
    // Without a branch, as the kinds come mixed: the argument of a compute operation, else one.
    now += parameters_.cycle * ((operation.argument() & (std::uint64_t{0} - computed)) | (computed ^ 1U));
  } while (i < operations.size() && now < horizon);
  return i;
}

}  // namespace substrata::workloads
