// Module workingset: different blocks in each window.
#include <algorithm>
#include <bit>
#include <vector>

#include "owl/blocks.hpp"
#include "owl/module.hpp"

namespace substrata::owl {
namespace {

// Different blocks in each window of so many transactions.
class WorkingSet {
 public:
  static constexpr Register kRegisters[] = {
      reg("window", "transactions of a window", 10000, 1, 1 << 22),
      reg("block", "bytes of a block, a power of two", 4096, 1, uint64_t{1} << 40),
  };
  static constexpr Metric kMetrics[] = {
      count_metric("TRANSACTIONS", "transactions seen", "transactions"),
      count_metric("WINDOWS", "windows that ended", "windows"),
      gauge_metric("BLOCKS", "different blocks of the last whole window", "blocks"),
      gauge_metric("MOST_BLOCKS", "the largest number so far", "blocks"),
  };
  static void cost(const uint64_t* r, Cost& out) noexcept { out = {4, std::bit_ceil(r[0] * 2) * 96, 1}; }
  static const char* objection(const uint64_t* r) noexcept { return block_objection(r[1]); }
  WorkingSet(const uint64_t* r, const Services& services)
      : window_(r[0]), shift_(shift_of(r[1])), services_(services), places_(std::bit_ceil(window_ * 2)) {}
  void observe(const Transaction* batch, size_t count) noexcept {
    for (size_t i = 0; i < count; ++i) {
      const uint64_t block = batch[i].address >> shift_;
      size_t at = (block * 0x9e3779b97f4a7c15u >> 32) & (places_.size() - 1);
      while (places_[at].window == counts_.windows + 1 && places_[at].block != block)
        at = (at + 1) & (places_.size() - 1);
      if (places_[at].window != counts_.windows + 1) {
        places_[at] = {block, counts_.windows + 1};
        ++different_;
      }
      if (++counts_.transactions % window_ != 0) continue;
      const uint64_t packet[2] = {batch[i].time, different_};
      services_.emit(packet, sizeof packet);
      counts_.blocks = different_;
      counts_.most = std::max(counts_.most, different_);
      different_ = 0;
      ++counts_.windows;
    }
  }
  void read(uint64_t* metrics) const noexcept { give(counts_, metrics); }

 private:
  // In the order of kMetrics.
  struct Counts {
    uint64_t transactions, windows, blocks, most;
  };
  struct Place {
    uint64_t block = 0;
    uint64_t window = 0;  // number of the window that put it there
  };
  const uint64_t window_;
  const unsigned shift_;
  const Services services_;
  std::vector<Place> places_;
  uint64_t different_ = 0;
  Counts counts_{};
};

}  // namespace

constexpr Module kWorkingSetModule =
    make_module<WorkingSet>("workingset", "different blocks in each window", "u64 time, u64 blocks");

}  // namespace substrata::owl
