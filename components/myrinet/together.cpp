// Turns by simulated time, and processors shared by time slices without any coscheduling.
#include "together.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "workloads/random.hpp"

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
  std::array<Time, kTogether> at_{};
};

// The processors: a program that wants one while the other runs on it waits for its own slice, or until the
// other waits for something. Slices of the nodes begin at different times: no gang scheduling (paper, 4.2).
class Processors {
 public:
  Processors(std::uint32_t nodes, std::uint64_t seed) : nodes_(nodes) {
    for (std::uint32_t i = 0; i < nodes; ++i)
      nodes_[i].phase = workloads::random_at(seed ^ 0x51CE, i) % (kTogether * kSlice);
  }
  // May the program compute at the node now?
  bool free_for(std::uint32_t program, ProcessId node, Time now) const noexcept {
    const Node& one = nodes_[node];
    if (one.busy_until[1 - program] + kPatience < now || one.busy_until[1 - program] == 0) return true;
    return (now + one.phase) / kSlice % kTogether == program;
  }
  void used(std::uint32_t program, ProcessId node, Time until) noexcept {
    nodes_[node].busy_until[program] = until;
  }
  // The program's process at the node waits or has ended.
  void left(std::uint32_t program, ProcessId node) noexcept { nodes_[node].busy_until[program] = 0; }
  static constexpr Time kPatience = 200 * kMicrosecond;  // until a waiting program looks again

 private:
  static constexpr Time kSlice = 200'000 * kMicrosecond;  // Linux 2.0's time slice: 20 ticks of 10 ms
  struct Node {
    Time phase = 0;
    std::array<Time, kTogether> busy_until{};
  };
  std::vector<Node> nodes_;
};

// The machine of one of the programs.
class Sharing final : public workloads::Machine {
 public:
  Sharing(std::unique_ptr<svm::SvmMachine> machine, std::uint32_t program, Turns& turns,
          Processors& processors)
      : machine_(std::move(machine)), program_(program), turns_(turns), processors_(processors) {}
  std::string_view name() const override { return machine_->name(); }
  void begin(workloads::Engine& engine) override { machine_->begin(engine); }
  workloads::ProcessView view(ProcessId process) override { return machine_->view(process); }
  std::string end() override { return machine_->end(); }
  std::size_t advance(ProcessId process, std::span<const Operation> operations, Time& now,
                      Time horizon) override {
    turns_.wait(program_, now);
    if (processors_.free_for(program_, process, now)) {
      // A short piece at a time, so that the other is not kept out for long.
      const Time piece = now + Processors::kPatience;
      const std::size_t done = machine_->advance(process, operations, now, std::min(horizon, piece));
      processors_.used(program_, process, now);
      return done;
    }
    const Time later = now + Processors::kPatience;
    const std::size_t done = machine_->advance(process, operations.first(1), now, now);
    now = std::max(now, later);
    return done;
  }
  void on_lock(ProcessId process, std::uint32_t lock, Time now) override {
    waits(process, now);
    machine_->on_lock(process, lock, now);
  }
  void on_unlock(ProcessId process, std::uint32_t lock, Time now) override {
    turns_.wait(program_, now);
    machine_->on_unlock(process, lock, now);
  }
  void on_barrier(ProcessId process, std::uint32_t barrier, Time now) override {
    waits(process, now);
    machine_->on_barrier(process, barrier, now);
  }
  void on_send(ProcessId process, workloads::MessageNumber message, Time now) override {
    turns_.wait(program_, now);
    machine_->on_send(process, message, now);
  }
  Time on_receive(ProcessId process, const workloads::Message& message, Time now) override {
    return machine_->on_receive(process, message, now);
  }
  void on_fault(ProcessId process, std::uint64_t page, bool write, Time now) override {
    waits(process, now);
    machine_->on_fault(process, page, write, now);
  }
  std::vector<workloads::Statistic> statistics() const override { return machine_->statistics(); }

 private:
  void waits(ProcessId process, Time now) {
    turns_.wait(program_, now);
    processors_.left(program_, process);
  }
  std::unique_ptr<svm::SvmMachine> machine_;
  const std::uint32_t program_;
  Turns& turns_;
  Processors& processors_;
};

}  // namespace

Reports run_together(const std::array<std::string, kTogether>& workloads, const MachineParameters& parameters,
                     std::uint32_t nodes, std::uint64_t seed) {
  Turns turns;
  Processors processors(nodes, seed);
  ClusterParameters cluster = parameters.cluster;
  cluster.nodes = nodes;
  const auto shared = std::make_shared<SharedCluster>(cluster, kTogether);
  Reports reports;
  const auto run = [&](std::uint32_t program) {
    turns.wait(program, 0);
    try {
      Sharing machine(make_machine(parameters, static_cast<std::uint16_t>(program), shared, program,
                                   [&turns, program](Time now) { turns.wait(program, now); }),
                      program, turns, processors);
      workloads::EngineSettings settings;
      settings.processes = nodes;
      reports[program] = workloads::run_workload(workloads[program], seed, machine, settings);
    } catch (const std::exception& error) {
      reports[program].message = error.what();
    }
    turns.end(program);
  };
  std::thread second(run, 1u);
  run(0);
  second.join();
  return reports;
}

}  // namespace substrata::myrinet
