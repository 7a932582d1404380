// Turns by simulated time, and processors shared by time slices without any coscheduling.
#include "myrinet/coscheduled_run.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "sources/workloads/random.hpp"

namespace substrata::myrinet {
namespace {

using workloads::Operation;
using workloads::ProcessId;

// Lets the program go on whose simulated time is behind. At most one is past its gate.
class Turns {
 public:
  // Returns when no other program is behind `now`.
  void wait(std::uint32_t program, Time now) {
    std::unique_lock lock(mutex_);
    at_[program] = now;
    if (choose() == program) return;
    changed_.notify_all();
    changed_.wait(lock, [&] { return choose() == program; });
  }
  void end(std::uint32_t program) {
    const std::lock_guard lock(mutex_);
    at_[program] = kNever;
    changed_.notify_all();
  }

 private:
  std::uint32_t choose() const noexcept { return at_[0] <= at_[1] ? 0 : 1; }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<Time, kCoscheduled> at_{};
};

// The processors: the programs take turns in slices, whether they compute or wait, because a process that
// waits polls. Slices of the nodes begin at different times: no gang scheduling (paper, 4.2). A program that
// has ended leaves its slices to the other.
class Processors {
 public:
  Processors(std::uint32_t nodes, std::uint64_t seed, Time slice) : slice_(slice) {
    if (slice_ == 0) ended_.fill(true);
    for (std::uint32_t i = 0; i < nodes; ++i)
      phases_.push_back(workloads::random_at(seed ^ 0x51CE, i) % (kCoscheduled * std::max<Time>(slice_, 1)));
  }
  // When the program's process at the node next has the processor; now if it has it.
  Time runs(std::uint32_t program, ProcessId node, Time now) const noexcept {
    if (ended_[1 - program]) return now;
    const Time at = now + phases_[node];
    if (at / slice_ % kCoscheduled == program) return now;
    return (at / slice_ + 1) * slice_ - phases_[node];
  }
  // When its present slice ends at the latest.
  Time until(std::uint32_t program, ProcessId node, Time now) const noexcept {
    if (ended_[1 - program]) return kNever;
    return ((now + phases_[node]) / slice_ + 1) * slice_ - phases_[node];
  }
  void end(std::uint32_t program) noexcept { ended_[program] = true; }

 private:
  const Time slice_;
  std::vector<Time> phases_;
  std::array<bool, kCoscheduled> ended_{};
};

// The machine of one of the programs.
class Sharing final : public workloads::Machine {
 public:
  // `shift`: as of Company.
  Sharing(std::unique_ptr<svm::SvmMachine> machine, std::uint32_t program, Turns& turns,
          const Processors& processors, std::uint32_t nodes, std::uint32_t shift)
      : machine_(std::move(machine)),
        program_(program),
        turns_(turns),
        processors_(processors),
        nodes_(nodes),
        shift_(shift) {}
  std::string_view name() const override { return machine_->name(); }
  void begin(workloads::Engine& engine) override { machine_->begin(engine); }
  workloads::ProcessView view(ProcessId process) override { return machine_->view(process); }
  std::string end() override { return machine_->end(); }
  std::size_t advance(ProcessId process, std::span<const Operation> operations, Time& now,
                      Time horizon) override {
    turns_.wait(program_, now);
    const std::uint32_t node = (process + shift_) % nodes_;
    const Time begin = processors_.runs(program_, node, now);
    if (begin > now) {
      now = begin;
      return machine_->advance(process, operations.first(1), now, now);
    }
    // A short piece at a time, so that the other keeps up.
    return machine_->advance(process, operations, now,
                             std::min({horizon, now + kPiece, processors_.until(program_, node, now)}));
  }
  void on_lock(ProcessId process, std::uint32_t lock, Time now) override {
    in_turn(now).on_lock(process, lock, now);
  }
  void on_unlock(ProcessId process, std::uint32_t lock, Time now) override {
    in_turn(now).on_unlock(process, lock, now);
  }
  void on_barrier(ProcessId process, std::uint32_t barrier, Time now) override {
    in_turn(now).on_barrier(process, barrier, now);
  }
  void on_send(ProcessId process, workloads::MessageNumber message, Time now) override {
    in_turn(now).on_send(process, message, now);
  }
  Time on_receive(ProcessId process, const workloads::Message& message, Time now) override {
    return machine_->on_receive(process, message, now);
  }
  void on_fault(ProcessId process, std::uint64_t page, bool write, Time now) override {
    in_turn(now).on_fault(process, page, write, now);
  }
  std::vector<workloads::Statistic> statistics() const override { return machine_->statistics(); }

 private:
  static constexpr Time kPiece = 200 * kMicrosecond;
  svm::SvmMachine& in_turn(Time now) {
    turns_.wait(program_, now);
    return *machine_;
  }
  std::unique_ptr<svm::SvmMachine> machine_;
  const std::uint32_t program_;
  Turns& turns_;
  const Processors& processors_;
  const std::uint32_t nodes_;
  const std::uint32_t shift_;
};

}  // namespace

Reports run_coscheduled(const std::array<std::string, kCoscheduled>& workloads,
                        const MachineParameters& parameters, std::uint32_t nodes, std::uint64_t seed) {
  Turns turns;
  Processors processors(nodes, seed, parameters.slice);
  ClusterParameters cluster = parameters.cluster;
  cluster.nodes = nodes;
  const auto shared = std::make_shared<SharedCluster>(cluster, kCoscheduled);
  Reports reports;
  const auto run = [&](std::uint32_t program) {
    turns.wait(program, 0);
    try {
      const Company company{[&](Time now) { turns.wait(program, now); },
                            [&](std::uint32_t node, Time now) { return processors.runs(program, node, now); },
                            program == 0 ? 0 : parameters.shift};
      Sharing machine(make_machine(parameters, static_cast<std::uint16_t>(program), shared, program, company),
                      program, turns, processors, nodes, company.shift);
      workloads::EngineSettings settings;
      settings.processes = nodes;
      reports[program] = workloads::run_workload(workloads[program], seed, machine, settings);
    } catch (const std::exception& error) {
      reports[program].message = error.what();
    }
    processors.end(program);
    turns.end(program);
  };
  std::thread second(run, 1u);
  run(0);
  second.join();
  return reports;
}

}  // namespace substrata::myrinet
