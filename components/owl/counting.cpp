// The plain modules: a performance counter, and a sampler of every n-th transaction.
#include <limits>

#include "owl/module.hpp"

namespace substrata::owl {
namespace {

constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();

// A plain performance counter.
class Counter {
 public:
  static constexpr Register kRegisters[] = {
      reg("kind", "counts transactions of this kind only; 0: of all", 0, 0, 65535),
      reg("state", "and of this state only; 0: of all", 0, 0, 65535),
      reg("period", "emits the count after so many; 0: never", 0, 0, kAll),
  };
  static constexpr Metric kMetrics[] = {
      count_metric("TRANSACTIONS", "transactions counted", "transactions"),
      count_metric("BYTES", "their sizes together", "bytes"),
      count_metric("READS", "loads, fetches, and the loads of atomics", "accesses"),
      count_metric("WRITES", "stores, and the stores of atomics", "accesses"),
      count_metric("MISSES", "those whose state is a miss", "transactions"),
  };
  static void cost(const uint64_t*, Cost& out) noexcept { out = {10, 0, 3}; }
  Counter(const uint64_t* r, const Services& services)
      : kind_(r[0]), state_(r[1]), period_(r[2]), services_(services) {}
  void observe(const Transaction* batch, size_t count) noexcept {
    for (size_t i = 0; i < count; ++i) {
      const Transaction& t = batch[i];
      if ((kind_ != 0 && t.kind != kind_) || (state_ != 0 && t.state != state_)) continue;
      ++counts_.transactions;
      counts_.bytes += t.size;
      counts_.reads +=
          t.kind == SUBSTRATA_READ || t.kind == SUBSTRATA_FETCH || t.kind == SUBSTRATA_ATOMIC ? 1 : 0;
      counts_.writes += t.kind == SUBSTRATA_WRITE || t.kind == SUBSTRATA_ATOMIC ? 1 : 0;
      counts_.misses += t.state == SUBSTRATA_MISS ? 1 : 0;
      if (period_ != 0 && ++since_ == period_) {
        since_ = 0;
        const uint64_t packet[3] = {t.time, counts_.transactions, counts_.bytes};
        services_.emit(packet, sizeof packet);
      }
    }
  }
  void merge(Counter& from) noexcept { move_counts(counts_, from.counts_); }
  void read(uint64_t* metrics) const noexcept { give(counts_, metrics); }

 private:
  // In the order of kMetrics.
  struct Counts {
    uint64_t transactions, bytes, reads, writes, misses;
  };
  const uint64_t kind_;
  const uint64_t state_;
  const uint64_t period_;
  const Services services_;
  uint64_t since_ = 0;  // the last packet
  Counts counts_{};
};

// A sampling profiler in the capsule: no interrupt, no handler.
class Sampler {
 public:
  static constexpr Register kRegisters[] = {
      reg("period", "every so many transactions one is taken", 1000, 1, kAll, true),
  };
  static constexpr Metric kMetrics[] = {
      count_metric("TRANSACTIONS", "transactions seen", "transactions"),
      count_metric("SAMPLES", "of them taken", "transactions"),
  };
  static void cost(const uint64_t*, Cost& out) noexcept { out = {4, 0, 1}; }
  static bool forwards(const uint64_t*) noexcept { return true; }
  Sampler(const uint64_t* r, const Services& services) : period_(r[0]), left_(r[0]), services_(services) {}
  void observe(const Transaction* batch, size_t count) noexcept {
    counts_.seen += count;
    size_t at = 0;
    while (count - at >= left_) {
      at += left_;
      left_ = period_;
      ++counts_.samples;
      services_.forward(batch + at - 1, 1);
    }
    left_ -= count - at;
  }
  void configure(const uint64_t* r) noexcept { period_ = left_ = r[0]; }
  void merge(Sampler& from) noexcept { move_counts(counts_, from.counts_); }
  void read(uint64_t* metrics) const noexcept { give(counts_, metrics); }

 private:
  // In the order of kMetrics.
  struct Counts {
    uint64_t seen, samples;
  };
  uint64_t period_;
  uint64_t left_;
  const Services services_;
  Counts counts_{};
};

}  // namespace

constexpr Module kCounterModule =
    make_module<Counter>("counter", "a plain performance counter", "u64 time, u64 transactions, u64 bytes");
constexpr Module kSamplerModule =
    make_module<Sampler>("sampler", "takes every n-th transaction", "a transaction");

}  // namespace substrata::owl
