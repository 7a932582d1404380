// Encodes accesses as records of eight bytes, and hands them over when there are many.
#include "sink.hpp"

#include <new>

namespace substrata::access_tracer {
namespace {

// Is this thread handing records over right now? What the sink's own calls access is left out.
thread_local bool handing_over_here = false;

}  // namespace

bool SinkRecords::join(const Subscription& wanted, const std::atomic<uint64_t>& current, bool one_by_one) {
  if (subscription_.number != wanted.number) {
    if (handing_over_here) return false;
    const std::lock_guard guard(mutex_);
    // A sink that has ended meanwhile waits for this lock, or had it before.
    subscription_ = current.load() == wanted.number ? wanted : Subscription{};
    const bool is_open = subscription_.number != 0;
    if (is_open && records_ == nullptr) records_.reset(new uint64_t[kRecords]);
    handed_over_ = is_open ? records_.get() : nullptr;
    table_.taken_phase = 0;
    __atomic_store_n(&table_.next, handed_over_, __ATOMIC_RELEASE);
  }
  const bool is_open = subscription_.number != 0;
  one_by_one_ = is_open && one_by_one;
  table_.last = one_by_one_ ? table_.next : is_open ? end() : nullptr;
  return true;
}

void SinkRecords::access(uintptr_t pc, uintptr_t address, unsigned kind, uint32_t size,
                         bool one_instruction) {
  const bool read = kind == SUBSTRATA_MEMORY_READ;
  put_phase();
  if (pc != 0) put_number(SUBSTRATA_RECORD_NUMBER, pc);
  if (one_instruction && substrata_record_is_plain(address, size)) {
    put(substrata_record(read ? SUBSTRATA_RECORD_READ : SUBSTRATA_RECORD_WRITE, size, address));
    return;
  }
  if (size > 256) put_number(SUBSTRATA_RECORD_SIZE, size);
  if (const uint64_t upper = address >> 48; upper != 0)
    put(substrata_record(SUBSTRATA_RECORD_UPPER, 1, upper));
  put(substrata_record(read ? SUBSTRATA_RECORD_ANY_READ : SUBSTRATA_RECORD_ANY_WRITE, size, address));
}

void SinkRecords::barrier(uint64_t opening, uint32_t threads, uintptr_t barrier) {
  put_phase();
  put_number(SUBSTRATA_RECORD_NUMBER, opening);
  put_number(SUBSTRATA_RECORD_SIZE, threads);
  put_number(SUBSTRATA_RECORD_BARRIER, barrier);
  hand_over_own();
}

void SinkRecords::hand_over() {
  const std::lock_guard guard(mutex_);
  hand_over_locked();
}

void SinkRecords::leave() {
  const std::lock_guard guard(mutex_);
  hand_over_locked();
  subscription_.sink = {};
}

void SinkRecords::hand_over_own() {
  if (handing_over_here || records_ == nullptr) return;
  handing_over_here = true;
  {
    const std::lock_guard guard(mutex_);
    hand_over_locked();
    handed_over_ = records_.get();
    __atomic_store_n(&table_.next, handed_over_, __ATOMIC_RELEASE);
    if (one_by_one_) table_.last = handed_over_;
  }
  handing_over_here = false;
}

void SinkRecords::after_fork() {
  new (&mutex_) std::mutex;
  subscription_ = {};
  one_by_one_ = false;
  handed_over_ = table_.next = table_.last = nullptr;
}

void SinkRecords::hand_over_locked() {
  uint64_t* const next = __atomic_load_n(&table_.next, __ATOMIC_ACQUIRE);
  const substrata_access_sink& sink = subscription_.sink;
  if (sink.take != nullptr && next != handed_over_)
    sink.take(sink.owner, table_.number, handed_over_, static_cast<size_t>(next - handed_over_));
  handed_over_ = next;
}

void SinkRecords::put(uint64_t record) {
  if (table_.next == end()) {
    if (handing_over_here) return;
    hand_over_own();
  }
  *table_.next = record;
  __atomic_store_n(&table_.next, table_.next + 1, __ATOMIC_RELEASE);
  if (one_by_one_) table_.last = table_.next;
}

void SinkRecords::put_number(unsigned what, uint64_t number) {
  if (const uint64_t upper = number >> 48; upper != 0)
    put(substrata_record(SUBSTRATA_RECORD_UPPER, 1, upper));
  put(substrata_record(what, 1, number));
}

void SinkRecords::put_phase() {
  const uint16_t phase = __atomic_load_n(*table_.phase, __ATOMIC_RELAXED);
  if (phase == table_.taken_phase) return;
  table_.taken_phase = phase;
  put_number(SUBSTRATA_RECORD_PHASE, phase);
}

}  // namespace substrata::access_tracer
