// Histograms: associative with the least recently used counter written back, miss rates, and directly indexed
// bins.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "owl/blocks.hpp"
#include "owl/counter_array.hpp"
#include "owl/module.hpp"
#include "owl/zeros.hpp"

namespace substrata::owl {
namespace {

// What a histogram counts by.
enum Key : uint64_t { kByAddress, kBySite, kByInitiator, kByTarget, kBySize, kByDetail, kByPhase };

uint64_t key_of(const Transaction& t, uint64_t by) noexcept {
  switch (by) {
    case kBySite:
      return t.site;
    case kByInitiator:
      return t.initiator;
    case kByTarget:
      return t.target;
    case kBySize:
      return t.size;
    case kByDetail:
      return t.detail;
    case kByPhase:
      return t.phase;
    default:
      return t.address;
  }
}

constexpr char kByText[] = "0 address, 1 site, 2 initiator, 3 target, 4 size, 5 detail, 6 phase";

// A packet of both associative histograms.
struct CountPacket {
  uint64_t key;
  uint64_t count;
  uint64_t misses;
};

// What both associative histograms are: an array of counters by block, lent to the blocks used last.
class BlockCounts {
 public:
  void write_back() noexcept {
    array_.drain([this](uint64_t key, const Counts& counts) { emit(key, counts); });
  }
  void merge(BlockCounts& from) noexcept {
    from.array_.drain([this](uint64_t key, const Counts& counts) {
      Counts& own = counter_of(key);
      own.count += counts.count;
      own.misses += counts.misses;
    });
    move_counts(totals_, from.totals_);
  }
  void read(uint64_t* metrics) const noexcept { give(totals_, metrics); }

 protected:
  // The first of both kMetrics.
  struct Totals {
    uint64_t accesses, misses, evictions;
  };
  struct Counts {
    uint64_t count = 0;
    uint64_t misses = 0;
  };
  // block: a power of two.
  BlockCounts(uint64_t counters, uint64_t block, const Services& services)
      : array_(static_cast<uint32_t>(counters)), shift_(shift_of(block)), services_(services) {}
  // The key's counter; the one that is taken away for it is written back.
  Counts& counter_of(uint64_t key) noexcept {
    return array_.use(key, [this](uint64_t old, const Counts& written) {
      ++totals_.evictions;
      emit(old, written);
    });
  }
  void emit(uint64_t key, const Counts& counts) noexcept {
    const CountPacket packet{key << shift_, counts.count, counts.misses};
    services_.emit(&packet, sizeof packet);
  }
  CounterArray<Counts> array_;
  const unsigned shift_;
  const Services services_;
  Totals totals_{};
};

// The module of the paper's sections 4.2 and 5.1.
class Histogram : public BlockCounts {
 public:
  static constexpr Register kRegisters[] = {
      reg("counters", "counters of the array", 64, 1, 65536),
      reg("block", "keys are counted in blocks of so many, a power of two", 64, 1, uint64_t{1} << 40),
      reg("key", kByText, 0, 0, 6),
  };
  static constexpr Metric kMetrics[] = {
      count_metric("ACCESSES", "transactions counted", "accesses"),
      count_metric("MISSES", "of them those whose state is a miss", "accesses"),
      count_metric("EVICTIONS", "counters written back for reuse", "packets"),
      gauge_metric("COUNTERS_USED", "counters lent at the moment", "counters"),
  };
  static void cost(const uint64_t* r, Cost& out) noexcept {
    // Two counters a key; a tag of 64 bits and a place in the order of use; every tag is compared at once.
    out = {2 * r[0], r[0] * (64 + std::bit_width(r[0])), r[0]};
  }
  static const char* objection(const uint64_t* r) noexcept { return block_objection(r[1]); }

  Histogram(const uint64_t* r, const Services& services) : BlockCounts(r[0], r[1], services), by_(r[2]) {}

  void observe(const Transaction* batch, size_t count) noexcept {
    if (by_ == kByAddress) {
      run(batch, count, [](const Transaction& t) { return t.address; });
    } else {
      run(batch, count, [this](const Transaction& t) { return key_of(t, by_); });
    }
  }
  void read(uint64_t* metrics) const noexcept {
    BlockCounts::read(metrics);
    metrics[3] = array_.used();
  }

 private:
  template <typename KeyOf>
  void run(const Transaction* batch, size_t count, const KeyOf& key) noexcept {
    for (size_t i = 0; i < count; ++i) {
      const uint64_t miss = batch[i].state == SUBSTRATA_MISS ? 1 : 0;
      Counts& counts = counter_of(key(batch[i]) >> shift_);
      ++counts.count;
      counts.misses += miss;
      totals_.misses += miss;
    }
    totals_.accesses += count;
  }
  const uint64_t by_;
};

// Accesses and the misses they caused for each block, where a capsule sees both sides of a cache: the
// accesses in front of it and the fills behind it.
class MissRate : public BlockCounts {
 public:
  static constexpr Register kRegisters[] = {
      reg("counters", "counters of the array", 64, 1, 65536),
      reg("block", "bytes of a block, a power of two", 64, 1, uint64_t{1} << 40),
  };
  static constexpr Metric kMetrics[] = {
      count_metric("ACCESSES", "loads, stores, atomics and fetches", "accesses"),
      count_metric("MISSES", "fills", "lines"),
      count_metric("EVICTIONS", "counters written back for reuse", "packets"),
  };
  static void cost(const uint64_t* r, Cost& out) noexcept {
    out = {2 * r[0], r[0] * (64 + std::bit_width(r[0])), r[0]};
  }
  static const char* objection(const uint64_t* r) noexcept { return block_objection(r[1]); }
  MissRate(const uint64_t* r, const Services& services) : BlockCounts(r[0], r[1], services) {}

  void observe(const Transaction* batch, size_t count) noexcept {
    for (size_t i = 0; i < count; ++i) {
      const Transaction& t = batch[i];
      const bool fill = t.kind == SUBSTRATA_FILL;
      if (!fill && !is_access(t)) continue;
      Counts& counts = counter_of(t.address >> shift_);
      if (fill) {
        ++counts.misses;
        ++totals_.misses;
      } else {
        ++counts.count;
        ++totals_.accesses;
      }
    }
  }
};

// A memory of counters that the key addresses directly, as in monitors with a wide counter memory.
class Bins {
 public:
  static constexpr Register kRegisters[] = {
      reg("bins", "counters; the key is taken modulo them", 4096, 1, uint64_t{1} << 22),
      reg("key", kByText, 0, 0, 6),
      reg("width", "bits of a counter; it stays at its largest value", 32, 1, 64),
      reg("threshold", "each increment of a counter above it is signalled, with its bin", ~uint64_t{0}, 0,
          ~uint64_t{0}, true),
  };
  static constexpr Metric kMetrics[] = {
      count_metric("COUNTED", "transactions counted", "transactions"),
      count_metric("SATURATED", "transactions that met a full counter", "transactions"),
      gauge_metric("BINS_USED", "counters that are not 0", "counters"),
  };
  static void cost(const uint64_t* r, Cost& out) noexcept { out = {0, r[0] * r[2], 0}; }
  Bins(const uint64_t* r, const Services& services)
      : size_(r[0]),
        bins_(zeros<uint64_t>(size_)),
        by_(r[1]),
        most_(r[2] == 64 ? ~uint64_t{0} : (uint64_t{1} << r[2]) - 1),
        threshold_(r[3]),
        services_(services) {}

  void configure(const uint64_t* r) noexcept { threshold_ = r[3]; }
  void observe(const Transaction* batch, size_t count) noexcept {
    for (size_t i = 0; i < count; ++i) {
      const uint64_t number = key_of(batch[i], by_) % size_;
      uint64_t& bin = bins_[number];
      used_ += bin == 0 ? 1 : 0;
      if (bin == most_) {
        ++counts_.saturated;
      } else if (++bin > threshold_) {
        services_.signal(batch[i], static_cast<uint32_t>(number));
      }
    }
    counts_.counted += count;
  }
  // Every bin that is not 0; the bins restart at 0.
  void write_back() noexcept {
    for (uint64_t i = 0; used_ > 0; ++i) {
      if (bins_[i] == 0) continue;
      const uint64_t packet[2] = {i, bins_[i]};
      services_.emit(packet, sizeof packet);
      bins_[i] = 0;
      --used_;
    }
  }
  void merge(Bins& from) noexcept {
    for (uint64_t i = 0; from.used_ > 0; ++i) {
      if (from.bins_[i] == 0) continue;
      const uint64_t more = std::exchange(from.bins_[i], 0);
      --from.used_;
      used_ += bins_[i] == 0 ? 1 : 0;
      const uint64_t taken = std::min(more, most_ - bins_[i]);
      bins_[i] += taken;
      counts_.saturated += more - taken;
    }
    move_counts(counts_, from.counts_);
  }
  void read(uint64_t* metrics) const noexcept {
    give(counts_, metrics);
    metrics[2] = used_;
  }

 private:
  // The first of kMetrics.
  struct Counts {
    uint64_t counted, saturated;
  };
  const uint64_t size_;
  const Zeros<uint64_t> bins_;
  const uint64_t by_;
  const uint64_t most_;
  uint64_t threshold_;
  const Services services_;
  Counts counts_{};
  uint64_t used_ = 0;
};

}  // namespace

constexpr Module kHistogramModule = make_module<Histogram>(
    "histogram",
    "counts transactions and misses per block with a few counters; the least recently used one is "
    "written back",
    "u64 key, u64 count, u64 misses");
constexpr Module kMissRateModule = make_module<MissRate>(
    "missrate", "accesses and fills of each block, for capsules that see both sides of a cache",
    "u64 address, u64 accesses, u64 misses");
constexpr Module kBinsModule =
    make_module<Bins>("bins", "a memory of counters that the key addresses directly", "u64 bin, u64 count");

}  // namespace substrata::owl
