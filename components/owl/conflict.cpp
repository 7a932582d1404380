// Module conflict: lines that drive each other out of a cache.
#include <bit>
#include <utility>
#include <vector>

#include "owl/blocks.hpp"
#include "owl/counter_array.hpp"
#include "owl/module.hpp"

namespace substrata::owl {
namespace {

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
      ++counts_.fills;
      const uint64_t line = (t.address >> shift_) + 1;  // 0: none
      Set& set = sets_[(line - 1) & (sets_.size() - 1)];
      for (uint32_t back = 1; back <= window_; ++back) {
        if (set.line[(set.next - back) % kRemembered] != line) continue;
        ++counts_.returns;
        counts_.returns_next += t.state == SUBSTRATA_HIT ? 1 : 0;
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
  void read(uint64_t* metrics) const noexcept { give(counts_, metrics); }

 private:
  // In the order of kMetrics.
  struct Counts {
    uint64_t fills, returns, returns_next;
  };
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
  Counts counts_{};
};

}  // namespace

constexpr Module kConflictModule =
    make_module<Conflict>("conflict", "pairs of lines that drive each other out of a cache's sets",
                          "u64 address, u64 address, u64 times");

}  // namespace substrata::owl
