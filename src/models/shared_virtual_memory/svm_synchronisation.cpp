// Locks and barriers.
#include "models/shared_virtual_memory/svm_machine.hpp"

#include <algorithm>
#include <utility>

namespace substrata::svm {

using workloads::LayerKind;

namespace {

void merge(std::vector<std::uint32_t>& into, const std::vector<std::uint32_t>& from) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
}

}  // namespace

// To the manager of a lock or barrier: the process's vector time, with the notices that the manager does not have.
Time SvmMachine::send_clock(PacketKind kind, ProcessId process, std::uint64_t number, Time now) {
  std::vector<std::uint32_t>& known = manager_clocks_[manager(number)];
  known.resize(nodes_.size());
  const std::vector<std::uint32_t>& clock = nodes_[process].clock;
  Packet made = packet(kind, process, manager(number), notice_bytes(known, clock));
  merge(known, clock);
  made.number = number;
  made.clock = clock;
  return send(std::move(made), now);
}

void SvmMachine::on_lock(ProcessId process, std::uint32_t lock, Time now) {
  operations_.open(process, LayerKind::kLockAcquire, lock, now);
  now = close_interval(process, now);
  Packet request = packet(PacketKind::kLockRequest, process, manager(lock),
                          static_cast<std::uint32_t>(nodes_.size()) * kClockBytes);
  request.number = lock;
  request.clock = nodes_[process].clock;
  send(std::move(request), now);
}

void SvmMachine::lock_requested(Packet&& packet, Time now) {
  Lock& lock = locks_[packet.number];
  if (lock.clock.empty()) lock.clock.assign(nodes_.size(), 0);
  if (lock.held) {
    lock.queue.push_back(std::move(packet));
  } else {
    grant(lock, packet.number, packet, now);
  }
}

void SvmMachine::grant(Lock& lock, std::uint64_t number, const Packet& request, Time now) {
  lock.held = true;
  Packet made =
      packet(PacketKind::kLockGrant, manager(number), request.from, notice_bytes(request.clock, lock.clock));
  made.number = number;
  made.clock = lock.clock;
  send(std::move(made), now);
}

void SvmMachine::on_unlock(ProcessId process, std::uint32_t lock, Time now) {
  operations_.open(process, LayerKind::kLockRelease, lock, now);
  now = close_interval(process, now);
  now = send_clock(PacketKind::kLockRelease, process, lock, now);
  operations_.close(process, now);
  engine_->resume(process, now);
}

void SvmMachine::lock_released(Packet&& packet, Time now) {
  Lock& lock = locks_[packet.number];
  lock.held = false;
  merge(lock.clock, packet.clock);
  if (!lock.queue.empty()) {
    const Packet request = std::move(lock.queue.front());
    lock.queue.pop_front();
    grant(lock, packet.number, request, now);
  }
}

void SvmMachine::on_barrier(ProcessId process, std::uint32_t barrier, Time now) {
  operations_.open(process, LayerKind::kBarrier, barrier, now);
  now = close_interval(process, now);
  send_clock(PacketKind::kBarrierArrive, process, barrier, now);
}

void SvmMachine::barrier_reached(Packet&& packet, Time now) {
  Barrier& barrier = barriers_[packet.number];
  if (barrier.clock.empty()) {
    barrier.clock.assign(nodes_.size(), 0);
    barrier.clocks.resize(nodes_.size());
  }
  merge(barrier.clock, packet.clock);
  barrier.clocks[packet.from] = std::move(packet.clock);
  if (++barrier.arrived < nodes_.size()) return;
  open_barrier_ = packet.number;
  start_moves(now);
}

void SvmMachine::release_barrier(Time now) {
  const std::uint64_t number = open_barrier_;
  Barrier barrier = std::move(barriers_[number]);
  barriers_.erase(number);
  for (ProcessId process = 0; process < nodes_.size(); ++process) {
    Packet made = packet(PacketKind::kBarrierRelease, manager(number), process,
                         notice_bytes(barrier.clocks[process], barrier.clock));
    made.number = number;
    made.clock = barrier.clock;
    now = send(std::move(made), now);
  }
}

}  // namespace substrata::svm
