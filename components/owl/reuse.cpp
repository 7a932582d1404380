// Module reuse: the distribution of reuse distances.
#include <algorithm>
#include <bit>
#include <vector>

#include "owl/blocks.hpp"
#include "owl/counter_array.hpp"
#include "owl/module.hpp"

namespace substrata::owl {
namespace {

// How many other blocks were touched since the same block last was; exact for as many blocks as are followed.
// A tree of sums over the times of last use (Bennett and Kruskal, IBM J. R&D 1975).
class Reuse {
 public:
  static constexpr unsigned kBins = 33;
  static constexpr Register kRegisters[] = {
      reg("block", "bytes of a block, a power of two", 64, 1, uint64_t{1} << 40),
      reg("blocks", "blocks followed; larger distances count as FAR", 65536, 16, 1 << 22),
  };
  static constexpr Metric kMetrics[] = {
      count_metric("ACCESSES", "transactions seen", "accesses"),
      count_metric("COLD", "of them to a block not followed", "accesses"),
      count_metric("NEAR", "reused with a distance below 512 blocks, 32 KiB in lines of 64 bytes",
                   "accesses"),
      count_metric("MIDDLE", "with a distance of 512 to 16383 blocks", "accesses"),
      count_metric("FAR", "with a larger one", "accesses"),
      gauge_metric("BLOCKS", "blocks followed at the moment", "blocks"),
  };
  static void cost(const uint64_t* r, Cost& out) noexcept {
    out = {kBins, r[1] * (64 + 4 * uint64_t{std::bit_width(r[1])}), 1};
  }
  static const char* objection(const uint64_t* r) noexcept { return block_objection(r[0]); }
  Reuse(const uint64_t* r, const Services& services)
      : shift_(shift_of(r[0])),
        most_(static_cast<uint32_t>(r[1])),
        times_(std::bit_ceil(most_ * 4u)),
        services_(services),
        last_(most_ + 1),
        tree_(times_ + 1, 0),
        owner_(times_ + 1, kUnowned) {}
  void observe(const Transaction* batch, size_t count) noexcept {
    for (size_t i = 0; i < count; ++i) touch(batch[i].address >> shift_);
  }
  // The bins: distances of 2^(bin-1) up to 2^bin - 1; bin 0 holds distance 0.
  void write_back() noexcept {
    for (uint64_t bin = 0; bin < kBins; ++bin) {
      if (bins_[bin] == 0) continue;
      const uint64_t packet[2] = {bin == 0 ? 0 : uint64_t{1} << (bin - 1), bins_[bin]};
      services_.emit(packet, sizeof packet);
      bins_[bin] = 0;
    }
  }
  void read(uint64_t* metrics) const noexcept { give(counts_, metrics); }

 private:
  // In the order of kMetrics.
  struct Counts {
    uint64_t accesses, cold, near, middle, far, held;
  };
  static constexpr uint64_t kUnowned = ~uint64_t{0};
  void touch(uint64_t block) noexcept {
    ++counts_.accesses;
    if (now_ == times_) compact();
    bool known = true;
    uint32_t& last = last_.use(block, [&](uint64_t, uint32_t old) {
      add(old, -1);
      owner_[old] = kUnowned;
      --counts_.held;
    });
    if (last == 0) known = false;
    if (known) {
      const uint64_t distance = counts_.held - sum(last);
      ++bins_[std::bit_width(distance)];
      ++(distance < 512 ? counts_.near : distance < 16384 ? counts_.middle : counts_.far);
      add(last, -1);
      owner_[last] = kUnowned;
    } else {
      ++counts_.cold;
      ++counts_.held;
    }
    last = ++now_;
    add(last, 1);
    owner_[last] = block;
  }
  void add(uint32_t at, int32_t amount) noexcept {
    for (; at <= times_; at += at & (0u - at)) tree_[at] += static_cast<uint32_t>(amount);
  }
  uint64_t sum(uint32_t at) const noexcept {
    uint32_t total = 0;
    for (; at > 0; at -= at & (0u - at)) total += tree_[at];
    return total;
  }
  // All times are used: the blocks' times become 1, 2, ... in the same order.
  void compact() noexcept {
    uint32_t fresh = 0;
    for (uint32_t time = 1; time <= times_; ++time) {
      const uint64_t block = owner_[time];
      if (block == kUnowned) continue;
      owner_[time] = kUnowned;
      owner_[++fresh] = block;
    }
    // In the order of use, so that the order in the array stays what it was.
    std::fill(tree_.begin(), tree_.end(), 0);
    for (uint32_t time = 1; time <= fresh; ++time) {
      last_.use(owner_[time], [](uint64_t, uint32_t) {}) = time;
      add(time, 1);
    }
    now_ = fresh;
  }
  const unsigned shift_;
  const uint32_t most_;
  const uint32_t times_;
  const Services services_;
  CounterArray<uint32_t> last_;  // time of the last use by block; 0: new
  std::vector<uint32_t> tree_;
  std::vector<uint64_t> owner_;
  uint32_t now_ = 0;
  uint64_t bins_[kBins] = {};
  Counts counts_{};
};

}  // namespace

constexpr Module kReuseModule =
    make_module<Reuse>("reuse", "distribution of reuse distances", "u64 least distance, u64 accesses");

}  // namespace substrata::owl
