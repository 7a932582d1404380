// Adds the source "memory-probe" with a probe point for each thread, and fills in transactions.
#include "publishing.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "entry.hpp"
#include "report.hpp"

namespace substrata::access_tracer {
namespace {

constexpr client::feed::Source kSource{
    .name = "memory-probe",
    .summary = "Memory accesses of this program, seen by the compiler's instrumentation",
    .kind = SUBSTRATA_SOURCE_LIVE,
    .time_base = SUBSTRATA_TIME_NONE,
    .ticks_per_second = 0};

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
  const char* const sites = std::getenv("SUBSTRATA_MEMORY_SITES");
  keeps_sites_ = sites != nullptr && sites[0] == '1';
  keep_all();  // the hooks do not count bursts
  substrata_publisher_epoch(publisher_.get(), salt);
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
    put(access);
    address += part;
    size -= part;
  }
}

void ThreadPublisher::branch(uintptr_t block) {
  if (!is_observed()) return;
  substrata_transaction branch{};
  branch.address = block;
  branch.kind = SUBSTRATA_BRANCH;
  branch.state = SUBSTRATA_HIT;
  put(branch);
}

void ThreadPublisher::barrier(uintptr_t pc, uintptr_t barrier, uint64_t opening, uint32_t threads) {
  if (!is_observed()) return;
  substrata_transaction arrival{};
  arrival.address = barrier;
  arrival.detail = opening;
  arrival.site = pc;
  arrival.size = threads;
  arrival.kind = SUBSTRATA_BARRIER;
  put(arrival);
  const Entry::HandingOn handing_on;
  publisher_.deliver();
}

void ThreadPublisher::lock(uint16_t kind, uintptr_t pc, uintptr_t lock, uint64_t number, uint16_t state) {
  if (!is_observed()) return;
  substrata_transaction change{};
  change.address = lock;
  change.detail = number;
  change.site = pc;
  change.size = SUBSTRATA_MEMORY_LOCK_BYTES;
  change.kind = kind;
  change.state = state;
  put(change);  // the format has no record for it, so it is delivered here
}

void ThreadPublisher::put(const substrata_transaction& transaction) {
  substrata_transaction with_phase = transaction;
  with_phase.phase = __atomic_load_n(*table_.phase, __ATOMIC_RELAXED);
  const Entry::HandingOn handing_on;
  publisher_.put(with_phase);
  keep_all();
}

void ThreadPublisher::close() {
  const Entry::HandingOn handing_on;
  publisher_.close();
}

void ThreadPublisher::after_fork() {
  publisher_.release();
  table_.records.end = table_.records.next;
}

bool add_source() { return kSource.try_add() == 0; }

client::feed::Recorder begin_trace() {
  const char* const path = std::getenv("SUBSTRATA_MEMORY_TRACE");
  if (path == nullptr || path[0] == '\0') return {};
  auto recorder = client::feed::Recorder::start(path, "mem.cpu*.accesses");
  if (!recorder) {
    report(substrata_feed_error());
    return {};
  }
  return std::move(recorder).value();
}

}  // namespace substrata::access_tracer
