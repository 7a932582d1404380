// Adds the source "memory-probe" with a probe point for each thread, and fills in transactions.
#include "publishing.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "report.hpp"

namespace substrata::access_tracer {

void ThreadPublisher::open(const Burst& burst, uint64_t* salt) {
  const std::string name = "mem.cpu" + std::to_string(table_.number) + ".accesses";
  substrata_probe_info probe{};
  probe.struct_size = sizeof probe;
  probe.name = name.c_str();
  probe.text = "Memory accesses of one thread of the program; the initiator is the thread's number";
  probe.source = "memory-probe";
  uint32_t number = 0;
  if (substrata_probe_add(&probe, &number) != 0) return;
  // Large enough that deliveries do not count, small enough to stay in half of a core's first cache.
  if (substrata_publisher_open(number, 256, &publisher_) != 0) return;
  burst_ = burst;
  table_.direct = burst.on != 0 ? nullptr : publisher_;
  substrata_publisher_epoch(publisher_, salt);
}

void ThreadPublisher::put(uintptr_t pc, uintptr_t address, unsigned kind, uint64_t size) {
  while (size > 0) {
    const auto part = static_cast<uint32_t>(std::min<uint64_t>(size, UINT32_MAX));
    substrata_transaction* const slot = substrata_reserve(publisher_);
    if (slot == nullptr) return;  // not observed any more
    substrata_memory_fill(slot, &table_, pc, address, kind, part);
    substrata_commit(publisher_);
    address += part;
    size -= part;
  }
}

void ThreadPublisher::barrier(uintptr_t pc, uintptr_t barrier, uint64_t opening, uint32_t threads) {
  if (publisher_ == nullptr) return;
  substrata_transaction* const slot = substrata_reserve(publisher_);
  if (slot == nullptr) return;
  *slot = {};
  slot->time = ++table_.sequence;
  slot->address = barrier;
  slot->detail = opening;
  slot->site = pc;
  slot->initiator = table_.number;
  slot->size = threads;
  slot->kind = SUBSTRATA_BARRIER;
  slot->phase = substrata_phase();
  substrata_commit(publisher_);
}

bool add_source() {
  substrata_source_info source{};
  source.struct_size = sizeof source;
  source.kind = SUBSTRATA_SOURCE_LIVE;
  source.name = "memory-probe";
  source.summary = "Memory accesses of this program, seen by the compiler's instrumentation";
  source.time_base = SUBSTRATA_TIME_NONE;
  return substrata_source_add(&source) == 0;
}

substrata_recorder* begin_trace() {
  const char* const path = std::getenv("SUBSTRATA_MEMORY_TRACE");
  if (path == nullptr || path[0] == '\0') return nullptr;
  substrata_recorder* recorder = nullptr;
  if (substrata_record_start(path, "mem.cpu*.accesses", nullptr, &recorder) != 0) {
    report(substrata_feed_error());
    return nullptr;
  }
  return recorder;
}

}  // namespace substrata::access_tracer
