// Module guard: address-range assertions.
#include <algorithm>
#include <limits>

#include "module.hpp"

namespace substrata::owl {
namespace {

constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();

// Address-range assertions on every access. A range with low > high is empty.
class Guard {
 public:
  static constexpr Register kRegisters[] = {
      reg("low0", "range 0: first address", kAll, 0, kAll, true),
      reg("high0", "its last address", 0, 0, kAll, true),
      reg("deny0", "what is forbidden there: 1 reads, 2 writes, 4 fetches, together", 2, 0, 7, true),
      reg("low1", "range 1: first address", kAll, 0, kAll, true),
      reg("high1", "its last address", 0, 0, kAll, true),
      reg("deny1", "what is forbidden there", 2, 0, 7, true),
      reg("low2", "range 2: first address", kAll, 0, kAll, true),
      reg("high2", "its last address", 0, 0, kAll, true),
      reg("deny2", "what is forbidden there", 2, 0, 7, true),
      reg("low3", "range 3: first address", kAll, 0, kAll, true),
      reg("high3", "its last address", 0, 0, kAll, true),
      reg("deny3", "what is forbidden there", 2, 0, 7, true),
      reg("within_low", "every access must be from this address on", 0, 0, kAll, true),
      reg("within_high", "up to this one", kAll, 0, kAll, true),
  };
  static constexpr Metric kMetrics[] = {
      count_metric("CHECKED", "accesses checked", "accesses"),
      count_metric("VIOLATIONS", "accesses that an assertion forbids", "accesses"),
  };
  static void cost(const uint64_t*, Cost& out) noexcept { out = {2, 14 * 64, 14}; }
  static bool forwards(const uint64_t*) noexcept { return true; }
  Guard(const uint64_t* r, const Services& services) : services_(services) { configure(r); }
  void configure(const uint64_t* r) noexcept { std::copy_n(r, std::size(kRegisters), r_); }
  void observe(const Transaction* batch, size_t count) noexcept {
    for (size_t i = 0; i < count; ++i) {
      const Transaction& t = batch[i];
      if (!is_access(t)) continue;
      ++counts_.checked;
      const uint64_t last =
          t.size > 1 && t.address <= kAll - (t.size - 1) ? t.address + t.size - 1 : t.address;
      const uint64_t does = t.kind == SUBSTRATA_READ    ? 1
                            : t.kind == SUBSTRATA_WRITE ? 2
                            : t.kind == SUBSTRATA_FETCH ? 4
                                                        : 3;
      uint32_t broken = t.address < r_[12] || last > r_[13] ? 5 : 0;
      for (uint32_t range = 0; range < 4 && broken == 0; ++range) {
        const uint64_t* const at = r_ + 3 * range;
        if (at[0] <= at[1] && last >= at[0] && t.address <= at[1] && (does & at[2]) != 0) broken = range + 1;
      }
      if (broken == 0) continue;
      ++counts_.violations;
      services_.signal(t, broken - 1);
      services_.forward(&t, 1);
    }
  }
  void merge(Guard& from) noexcept { move_counts(counts_, from.counts_); }
  void read(uint64_t* metrics) const noexcept { give(counts_, metrics); }

 private:
  // In the order of kMetrics.
  struct Counts {
    uint64_t checked, violations;
  };
  uint64_t r_[std::size(kRegisters)] = {};
  const Services services_;
  Counts counts_{};
};

}  // namespace

constexpr Module kGuardModule = make_module<Guard>(
    "guard", "address-range assertions on every access; a violation is signalled on the access itself",
    "the access that violates an assertion");

}  // namespace substrata::owl
