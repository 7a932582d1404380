// Observes the accesses of every processor, runs them through caches, counts, and publishes the traffic
// between levels.
#pragma once

#include <substrata/feed.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "models/cache/cache_model.hpp"
#include "models/counting/counting.hpp"

namespace substrata::memory {

inline constexpr uint32_t kMostCpus = 1024;
inline constexpr char kAccessProbes[] = "mem.cpu*.accesses";

// The fields of Counts, in their order, as counters.
using CountCounters = std::array<counting::Counter, kCountFields>;
void add_counts(const Counts& counts, CountCounters& counters) noexcept;

// The geometry that events without cache qualifiers model: the default until a memory machine runs or
// follows, then that machine's. A new generation begins with cold caches. Thread-safe.
struct CurrentMachine {
  Geometry geometry;
  uint64_t generation = 0;
};
CurrentMachine current_machine() noexcept;
void begin_machine(const Geometry& geometry) noexcept;

// The source "memory" and its probe points for one processor. 0, or the feed's negative code.
inline constexpr client::feed::Source kSource = client::feed::Source::simulated(
    "memory", "a plain cache machine: two levels and memory for each processor, no coherence");
int add_cpu_probe(uint32_t cpu, const char* what, uint32_t* number) noexcept;

// Publishes the traffic of one processor at mem.cpu<i>.l1-l2 and mem.cpu<i>.l2-memory. The access that causes
// it lends its time, initiator, site, program and phase.
class TrafficPublisher {
 public:
  // 0, or the feed's negative code.
  int open(uint32_t cpu, uint64_t line_bytes) noexcept;
  void cause(const substrata_transaction& access) noexcept { cause_ = &access; }

  void l1_fill(uint64_t address, bool hit) noexcept {
    publish(l1_l2_, address, SUBSTRATA_FILL, hit ? SUBSTRATA_HIT : SUBSTRATA_MISS);
  }
  void l1_write_back(uint64_t address) noexcept {
    publish(l1_l2_, address, SUBSTRATA_WRITE_BACK, SUBSTRATA_DIRTY);
  }
  void l1_invalidate(uint64_t address) noexcept {
    publish(l1_l2_, address, SUBSTRATA_INVALIDATE, SUBSTRATA_STATE_NONE);
  }
  void l2_fill(uint64_t address) noexcept {
    publish(l2_memory_, address, SUBSTRATA_FILL, SUBSTRATA_STATE_NONE);
  }
  void l2_write_back(uint64_t address) noexcept {
    publish(l2_memory_, address, SUBSTRATA_WRITE_BACK, SUBSTRATA_DIRTY);
  }
  uint64_t published() const noexcept { return published_; }

 private:
  void publish(const client::feed::Publisher& publisher, uint64_t address, uint16_t kind,
               uint16_t state) noexcept {
    substrata_transaction* const slot = publisher.reserve();
    if (slot == nullptr) return;
    *slot = {};
    slot->time = cause_->time;
    slot->address = address;
    slot->site = cause_->site;
    slot->initiator = cpu_;
    slot->size = line_bytes_;
    slot->kind = kind;
    slot->state = state;
    slot->program = cause_->program;
    slot->phase = cause_->phase;
    slot->flags = SUBSTRATA_FLAG_MODELLED;
    publisher.commit();
    ++published_;
  }
  client::feed::Publisher l1_l2_;
  client::feed::Publisher l2_memory_;
  const substrata_transaction* cause_ = nullptr;
  uint64_t published_ = 0;
  uint32_t cpu_ = 0;
  uint32_t line_bytes_ = 0;
};

// The caches of all processors with one geometry. Counters are looked at from any thread.
class CacheInstrument final : public counting::ObservingInstrument {
 public:
  // Without a geometry: the current machine's. publishing: also publishes the traffic.
  CacheInstrument(std::optional<Geometry> geometry, bool publishing);
  ~CacheInstrument() override;

  // All processors together, and one of them (cpu < kMostCpus; may throw std::bad_alloc).
  const CountCounters& total() const noexcept { return total_; }
  const CountCounters& of_cpu(uint32_t cpu);
  // Accesses that could not be modelled for want of memory.
  uint64_t lost() const noexcept { return lost_.value(); }

 protected:
  void observe(const substrata_transaction* batch, size_t count) noexcept override;

 private:
  struct Cpu {
    CountCounters counters;
    std::unique_ptr<Caches> caches;  // made by the first access
    std::unique_ptr<TrafficPublisher> traffic;
    uint64_t generation = 0;
  };
  Cpu& cpu(uint32_t index);
  // The processor whose accesses pass at a probe point, by the number in its name.
  Cpu* cpu_of_probe(uint16_t probe);

  const std::optional<Geometry> geometry_;
  const bool publishing_;
  CountCounters total_;
  counting::Counter lost_;
  std::mutex cpus_mutex_;  // around cpus_: one thread observes while another binds an event
  std::vector<std::unique_ptr<Cpu>> cpus_;
  std::vector<Cpu*> by_probe_;  // the observer's own
};

}  // namespace substrata::memory
