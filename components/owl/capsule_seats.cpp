// Capsules that give each publishing thread an instance of their module: seats, what they send, and their merging.
#include <algorithm>
#include <cstring>
#include <utility>

#include "owl/capsule.hpp"

namespace substrata::owl {
namespace {

// Of a seat: two packets of the longest kind, each behind its length and stage.
constexpr size_t kPacketHead = 2 * sizeof(uint32_t);
constexpr size_t kSeatBytes = 2 * (SUBSTRATA_OWL_MOST_PACKET + kPacketHead);

}  // namespace

Seat* Capsule::seat() noexcept {
  const std::thread::id self = std::this_thread::get_id();
  for (Seat* each = seats_.load(std::memory_order_acquire); each != nullptr; each = each->next) {
    if (each->thread == self) return each;
  }
  // All instances together stay in the budget: the shared one, those there are, and this one.
  const uint64_t instances = seat_count_.fetch_add(1, std::memory_order_relaxed) + 2;
  const auto within = [&](uint64_t cost, uint64_t budget) { return cost == 0 || instances <= budget / cost; };
  std::unique_ptr<Seat> made;
  if (within(cost_.counters, budget_.counters) && within(cost_.table_bits, budget_.table_bits) &&
      within(cost_.comparators, budget_.comparators)) {
    try {
      made = std::make_unique<Seat>(*this);
      made->sent = std::make_unique<uint8_t[]>(kSeatBytes);
    } catch (...) {
      made = nullptr;  // no memory: the shared instance has to do
    }
  }
  if (made != nullptr) {
    {
      const std::lock_guard lock(mutex_);
      std::copy_n(registers_, SUBSTRATA_OWL_MOST_REGISTERS, made->registers);
      made->register_changes = register_changes_;
    }
    const substrata_owl_services services{
        sizeof services,
        SUBSTRATA_OWL_MODULE_ABI,
        made.get(),
        [](void* owner, const void* packet, uint32_t bytes) { emit_from_seat(owner, packet, bytes, 0); },
        emit_from_seat,
        [](void* owner, const Transaction* transactions, size_t many) {
          for (size_t i = 0; i < many; ++i) emit_from_seat(owner, &transactions[i], sizeof(Transaction), 0);
        },
        signal_from_seat,
    };
    const Module& module = *entry_.module;
    if (module.create(&module, made->registers, &services, &made->instance) != nullptr) made = nullptr;
  }
  if (made == nullptr) {
    seat_count_.fetch_sub(1, std::memory_order_relaxed);
    return nullptr;
  }
  made->next = seats_.load(std::memory_order_relaxed);
  while (!seats_.compare_exchange_weak(made->next, made.get(), std::memory_order_release,
                                       std::memory_order_relaxed)) {
  }
  return made.release();
}

void Capsule::observe_apart(Seat& seat, const Transaction* batch, size_t count) noexcept {
  const std::lock_guard mine(seat.mutex);
  try {
    if (!exact_.load(std::memory_order_relaxed) && !accepts(seat.accepted, batch[0].probe)) return;
  } catch (...) {
    return;  // no memory to know whether it is for this capsule
  }
  const Module& module = *entry_.module;
  const uint64_t changes = ring_.memory().header().register_changes.load(std::memory_order_acquire);
  if (changes != seat.register_changes) {
    {
      const std::lock_guard lock(mutex_);
      if (changes != register_changes_) take_registers();
      std::copy_n(registers_, SUBSTRATA_OWL_MOST_REGISTERS, seat.registers);
    }
    seat.register_changes = changes;
    if (module.configure != nullptr) module.configure(seat.instance, seat.registers);
  }
  module.observe(seat.instance, batch, count);
  seat.events += count;
  record_->values[kEventsSeen].add_shared(count);
  uint64_t metrics[SUBSTRATA_OWL_MOST_METRICS];
  module.read(seat.instance, metrics);
  publish(seat, metrics);
  if (seat.sent_bytes == 0) return;
  const std::lock_guard lock(mutex_);
  send(seat);
  publish_numbers();
}

void Capsule::publish(Seat& seat, const uint64_t* metrics) noexcept {
  const Module& module = *entry_.module;
  for (uint32_t i = 0; i < module.metric_count; ++i) {
    if (module.metrics[i].gauge != 0) continue;
    const uint64_t more = metrics[i] - seat.metrics[i];
    if (more == 0) continue;
    record_->values[kStatistics + i].add_shared(more);
    seat.metrics[i] = metrics[i];
  }
}

void Capsule::send(Seat& seat) noexcept {
  for (size_t at = 0; at < seat.sent_bytes;) {
    uint32_t head[2];
    std::memcpy(head, seat.sent.get() + at, sizeof head);
    emit(seat.sent.get() + at + kPacketHead, head[0], head[1]);
    at += kPacketHead + head[0];
  }
  seat.sent_bytes = 0;
}

void Capsule::emit_from_seat(void* owner, const void* packet, uint32_t bytes, uint32_t stage) noexcept {
  Seat& seat = *static_cast<Seat*>(owner);
  if (seat.merging) return seat.capsule.emit(packet, bytes, stage);
  if (bytes > SUBSTRATA_OWL_MOST_PACKET || seat.sent_bytes + kPacketHead + bytes > kSeatBytes) {
    const std::lock_guard lock(seat.capsule.mutex_);
    seat.capsule.send(seat);
    if (bytes > SUBSTRATA_OWL_MOST_PACKET) return seat.capsule.emit(packet, bytes, stage);  // refused
  }
  const uint32_t head[2] = {bytes, stage};
  std::memcpy(seat.sent.get() + seat.sent_bytes, head, sizeof head);
  std::memcpy(seat.sent.get() + seat.sent_bytes + kPacketHead, packet, bytes);
  seat.sent_bytes += kPacketHead + bytes;
}

void Capsule::signal_from_seat(void* owner, const Transaction* cause, uint32_t reason) noexcept {
  Seat& seat = *static_cast<Seat*>(owner);
  Capsule& self = seat.capsule;
  std::unique_lock<std::mutex> lock(self.mutex_, std::defer_lock);
  if (!seat.merging) lock.lock();
  self.send(seat);
  self.signal(cause, reason);
}

void Capsule::merge_seats() noexcept {
  if (!apart_) return;
  const Module& module = *entry_.module;
  const auto merge = merge_of(module);
  for (Seat* each = seats_.load(std::memory_order_acquire); each != nullptr; each = each->next) {
    const std::lock_guard seat(each->mutex);
    const std::lock_guard lock(mutex_);
    each->merging = true;
    merge(instance_, each->instance);
    each->merging = false;
    // What moved is not new: the record's values count it already.
    uint64_t left[SUBSTRATA_OWL_MOST_METRICS];
    module.read(each->instance, left);
    for (uint32_t i = 0; i < module.metric_count; ++i) {
      published_[kStatistics + i] += each->metrics[i] - left[i];
      each->metrics[i] = left[i];
    }
    publish_numbers();
  }
}

}  // namespace substrata::owl
