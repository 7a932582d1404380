// The NUMAchine model as a machine for workloads, and its parameters as text.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "numachine/model.hpp"
#include "numachine/workload_locks.hpp"
#include "sources/workloads/shared_memory_machine.hpp"

namespace substrata::numachine {

// False with a message in `error`: a bad parameter. `processors` decides the number of stations;
// 0: the parameter of that name does.
bool parse_parameters(std::string_view text, std::uint32_t processors, Parameters* out, std::string& error);

// Bus cycles of a lock or barrier: one trip over bus and memory, our own round number. Barriers are hardware
// registers on the processor cards (thesis, section 4.3.3) and make no coherence traffic.
inline constexpr std::uint64_t kSynchronisationCycles = 30;

// How a workload's locks and barriers are done.
struct WorkloadSynchronisation {
  LockScheme locks = LockScheme::kNone;
  bool counts_at_barriers = false;  // else they are the cards' registers
};
// The same text as above has them.
WorkloadSynchronisation parse_synchronisation(std::string_view text);

// A machine for one run. Thread-bound as its engine.
class NumachineMachine final : public workloads::SharedMemoryMachine {
 public:
  NumachineMachine(const Parameters& parameters, std::uint16_t program,
                   const WorkloadSynchronisation& synchronisation = {});

  std::string_view name() const override { return "numachine"; }
  void begin(workloads::Engine& engine) override;
  workloads::Time quantum() const override { return window_; }
  bool works_in_steps() const override { return true; }
  std::size_t advance(workloads::ProcessId process, std::span<const workloads::Operation> operations,
                      workloads::Time& now, workloads::Time horizon) override;
  void on_lock(workloads::ProcessId process, std::uint32_t lock, workloads::Time now) override;
  void on_unlock(workloads::ProcessId process, std::uint32_t lock, workloads::Time now) override;
  void on_barrier(workloads::ProcessId process, std::uint32_t barrier, workloads::Time now) override;
  std::string end() override;
  std::vector<workloads::Statistic> statistics() const override;
  // Gives the rack back; statistics() and model() are for before.
  void release();

  // While a run goes on and after it; null before.
  Model* model() noexcept { return model_.get(); }
  // The object of the program at an address.
  std::string name_at(std::uint64_t address) const;
  // Called when the model is there, before the processes start.
  void on_begin(std::function<void(Model&)> call) { on_begin_ = std::move(call); }

 protected:
  workloads::Time extra(workloads::ProcessId process, workloads::WaitKind step, std::uint32_t number,
                        workloads::Time now) override;

 private:
  template <bool has_execution>
  std::size_t advance_by(workloads::ProcessId process, std::span<const workloads::Operation> operations,
                         workloads::Time& now, workloads::Time horizon);

  const Parameters parameters_;
  const std::uint16_t program_;
  const WorkloadSynchronisation synchronisation_;
  const workloads::Time window_;
  std::unique_ptr<Rack::Use> use_;  // before the model, which needs it to the last
  std::unique_ptr<Model> model_;
  std::unique_ptr<WorkloadLocks> locks_;
  workloads::Time newest_ = 0;
  std::vector<std::uint16_t> phases_;  // the feed's number of each of the program's regions
  struct Object {
    std::string name;
    std::uint64_t address, bytes;
  };
  std::vector<Object> objects_;
  std::function<void(Model&)> on_begin_;
};

}  // namespace substrata::numachine
