// Adds the source "memory-probe" with a probe point for each thread, and fills in transactions.
#include "sources/access_tracer/publishing.hpp"

#include <substrata/values.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "base/environment.hpp"
#include "base/own_memory.hpp"
#include "sources/access_tracer/entry.hpp"
#include "sources/access_tracer/report.hpp"

namespace substrata::access_tracer {
namespace {

constexpr client::feed::Source kSource{
    .name = "memory-probe",
    .summary = "Memory accesses of this program, seen by the compiler's instrumentation",
    .kind = SUBSTRATA_SOURCE_LIVE,
    .time_base = SUBSTRATA_TIME_NONE,
    .ticks_per_second = 0};

bool is_set(const char* name) {
  const char* const value = environment(name);
  return value != nullptr && value[0] == '1';
}

size_t value_bytes(const substrata_transaction& access) {
  return std::min<size_t>(access.size, sizeof access.detail);
}

}  // namespace

void ThreadPublisher::open(uint32_t number, const Burst& burst, uint64_t* salt) {
  const std::string name = "mem.cpu" + std::to_string(number) + ".accesses";
  uint32_t probe = 0;
  if (kSource.try_probe(name.c_str(),
                        "Memory accesses of one thread of the program; the initiator is the thread's number",
                        &probe) != 0 ||
      publisher_.try_open_compact(probe, number, &table_.records) != 0)
    return;
  burst_ = burst;
  number_ = number;
  keeps_sites_ = is_set("SUBSTRATA_MEMORY_SITES");
  delivers_before_frees_ = is_set("SUBSTRATA_MEMORY_OBJECTS");
  keeps_values_ = is_set("SUBSTRATA_MEMORY_VALUES") && whole_.try_open(probe) == 0;
  keep_all();  // the hooks do not count bursts
  substrata_publisher_epoch(publisher_.get(), salt);
}

void ThreadPublisher::begin() {
  if (!is_observed()) return;
  const Entry::HandingOn handing_on;
  substrata_flush();
}

void ThreadPublisher::put(uintptr_t pc, uintptr_t address, unsigned kind, uint64_t size) {
  constexpr uint16_t kKinds[] = {SUBSTRATA_READ, SUBSTRATA_WRITE, SUBSTRATA_ATOMIC};
  while (size > 0) {
    const auto part = static_cast<uint32_t>(std::min<uint64_t>(size, UINT32_MAX));
    substrata_transaction access{};
    access.address = address;
    access.site = pc;
    access.size = part;
    access.kind = kKinds[kind];
    access.phase = phase();
    // GCC announces a copy's write before its read, and both before the copy.
    const bool may_be_copied =
        kind == SUBSTRATA_MEMORY_READ && has_written_ && !has_read_ && written_.size == part;
    if (!may_be_copied) settle();
    address += part;
    size -= part;
    if (!keeps_values_) {
      append(access);
    } else if (kind == SUBSTRATA_MEMORY_READ) {
      // The program is about to do the same.
      std::memcpy(&access.detail, reinterpret_cast<const void*>(access.address), value_bytes(access));
      access.flags = SUBSTRATA_FLAG_VALUE;
      if (may_be_copied) {
        read_ = access;
        has_read_ = true;
      } else {
        append(access);
      }
    } else {
      written_ = access;
      has_written_ = true;
    }
  }
}

// The place may be gone by now, so that the system is asked for it.
void ThreadPublisher::settle() {
  if (!has_written_) return;
  has_written_ = false;
  if (copy_own_memory(&written_.detail, reinterpret_cast<const void*>(written_.address),
                      value_bytes(written_)))
    written_.flags = SUBSTRATA_FLAG_VALUE;
  else
    written_.detail = 0;
  append(written_);
  if (has_read_) append(read_);
  has_read_ = false;
}

void ThreadPublisher::branch(uintptr_t block) {
  if (!is_observed()) return;
  substrata_transaction branch{};
  branch.address = block;
  if (keeps_sites_) branch.site = block;
  branch.kind = SUBSTRATA_BRANCH;
  branch.state = SUBSTRATA_HIT;
  put(branch);
}

void ThreadPublisher::synchronise(uint16_t kind, uintptr_t pc, uintptr_t what, uint64_t number, uint32_t size,
                                  uint16_t state) {
  if (!is_observed()) return;
  substrata_transaction change{};
  change.address = what;
  change.site = pc;
  change.detail = number;
  change.size = size;
  change.kind = kind;
  change.state = state;
  put(change);
  deliver();
}

void ThreadPublisher::put(const substrata_transaction& transaction) {
  settle();
  substrata_transaction with_phase = transaction;
  with_phase.phase = phase();
  append(with_phase);
}

void ThreadPublisher::append(substrata_transaction transaction) {
  const Entry::HandingOn handing_on;
  if (whole_) {
    transaction.initiator = number_;
    transaction.time = ++sequence_;
    whole_.publish(transaction);
  } else {
    publisher_.put(transaction);
  }
  keep_all();
}

void ThreadPublisher::deliver() {
  settle();
  const Entry::HandingOn handing_on;
  (whole_ ? whole_ : publisher_).deliver();
}

void ThreadPublisher::before_free() {
  if (!is_observed()) return;
  if (delivers_before_frees_)
    deliver();
  else
    settle();
}

void ThreadPublisher::close() {
  if (publisher_) settle();
  const Entry::HandingOn handing_on;
  whole_.close();
  publisher_.close();
}

void ThreadPublisher::after_fork() {
  has_written_ = has_read_ = false;
  whole_.release();
  publisher_.release();
  table_.records.end = table_.records.next;
}

bool add_source() { return kSource.try_add() == 0; }

client::feed::Recorder begin_trace() {
  const char* const path = environment("SUBSTRATA_MEMORY_TRACE");
  if (path == nullptr || path[0] == '\0') return {};
  auto recorder = client::feed::Recorder::start(path, "mem.cpu*.accesses");
  if (!recorder) {
    report(substrata_feed_error());
    return {};
  }
  return std::move(recorder).value();
}

}  // namespace substrata::access_tracer
