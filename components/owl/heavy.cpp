// Module heavy: the most frequent keys.
#include <algorithm>
#include <utility>
#include <vector>

#include "owl/blocks.hpp"
#include "owl/module.hpp"

namespace substrata::owl {
namespace {

// The most frequent keys with few counters: a new key takes over the smallest counter and its count as
// possible error (Metwally, Agrawal and El Abbadi, "space saving", ICDT 2005).
class Heavy {
 public:
  static constexpr Register kRegisters[] = {
      reg("counters", "counters", 64, 1, 4096),
      reg("block", "bytes of a block, a power of two", 64, 1, uint64_t{1} << 40),
      reg("site", "1: by code address instead of address", 0, 0, 1),
  };
  static constexpr Metric kMetrics[] = {
      count_metric("TRANSACTIONS", "transactions counted", "transactions"),
      gauge_metric("GREATEST", "count of the most frequent key", "transactions"),
      gauge_metric("ERROR", "by how much a count may be too large", "transactions"),
  };
  static void cost(const uint64_t* r, Cost& out) noexcept { out = {2 * r[0], r[0] * 64, r[0]}; }
  static const char* objection(const uint64_t* r) noexcept { return block_objection(r[1]); }
  Heavy(const uint64_t* r, const Services& services)
      : shift_(r[2] != 0 ? 0 : shift_of(r[1])),
        by_site_(r[2] != 0),
        services_(services),
        counts_(r[0]),
        merged_(2 * r[0]) {}
  void observe(const Transaction* batch, size_t count) noexcept {
    for (size_t i = 0; i < count; ++i) take((by_site_ ? batch[i].site : batch[i].address) >> shift_);
    transactions_ += count;
  }
  void write_back() noexcept {
    std::sort(counts_.begin(), counts_.begin() + used_, [](const Entry& a, const Entry& b) {
      return a.count != b.count ? a.count > b.count : a.key < b.key;
    });
    for (uint32_t i = 0; i < used_; ++i) {
      const uint64_t packet[3] = {counts_[i].key << shift_, counts_[i].count, counts_[i].error};
      services_.emit(packet, sizeof packet);
    }
  }
  // A key that one of two full arrays does not have may have been seen there as often as its least counter
  // says (Agarwal et al., "Mergeable summaries", PODS 2012).
  void merge(Heavy& from) noexcept {
    const uint64_t unseen_here = unseen();
    const uint64_t unseen_there = from.unseen();
    uint32_t used = 0;
    for (uint32_t i = 0; i < used_; ++i) {
      Entry entry = counts_[i];
      const Entry* const other = from.find(entry.key);
      entry.count += other != nullptr ? other->count : unseen_there;
      entry.error += other != nullptr ? other->error : unseen_there;
      merged_[used++] = entry;
    }
    for (uint32_t i = 0; i < from.used_; ++i) {
      const Entry& entry = from.counts_[i];
      if (find(entry.key) != nullptr) continue;
      merged_[used++] = {entry.key, entry.count + unseen_here, entry.error + unseen_here};
    }
    std::sort(merged_.begin(), merged_.begin() + used, [](const Entry& a, const Entry& b) {
      return a.count != b.count ? a.count > b.count : a.key < b.key;
    });
    used_ = std::min(used, static_cast<uint32_t>(counts_.size()));
    std::copy_n(merged_.begin(), used_, counts_.begin());
    from.used_ = 0;
    transactions_ += std::exchange(from.transactions_, 0);
  }
  void read(uint64_t* metrics) const noexcept {
    uint64_t greatest = 0;
    uint64_t error = 0;
    for (uint32_t i = 0; i < used_; ++i) {
      greatest = std::max(greatest, counts_[i].count);
      error = std::max(error, counts_[i].error);
    }
    metrics[0] = transactions_;
    metrics[1] = greatest;
    metrics[2] = error;
  }

 private:
  struct Entry {
    uint64_t key = 0;
    uint64_t count = 0;
    uint64_t error = 0;
  };
  // How often a key without a counter may have been seen.
  uint64_t unseen() const noexcept {
    if (used_ < counts_.size()) return 0;
    return std::min_element(counts_.begin(), counts_.end(),
                            [](const Entry& a, const Entry& b) { return a.count < b.count; })
        ->count;
  }
  const Entry* find(uint64_t key) const noexcept {
    for (uint32_t i = 0; i < used_; ++i) {
      if (counts_[i].key == key) return &counts_[i];
    }
    return nullptr;
  }
  void take(uint64_t key) noexcept {
    uint32_t least = 0;
    for (uint32_t i = 0; i < used_; ++i) {
      if (counts_[i].key == key) {
        ++counts_[i].count;
        return;
      }
      if (counts_[i].count < counts_[least].count) least = i;
    }
    if (used_ < counts_.size()) {
      counts_[used_++] = {key, 1, 0};
    } else {
      counts_[least] = {key, counts_[least].count + 1, counts_[least].count};
    }
  }
  const unsigned shift_;
  const bool by_site_;
  const Services services_;
  std::vector<Entry> counts_;
  std::vector<Entry> merged_;  // space for both arrays of a merge
  uint32_t used_ = 0;
  uint64_t transactions_ = 0;
};

}  // namespace

constexpr Module kHeavyModule = make_module<Heavy>("heavy", "the most frequent blocks or code addresses",
                                                   "u64 key, u64 count, u64 possible error");

}  // namespace substrata::owl
