// Module guard: assertions about addresses and values.
#include <algorithm>
#include <limits>

#include "owl/module.hpp"

namespace substrata::owl {
namespace {

constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();

// Assertions on every access: ranges of addresses, and bounds of the values that lie in one. A range with low > high
// is empty.
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
      reg("values_low", "bounds of values: of accesses from this address on, where they carry a value", kAll,
          0, kAll, true),
      reg("values_high", "up to this one", 0, 0, kAll, true),
      reg("value_low", "the least value allowed there", 0, 0, kAll, true),
      reg("value_high", "the greatest", kAll, 0, kAll, true),
  };
  enum Index { kWithinLow = 12, kWithinHigh, kValuesLow, kValuesHigh, kValueLow, kValueHigh };
  static constexpr Metric kMetrics[] = {
      count_metric("CHECKED", "accesses checked", "accesses"),
      count_metric("VIOLATIONS", "accesses that an assertion forbids", "accesses"),
  };
  static void cost(const uint64_t*, Cost& out) noexcept {
    out = {2, std::size(kRegisters) * 64, std::size(kRegisters)};
  }
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
      uint32_t broken = t.address < r_[kWithinLow] || last > r_[kWithinHigh] ? 5 : 0;
      if (has_value(t) && t.address >= r_[kValuesLow] && t.address <= r_[kValuesHigh] &&
          (t.detail < r_[kValueLow] || t.detail > r_[kValueHigh]))
        broken = 6;
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
    "guard",
    "assertions about the addresses and values of accesses; a violation is signalled on the access itself",
    "the access that violates an assertion");

}  // namespace substrata::owl
