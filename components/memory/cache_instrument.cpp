// The cache model on the feed.
#include "memory/cache_instrument.hpp"
#include "base/parse.hpp"

#include <substrata/result.hpp>

#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace substrata::memory {
namespace {

struct Current {
  std::mutex mutex;
  CurrentMachine machine;
};
Current& current() noexcept {
  static auto* const state = new Current;
  return *state;
}

template <typename Traffic>
void run_batch(const substrata_transaction* batch, size_t count, Caches& caches, Counts& counts,
               Traffic& traffic) noexcept {
  for (size_t i = 0; i < count; ++i) {
    const substrata_transaction& t = batch[i];
    if (t.kind < SUBSTRATA_READ || t.kind > SUBSTRATA_FETCH) continue;  // locks, calls, allocations
    const bool atomic = t.kind == SUBSTRATA_ATOMIC;
    const bool write = atomic || t.kind == SUBSTRATA_WRITE;
    ++counts.accesses;
    counts.reads += static_cast<uint64_t>(!write || atomic);
    counts.writes += static_cast<uint64_t>(write);
    counts.atomics += static_cast<uint64_t>(atomic);
    counts.bytes += t.size;
    if constexpr (!std::is_same_v<Traffic, NoTraffic>) traffic.cause(t);
    caches.access(t.address, t.size, write, counts, traffic);
  }
}

}  // namespace

void add_counts(const Counts& counts, CountCounters& counters) noexcept {
  const uint64_t fields[kCountFields] = {counts.accesses,
                                         counts.reads,
                                         counts.writes,
                                         counts.atomics,
                                         counts.bytes,
                                         counts.references,
                                         counts.l1_misses,
                                         counts.l2_misses,
                                         counts.l1_write_backs,
                                         counts.l2_write_backs,
                                         counts.back_invalidations};
  for (uint32_t i = 0; i < kCountFields; ++i) counters[i].add(fields[i]);
}

CurrentMachine current_machine() noexcept {
  Current& state = current();
  const std::lock_guard lock(state.mutex);
  return state.machine;
}

void begin_machine(const Geometry& geometry) noexcept {
  substrata_flush();  // what was published before belongs to the machine before
  Current& state = current();
  const std::lock_guard lock(state.mutex);
  state.machine.geometry = geometry;
  ++state.machine.generation;
}

int add_cpu_probe(uint32_t cpu, const char* what, uint32_t* number) noexcept {
  char name[64];
  std::snprintf(name, sizeof name, "mem.cpu%u.%s", cpu, what);
  return kSource.try_probe(
      name,
      std::strcmp(what, "accesses") == 0
          ? "loads, stores and atomics of one processor; initiator: the processor"
      : std::strcmp(what, "l1-l2") == 0
          ? "lines between first and second level (fill, write-back, invalidate); initiator: the processor"
          : "lines between second level and memory (fill, write-back); initiator: the processor",
      number);
}

int TrafficPublisher::open(uint32_t cpu, uint64_t line_bytes) noexcept {
  cpu_ = cpu;
  line_bytes_ = static_cast<uint32_t>(line_bytes);
  uint32_t number = 0;
  if (const int refused = add_cpu_probe(cpu, "l1-l2", &number)) return refused;
  if (const int refused = l1_l2_.try_open(number)) return refused;
  if (const int refused = add_cpu_probe(cpu, "l2-memory", &number)) return refused;
  return l2_memory_.try_open(number);
}

CacheInstrument::CacheInstrument(std::optional<Geometry> geometry, bool publishing)
    : ObservingInstrument(kAccessProbes), geometry_(geometry), publishing_(publishing), cpus_(kMostCpus) {}

CacheInstrument::~CacheInstrument() { end_observation(); }

CacheInstrument::Cpu& CacheInstrument::cpu(uint32_t index) {
  const std::lock_guard lock(cpus_mutex_);
  if (cpus_[index] == nullptr) cpus_[index] = std::make_unique<Cpu>();
  return *cpus_[index];
}

const CountCounters& CacheInstrument::of_cpu(uint32_t index) { return cpu(index).counters; }

CacheInstrument::Cpu* CacheInstrument::cpu_of_probe(uint16_t probe) {
  if (by_probe_.size() <= probe) by_probe_.resize(probe + 1u);
  if (by_probe_[probe] != nullptr) return by_probe_[probe];
  auto info = client::sized<substrata_probe_info>();
  if (substrata_probe_at(probe, &info) != 0) return nullptr;
  std::string_view name = info.name;
  name.remove_prefix(std::string_view("mem.cpu").size());
  uint32_t index = 0;
  const size_t length = leading_number(name, &index);
  if (length == 0 || name.substr(length) != ".accesses" || index >= kMostCpus) return nullptr;
  Cpu& found = cpu(index);
  const CurrentMachine machine = current_machine();
  const Geometry geometry = geometry_.value_or(machine.geometry);
  if (publishing_ && found.traffic == nullptr) {
    auto traffic = std::make_unique<TrafficPublisher>();
    if (traffic->open(index, geometry.line_bytes) != 0) return nullptr;
    found.traffic = std::move(traffic);
  }
  return by_probe_[probe] = &found;
}

void CacheInstrument::observe(const substrata_transaction* batch, size_t count) noexcept {
  try {
    Cpu* const found = cpu_of_probe(batch[0].probe);
    if (found == nullptr) {
      lost_.add(count);
      return;
    }
    const CurrentMachine machine = current_machine();
    if (found->caches == nullptr || found->generation != machine.generation) {
      found->caches = std::make_unique<Caches>(geometry_.value_or(machine.geometry));
      found->generation = machine.generation;
    }
    Counts counts;
    if (publishing_) {
      run_batch(batch, count, *found->caches, counts, *found->traffic);
    } else {
      NoTraffic none;
      run_batch(batch, count, *found->caches, counts, none);
    }
    add_counts(counts, found->counters);
    add_counts(counts, total_);
  } catch (...) {
    lost_.add(count);
  }
}

}  // namespace substrata::memory
