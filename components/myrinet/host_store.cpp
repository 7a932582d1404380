// The way of counts and records from the interfaces into host memory.
#include "myrinet/host_store.hpp"

#include <algorithm>
#include <utility>

#include "myrinet/cluster_parameters.hpp"

namespace substrata::myrinet {
namespace {

struct Counters {
  counting::Counter of[kMostNodes + 1][kHostCounts];
};
Counters& counters() noexcept {
  static Counters all;
  return all;
}
void count(uint32_t node, HostCount what, uint64_t times = 1) noexcept {
  counters().of[node][what].add_shared(times);
  counters().of[kMostNodes][what].add_shared(times);
}

struct Current {
  std::mutex mutex;
  std::shared_ptr<HostStore> store;
};
Current& current() noexcept {
  static auto* const one = new Current;
  return *one;
}

}  // namespace

const counting::Counter* host_counter(uint32_t node, HostCount count) noexcept {
  return &counters().of[std::min(node, kMostNodes)][count];
}

void use_host_store(std::shared_ptr<HostStore> store) noexcept {
  const std::lock_guard lock(current().mutex);
  current().store.swap(store);
}

std::shared_ptr<HostStore> host_store() noexcept {
  const std::lock_guard lock(current().mutex);
  return current().store;
}

std::string HostLayout::objection() const {
  constexpr uint32_t kLeastLines = 4;  // a stage changes so many
  constexpr uint32_t kMost = 1u << 24;
  if (cache_lines < kLeastLines || cache_lines > kMost)
    return std::to_string(cache_lines) + " lines of the cache are asked for, " + std::to_string(kLeastLines) +
           " to " + std::to_string(kMost) + " are possible";
  if (trace_ring > kMost || trace_buffer > kMost)
    return "at most " + std::to_string(kMost) + " packet records are possible";
  if (trace_ring != 0 && trace_buffer < HostStore::kRecordsAtOnce)
    return "a trace needs space for " + std::to_string(HostStore::kRecordsAtOnce) +
           " packet records on the interface, " + std::to_string(trace_buffer) + " are asked for";
  return {};
}

uint64_t HostLayout::interface_bytes(const Shape& shape) const noexcept {
  return shape.programs * (shape.sums_of_program() * sizeof(uint64_t) + shape.longest_of_program()) +
         uint64_t{cache_lines} * HostStore::kLineBytes + uint64_t{trace_buffer} * HostStore::kRecordBytes;
}

uint64_t HostLayout::host_bytes(const Shape& shape) const noexcept {
  return shape.programs * shape.counts_of_program() * sizeof(uint32_t) +
         uint64_t{trace_ring} * HostStore::kRecordBytes;
}

HostStore::HostStore(const Shape& shape, const HostLayout& layout)
    : layout_(layout),
      lines_of_program_(Layout(shape).size() / kLineCounts + 1),
      memory_(shape),
      interfaces_(shape.nodes) {
  static_assert(sizeof(substrata_myrinet_packet) == kRecordBytes);
}

HostStore::Forced HostStore::keep(uint32_t node, const substrata_transaction& stage, int64_t earlier_ns) {
  Forced forced;
  if (!recording()) return forced;
  const std::lock_guard lock(mutex_);
  MonitorMemory::Stage sorted;
  if (!memory_.sort(node, stage, &sorted)) return forced;
  if (sorted.cell == nullptr) sorted.cell = &memory_.made(node, stage.program);
  Interface& own = interfaces_[node];
  if (own.lines.empty()) own.lines.resize(layout_.cache_lines);
  const Layout& layout = memory_.layout();
  const Layout::Sample sample =
      layout.sample(sorted.latency, sorted.bytes, sorted.ps / kPicosecondsPerNanosecond);
  uint32_t* const words = sorted.cell->words();
  layout.add(words, sorted.latency, sorted.peer, sorted.type, sample, [&](const uint32_t* word) {
    const auto place = static_cast<uint32_t>(word - words);
    if (place != layout.size()) count_one(node, stage.program, place, &forced);
  });
  memory_.count_packet(sorted);
  if (layout_.trace_ring != 0) trace(node, stage, sorted.latency, earlier_ns, &forced);
  return forced;
}

void HostStore::count_one(uint32_t node, uint32_t program, uint32_t word, Forced* forced) {
  Interface& own = interfaces_[node];
  const uint64_t number = program * lines_of_program_ + word / kLineCounts;
  auto found = own.places.find(number);
  if (found == own.places.end()) {
    if (own.used == layout_.cache_lines) {
      write_back(node);
      ++own.counts.written_forced;
      count(node, kForcedWriteBacks);
      ++forced->lines;
    }
    const uint32_t place = (own.first + own.used) % layout_.cache_lines;
    found = own.places.emplace(number, place).first;
    own.lines[place] = {number, {}};
    ++own.used;
  }
  ++own.lines[found->second].increments[word % kLineCounts];
}

// The line in use that was begun first; there is one.
void HostStore::write_back(uint32_t node) {
  Interface& own = interfaces_[node];
  const Line& line = own.lines[own.first];
  Statistics& statistics = memory_.made(node, static_cast<uint32_t>(line.number / lines_of_program_));
  const uint64_t first = line.number % lines_of_program_ * kLineCounts;
  for (uint32_t i = 0; i < kLineCounts; ++i)
    if (line.increments[i] != 0) statistics.add_count(static_cast<uint32_t>(first) + i, line.increments[i]);
  own.places.erase(line.number);
  own.first = (own.first + 1) % layout_.cache_lines;
  --own.used;
  count(node, kWriteBacks);
}

void HostStore::fetch() {
  for (uint32_t node = 0; node < interfaces_.size(); ++node) {
    Interface& own = interfaces_[node];
    while (own.used != 0) {
      write_back(node);
      ++own.counts.fetched;
    }
  }
}

bool HostStore::waits(uint32_t node) const {
  const std::lock_guard lock(mutex_);
  return waits_locked(node);
}

bool HostStore::waits_locked(uint32_t node) const noexcept {
  if (node >= interfaces_.size()) return false;
  const Interface& own = interfaces_[node];
  return own.records.size() >= kRecordsAtOnce || own.used >= (layout_.cache_lines + 1) / 2;
}

uint32_t HostStore::move(uint32_t node) {
  const std::lock_guard lock(mutex_);
  Interface& own = interfaces_[node];
  if (own.records.size() >= kRecordsAtOnce) return move_records(node);
  if (own.used == 0) return 0;
  write_back(node);
  ++own.counts.written_idle;
  return kLineBytes;
}

void HostStore::trace(uint32_t node, const substrata_transaction& stage, uint32_t latency, int64_t earlier_ns,
                      Forced* forced) {
  const bool received = latency == SUBSTRATA_MYRINET_DEST;
  if (!received && latency != SUBSTRATA_MYRINET_LANAI) return;
  Interface& own = interfaces_[node];
  if (own.records.size() >= layout_.trace_buffer) {
    move_records(node);
    ++own.counts.trace_forced;
    ++forced->groups;
  }
  substrata_myrinet_packet record{};
  record.time_ns = stage.time / uint64_t{kPicosecondsPerNanosecond};
  record.detail = stage.detail;
  record.first_ns = earlier_ns;
  record.second_ns = static_cast<int32_t>(std::min<int64_t>(
      INT32_MAX, static_cast<int64_t>(stage.time - stage.start) / kPicosecondsPerNanosecond));
  record.bytes = stage.size;
  record.peer = static_cast<uint16_t>(received ? stage.initiator : stage.target);
  record.program = stage.program;
  record.received = received ? 1 : 0;
  own.records.push_back(record);
  ++own.counts.trace_records;
  count(node, kTraceRecords);
}

// What a full ring cannot take is lost.
uint32_t HostStore::move_records(uint32_t node) {
  Interface& own = interfaces_[node];
  const auto records = static_cast<uint32_t>(std::min<size_t>(own.records.size(), kRecordsAtOnce));
  for (uint32_t i = 0; i < records; ++i) {
    if (own.host.size() < layout_.trace_ring) {
      own.host.push_back(own.records.front());
    } else {
      ++own.counts.trace_dropped;
      count(node, kTraceDropped);
    }
    own.records.pop_front();
  }
  ++own.counts.trace_transfers;
  return records * kRecordBytes;
}

void HostStore::clear() {
  const std::lock_guard lock(mutex_);
  memory_.clear();
  for (Interface& own : interfaces_) {
    while (!own.records.empty()) own.records.pop_front();
    while (!own.host.empty()) own.host.pop_front();
    own.places.clear();
    own.first = 0;
    own.used = 0;
    own.counts = {};
  }
}

void HostStore::counts(uint32_t node, substrata_myrinet_host_counts* out) const {
  const std::lock_guard lock(mutex_);
  substrata_myrinet_host_counts sum{};
  for (uint32_t n = 0; n < interfaces_.size(); ++n) {
    if (node != SUBSTRATA_MYRINET_ALL && n != node) continue;
    const Interface& own = interfaces_[n];
    sum.written_idle += own.counts.written_idle;
    sum.written_forced += own.counts.written_forced;
    sum.fetched += own.counts.fetched;
    sum.lines_in_use += own.used;
    sum.trace_records += own.counts.trace_records;
    sum.trace_dropped += own.counts.trace_dropped;
    sum.trace_transfers += own.counts.trace_transfers;
    sum.trace_forced += own.counts.trace_forced;
  }
  sum.struct_size = out->struct_size;
  *out = sum;
}

uint32_t HostStore::read_trace(uint32_t node, substrata_myrinet_packet* out, uint32_t most) {
  const std::lock_guard lock(mutex_);
  Interface& own = interfaces_[node];
  uint32_t read = 0;
  for (Ring<substrata_myrinet_packet>* const ring : {&own.host, &own.records}) {
    for (; read < most && !ring->empty(); ++read) {
      out[read] = ring->front();
      ring->pop_front();
    }
  }
  return read;
}

}  // namespace substrata::myrinet
