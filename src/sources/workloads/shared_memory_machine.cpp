// Hands locks over in order, opens barriers, carries messages at fixed cost.
#include "sources/workloads/shared_memory_machine.hpp"

#include <algorithm>

namespace substrata::workloads {

void SharedMemoryMachine::on_lock(ProcessId process, std::uint32_t number, Time now) {
  Lock& lock = locks_[number];
  const Time asked = now + extra(process, WaitKind::kLock, number, now);
  if (lock.held) {
    lock.queue.push_back(process);
    return;
  }
  lock.held = true;
  engine_->resume(process, asked + costs_.lock);
}

void SharedMemoryMachine::on_unlock(ProcessId process, std::uint32_t number, Time now) {
  Lock& lock = locks_[number];
  const Time done = now + costs_.unlock + extra(process, WaitKind::kUnlock, number, now);
  engine_->resume(process, done);
  if (lock.queue.empty()) {
    lock.held = false;
    return;
  }
  const ProcessId next = lock.queue.front();
  lock.queue.pop_front();
  engine_->resume(next, done + costs_.hand_over + extra(next, WaitKind::kLock, number, done));
}

void SharedMemoryMachine::on_barrier(ProcessId process, std::uint32_t number, Time now) {
  std::vector<ProcessId>& arrived = barriers_[number];
  arrived.push_back(process);
  if (arrived.size() < engine_->processes()) return;
  std::vector<ProcessId> all;
  all.swap(arrived);
  for (const ProcessId other : all) {
    engine_->resume(other, now + costs_.barrier + extra(other, WaitKind::kBarrier, number, now));
  }
}

void SharedMemoryMachine::on_send(ProcessId process, MessageNumber number, Time now) {
  const Message& message = engine_->message(number);
  const Time left = now + costs_.send;
  Time& last = last_arrival_[(std::uint64_t{process} << 32) | message.to];
  last = std::max(last, left + costs_.message + costs_.message_byte * message.payload.size() +
                            extra(process, WaitKind::kSend, message.to, now));
  engine_->deliver(number, last);
  engine_->resume(process, left);
}

Time SharedMemoryMachine::on_receive(ProcessId process, const Message& message, Time now) {
  return now + costs_.receive + extra(process, WaitKind::kReceive, message.from, now);
}

}  // namespace substrata::workloads
