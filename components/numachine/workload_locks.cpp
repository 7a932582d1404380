// The steps of each lock and barrier; a step is one access, which the model runs when its time has come.
#include "numachine/workload_locks.hpp"

#include <algorithm>
#include <utility>

namespace substrata::numachine {

using workloads::ProcessId;

WorkloadLocks::WorkloadLocks(workloads::Engine& engine, Model& model, LockScheme scheme, std::uint64_t first,
                             Named named)
    : engine_(engine),
      model_(model),
      scheme_(scheme),
      line_(model.parameters().shape.line_bytes),
      next_(first),
      named_(std::move(named)),
      processes_(engine.processes()),
      waits_(model.processors()) {}

WorkloadLocks::Shared& WorkloadLocks::shared(std::unordered_map<std::uint32_t, Shared>& all,
                                             std::uint32_t number, const char* what, std::uint64_t lines) {
  constexpr std::uint32_t kAtTheEnd = ~0U;  // the engine's own
  const auto [found, is_new] = all.try_emplace(number);
  if (is_new) {
    found->second.address = next_;
    named_(what + (number == kAtTheEnd ? "at the end" : std::to_string(number)), next_, lines * line_);
    next_ += lines * line_;
  }
  return found->second;
}

void WorkloadLocks::lock(ProcessId process, std::uint32_t number, Time now) {
  const bool queue = scheme_ == LockScheme::kQueue;
  begin(process, shared(locks_, number, "lock ", queue ? 1 + processes_.size() : 1),
        queue ? Doing::kJoin : Doing::kTest, now);
}
void WorkloadLocks::unlock(ProcessId process, std::uint32_t number, Time now) {
  begin(process, locks_.at(number), scheme_ == LockScheme::kQueue ? Doing::kLeave : Doing::kGive, now);
}
void WorkloadLocks::barrier(ProcessId process, std::uint32_t number, Time now) {
  begin(process, shared(barriers_, number, "barrier ", 2), Doing::kArrive, now);
}

void WorkloadLocks::begin(ProcessId process, Shared& at, Doing doing, Time now) {
  Process& p = processes_[process];
  p.at = &at;
  p.is_granted = p.has_waited = false;
  go(process, doing, now);
}
void WorkloadLocks::go(ProcessId process, Doing doing, Time now) {
  processes_[process].doing = doing;
  engine_.schedule(now, *this, process);
}

void WorkloadLocks::on_event(Time now, std::uint64_t process) {
  const auto cpu = static_cast<ProcessId>(process);
  const Doing doing = processes_[cpu].doing;
  const bool write = doing != Doing::kTest && doing != Doing::kWatch && doing != Doing::kLook;
  const bool is_done = model_.step(cpu, address_of(cpu), sizeof(std::uint32_t), write, false, 0, now);
  newest_ = std::max(newest_, now);
  if (is_done) {
    done(cpu, now);
  } else {
    engine_.schedule(now, *this, process);
  }
}

// The lock's own line is the first; those of the processes follow. A barrier's flag lies behind its counter.
std::uint64_t WorkloadLocks::address_of(ProcessId process) const noexcept {
  const Process& p = processes_[process];
  switch (p.doing) {
    case Doing::kLink:
      return p.at->address + (1 + p.predecessor) * line_;
    case Doing::kWatch:
      return p.at->address + (1 + process) * line_;
    case Doing::kHand:
      return p.at->address + (1 + p.at->queue.front()) * line_;
    case Doing::kLook:
    case Doing::kOpen:
      return p.at->address + line_;
    default:
      return p.at->address;
  }
}

// It spins on the copy that it has just read.
void WorkloadLocks::wait(ProcessId process, Time now) {
  Process& p = processes_[process];
  if (!p.has_waited) p.since = now;
  p.has_waited = true;
  p.at->idle.push_back(process);
}
void WorkloadLocks::wake(Shared& at, Doing doing, Time now) {
  for (const ProcessId process : std::exchange(at.idle, {})) go(process, doing, now);
}
void WorkloadLocks::acquired(ProcessId process, Time now) {
  Process& p = processes_[process];
  p.at->is_held = true;
  p.at->taken_at = now;
  waits_.pass(p.at->address, WaitKind::kLock, process, p.has_waited ? now - p.since : 0);
  engine_.resume(process, now);
}

void WorkloadLocks::done(ProcessId process, Time now) {
  Process& p = processes_[process];
  Shared& at = *p.at;
  switch (p.doing) {
    case Doing::kTest:
      at.is_held ? wait(process, now) : go(process, Doing::kTake, now);
      return;
    case Doing::kTake:
      at.is_held ? go(process, Doing::kTest, now) : acquired(process, now);
      return;
    case Doing::kGive:
      at.is_held = false;
      waits_.hold(at.address, now - at.taken_at);
      wake(at, Doing::kTest, now);
      engine_.resume(process, now);
      return;
    case Doing::kJoin:
      at.queue.push_back(process);
      if (at.queue.size() == 1) {
        acquired(process, now);
      } else {
        p.predecessor = at.queue[at.queue.size() - 2];
        go(process, Doing::kLink, now);
      }
      return;
    case Doing::kLink:
      go(process, Doing::kWatch, now);
      return;
    case Doing::kWatch:
      p.is_granted ? acquired(process, now) : wait(process, now);
      return;
    case Doing::kLeave:
      at.queue.pop_front();
      waits_.hold(at.address, now - at.taken_at);
      at.is_held = false;
      if (at.queue.empty()) {
        engine_.resume(process, now);
      } else {
        go(process, Doing::kHand, now);
      }
      return;
    case Doing::kHand: {
      const ProcessId next = at.queue.front();
      processes_[next].is_granted = true;
      if (const auto spins = std::find(at.idle.begin(), at.idle.end(), next); spins != at.idle.end()) {
        at.idle.erase(spins);
        go(next, Doing::kWatch, now);
      }
      engine_.resume(process, now);
      return;
    }
    case Doing::kArrive:
      p.opening = at.openings;
      p.since = now;
      if (++at.arrived == processes_.size()) {
        at.arrived = 0;
        go(process, Doing::kOpen, now);
      } else {
        go(process, Doing::kLook, now);
      }
      return;
    case Doing::kLook:
      if (at.openings == p.opening) {
        wait(process, now);
        return;
      }
      waits_.pass(at.address, WaitKind::kBarrier, process, now - p.since);
      engine_.resume(process, now);
      return;
    case Doing::kOpen:
      ++at.openings;
      wake(at, Doing::kLook, now);
      waits_.pass(at.address, WaitKind::kBarrier, process, 0);
      engine_.resume(process, now);
      return;
  }
}

}  // namespace substrata::numachine
