// Modules that look for one thing each: violated assertions, reuse distance, heavy hitters, false sharing,
// working sets, and lines that drive each other out of a cache.
#include <algorithm>
#include <bit>
#include <limits>
#include <utility>
#include <vector>

#include "counter_array.hpp"
#include "module.hpp"

namespace substrata::owl {
namespace {

constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();

const char* block_objection(uint64_t block) noexcept {
  return std::has_single_bit(block) ? nullptr : "the register 'block' must hold a power of two";
}
unsigned shift_of(uint64_t block) noexcept { return static_cast<unsigned>(std::countr_zero(block)); }

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
  Guard(const uint64_t* r, const Services& services) : services_(services) { configure(r); }
  void configure(const uint64_t* r) noexcept { std::copy_n(r, std::size(kRegisters), r_); }
  void observe(const Transaction* batch, size_t count) noexcept {
    for (size_t i = 0; i < count; ++i) {
      const Transaction& t = batch[i];
      if (!is_access(t)) continue;
      ++checked_;
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
      ++violations_;
      services_.signal(t, broken - 1);
      services_.forward(&t, 1);
    }
  }
  void read(uint64_t* metrics) const noexcept {
    metrics[0] = checked_;
    metrics[1] = violations_;
  }

 private:
  uint64_t r_[std::size(kRegisters)] = {};
  const Services services_;
  uint64_t checked_ = 0;
  uint64_t violations_ = 0;
};

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
  void read(uint64_t* metrics) const noexcept {
    metrics[0] = accesses_;
    metrics[1] = cold_;
    metrics[2] = near_;
    metrics[3] = middle_;
    metrics[4] = far_;
    metrics[5] = held_;
  }

 private:
  static constexpr uint64_t kUnowned = ~uint64_t{0};
  void touch(uint64_t block) noexcept {
    ++accesses_;
    if (now_ == times_) compact();
    bool known = true;
    uint32_t& last = last_.use(block, [&](uint64_t, uint32_t old) {
      add(old, -1);
      owner_[old] = kUnowned;
      --held_;
    });
    if (last == 0) known = false;
    if (known) {
      const uint64_t distance = held_ - sum(last);
      ++bins_[std::bit_width(distance)];
      ++(distance < 512 ? near_ : distance < 16384 ? middle_ : far_);
      add(last, -1);
      owner_[last] = kUnowned;
    } else {
      ++cold_;
      ++held_;
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
  uint64_t held_ = 0;
  uint64_t bins_[kBins] = {};
  uint64_t accesses_ = 0;
  uint64_t cold_ = 0;
  uint64_t near_ = 0;
  uint64_t middle_ = 0;
  uint64_t far_ = 0;
};

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
    move_count(transactions_, from.transactions_);
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

// Lines that several initiators use, at least one writing, while no byte is shared.
class Sharing {
 public:
  static constexpr unsigned kUsers = 8;
  static constexpr Register kRegisters[] = {
      reg("lines", "lines followed; the least recently used one is judged and given up", 1024, 1, 65536),
      reg("line", "bytes of a line, a power of two up to 64", 64, 4, 64),
  };
  static constexpr Metric kMetrics[] = {
      count_metric("ACCESSES", "accesses seen", "accesses"),
      count_metric("PASSES", "writes to a line that another initiator used last", "accesses"),
      count_metric("FALSE_LINES", "judged lines shared without a shared byte", "lines"),
      count_metric("TRUE_LINES", "judged lines with a byte that one writes and another uses", "lines"),
  };
  static void cost(const uint64_t* r, Cost& out) noexcept {
    out = {3, r[0] * (64 + kUsers * (32 + 2 * r[1])), r[0]};
  }
  static const char* objection(const uint64_t* r) noexcept { return block_objection(r[1]); }
  Sharing(const uint64_t* r, const Services& services)
      : bytes_(r[1]), shift_(shift_of(r[1])), services_(services), lines_(static_cast<uint32_t>(r[0])) {}
  void observe(const Transaction* batch, size_t count) noexcept {
    for (size_t i = 0; i < count; ++i) {
      const Transaction& t = batch[i];
      if (!is_access(t) || t.kind == SUBSTRATA_FETCH) continue;
      ++accesses_;
      const uint64_t last = t.address + (t.size > 1 && t.address <= kAll - (t.size - 1) ? t.size - 1 : 0);
      for (uint64_t line = t.address >> shift_; line <= last >> shift_; ++line) {
        const uint64_t begin = line == t.address >> shift_ ? t.address & (bytes_ - 1) : 0;
        const uint64_t end = line == last >> shift_ ? last & (bytes_ - 1) : bytes_ - 1;
        use(line, t.initiator, t.kind != SUBSTRATA_READ, (kAll >> (63 - end)) & (kAll << begin));
        if (line == kAll >> shift_) break;
      }
    }
  }
  void write_back() noexcept {
    lines_.drain([this](uint64_t key, const Line& line) { judge(key, line); });
  }
  void read(uint64_t* metrics) const noexcept {
    metrics[0] = accesses_;
    metrics[1] = passes_;
    metrics[2] = false_lines_;
    metrics[3] = true_lines_;
  }

 private:
  struct User {
    uint32_t initiator;
    uint64_t read;
    uint64_t written;
  };
  struct Line {
    User users[kUsers] = {};
    uint32_t used = 0;
    uint32_t last = SUBSTRATA_NOBODY;
    uint64_t passes = 0;
  };
  void use(uint64_t number, uint32_t initiator, bool write, uint64_t bytes) noexcept {
    Line& line = lines_.use(number, [this](uint64_t key, const Line& old) { judge(key, old); });
    uint32_t at = 0;
    while (at < line.used && line.users[at].initiator != initiator) ++at;
    if (at == line.used) {
      if (line.used == kUsers) return;  // more users than are distinguished change no judgement
      line.users[line.used++] = {initiator, 0, 0};
    }
    (write ? line.users[at].written : line.users[at].read) |= bytes;
    if (write && line.last != SUBSTRATA_NOBODY && line.last != initiator) {
      ++line.passes;
      ++passes_;
    }
    line.last = initiator;
  }
  void judge(uint64_t number, const Line& line) noexcept {
    bool written = false;
    bool shared = false;
    for (uint32_t a = 0; a < line.used; ++a) {
      written = written || line.users[a].written != 0;
      for (uint32_t b = 0; b < line.used; ++b) {
        shared =
            shared || (a != b && (line.users[a].written & (line.users[b].written | line.users[b].read)) != 0);
      }
    }
    if (line.used < 2 || !written) return;
    ++(shared ? true_lines_ : false_lines_);
    const uint64_t packet[4] = {number << shift_, shared ? 0u : 1u, line.used, line.passes};
    services_.emit(packet, sizeof packet);
  }
  const uint64_t bytes_;
  const unsigned shift_;
  const Services services_;
  CounterArray<Line> lines_;
  uint64_t accesses_ = 0;
  uint64_t passes_ = 0;
  uint64_t false_lines_ = 0;
  uint64_t true_lines_ = 0;
};

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
      while (places_[at].window == windows_ + 1 && places_[at].block != block)
        at = (at + 1) & (places_.size() - 1);
      if (places_[at].window != windows_ + 1) {
        places_[at] = {block, windows_ + 1};
        ++different_;
      }
      if (++transactions_ % window_ != 0) continue;
      const uint64_t packet[2] = {batch[i].time, different_};
      services_.emit(packet, sizeof packet);
      blocks_ = different_;
      most_ = std::max(most_, different_);
      different_ = 0;
      ++windows_;
    }
  }
  void read(uint64_t* metrics) const noexcept {
    metrics[0] = transactions_;
    metrics[1] = windows_;
    metrics[2] = blocks_;
    metrics[3] = most_;
  }

 private:
  struct Place {
    uint64_t block = 0;
    uint64_t window = 0;  // number of the window that put it there
  };
  const uint64_t window_;
  const unsigned shift_;
  const Services services_;
  std::vector<Place> places_;
  uint64_t transactions_ = 0;
  uint64_t windows_ = 0;
  uint64_t different_ = 0;
  uint64_t blocks_ = 0;
  uint64_t most_ = 0;
};

// Lines that come back into a set from which they were driven out a short time ago, and by which line:
// conflict misses.
class Conflict {
 public:
  static constexpr unsigned kRemembered = 16;
  static constexpr Register kRegisters[] = {
      reg("sets", "sets of the cache, a power of two", 64, 1, 1 << 20),
      reg("line", "bytes of a line, a power of two", 64, 4, 4096),
      reg("window", "a line is driven out if it comes back within so many fills of its set", 16, 1,
          kRemembered),
      reg("counters", "pairs of lines counted at once", 1024, 1, 65536),
  };
  static constexpr Metric kMetrics[] = {
      count_metric("FILLS", "lines that came in", "lines"),
      count_metric("RETURNS", "of them those that were driven out a short time ago", "lines"),
      count_metric("RETURNS_FROM_NEXT_LEVEL", "of these those that the next level still had", "lines"),
  };
  static void cost(const uint64_t* r, Cost& out) noexcept {
    out = {r[3], r[0] * kRemembered * 64 + r[3] * 128, kRemembered};
  }
  static const char* objection(const uint64_t* r) noexcept {
    return std::has_single_bit(r[0]) && std::has_single_bit(r[1]) ? nullptr
                                                                  : "sets and line must be powers of two";
  }
  Conflict(const uint64_t* r, const Services& services)
      : shift_(shift_of(r[1])),
        window_(static_cast<uint32_t>(r[2])),
        services_(services),
        sets_(r[0]),
        pairs_(static_cast<uint32_t>(r[3])) {}
  void observe(const Transaction* batch, size_t count) noexcept {
    for (size_t i = 0; i < count; ++i) {
      const Transaction& t = batch[i];
      if (t.kind != SUBSTRATA_FILL) continue;
      ++fills_;
      const uint64_t line = (t.address >> shift_) + 1;  // 0: none
      Set& set = sets_[(line - 1) & (sets_.size() - 1)];
      for (uint32_t back = 1; back <= window_; ++back) {
        if (set.line[(set.next - back) % kRemembered] != line) continue;
        ++returns_;
        returns_next_ += t.state == SUBSTRATA_HIT ? 1 : 0;
        // Every line that came in since then took part in driving it out.
        for (uint32_t since = 1; since < back; ++since) {
          const uint64_t other = set.line[(set.next - since) % kRemembered];
          if (other != 0) count_pair(line - 1, other - 1);
        }
        break;
      }
      set.line[set.next++ % kRemembered] = line;
    }
  }
  void write_back() noexcept {
    pairs_.drain([this](uint64_t, const Pair& pair) { emit(pair); });
  }
  void read(uint64_t* metrics) const noexcept {
    metrics[0] = fills_;
    metrics[1] = returns_;
    metrics[2] = returns_next_;
  }

 private:
  struct Set {
    uint64_t line[kRemembered] = {};
    uint32_t next = kRemembered;
  };
  struct Pair {
    uint64_t a = 0;
    uint64_t b = 0;
    uint64_t count = 0;
  };
  void count_pair(uint64_t a, uint64_t b) noexcept {
    if (a > b) std::swap(a, b);
    // A key of both; two pairs with one key would be counted as one, so the packet's pair is the first of
    // them.
    Pair& pair = pairs_.use(a * 0xc2b2ae3d27d4eb4fu ^ b, [this](uint64_t, const Pair& old) { emit(old); });
    if (pair.count == 0) pair = {a, b, 0};
    ++pair.count;
  }
  void emit(const Pair& pair) noexcept {
    const uint64_t packet[3] = {pair.a << shift_, pair.b << shift_, pair.count};
    services_.emit(packet, sizeof packet);
  }
  const unsigned shift_;
  const uint32_t window_;
  const Services services_;
  std::vector<Set> sets_;
  CounterArray<Pair> pairs_;
  uint64_t fills_ = 0;
  uint64_t returns_ = 0;
  uint64_t returns_next_ = 0;
};

}  // namespace

constexpr Module kGuardModule = make_module<Guard>(
    "guard", "address-range assertions on every access; a violation is signalled on the access itself",
    "the access that violates an assertion");
constexpr Module kReuseModule =
    make_module<Reuse>("reuse", "distribution of reuse distances", "u64 least distance, u64 accesses");
constexpr Module kHeavyModule = make_module<Heavy>("heavy", "the most frequent blocks or code addresses",
                                                   "u64 key, u64 count, u64 possible error");
constexpr Module kSharingModule =
    make_module<Sharing>("sharing", "lines that processors share, truly or falsely",
                         "u64 address, u64 1 if falsely, u64 initiators, u64 passes from one to another");
constexpr Module kWorkingSetModule =
    make_module<WorkingSet>("workingset", "different blocks in each window", "u64 time, u64 blocks");
constexpr Module kConflictModule =
    make_module<Conflict>("conflict", "pairs of lines that drive each other out of a cache's sets",
                          "u64 address, u64 address, u64 times");

}  // namespace substrata::owl
