// Pattern detection as the paper describes it: repeating subsequences, with gaps, by a longest common subsequence of
// the accesses now and those before.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "owl/module.hpp"
#include "owl/pattern.hpp"
#include "owl/pattern_table.hpp"
#include "owl/pending_accesses.hpp"

namespace substrata::owl {
namespace {

constexpr uint32_t kMostWindow = 512;
constexpr uint32_t kMostBefore = 4096;
constexpr uint32_t kMostGap = 64;

struct PatternRegisters {
  uint32_t rows, length, window, before, gap;
  uint64_t dead_after;
  explicit PatternRegisters(const uint64_t* r)
      : rows(static_cast<uint32_t>(r[0])),
        length(static_cast<uint32_t>(r[1])),
        window(static_cast<uint32_t>(r[2])),
        before(static_cast<uint32_t>(r[3])),
        gap(static_cast<uint32_t>(r[4])),
        dead_after(r[5]) {}
};

// The accesses in no pattern. After every window of them the last two windows are compared with those before, so that
// each stretch of a window's length lies whole in what is compared.
class CommonSubsequences {
 public:
  explicit CommonSubsequences(const PatternRegisters& r)
      : length_(r.length),
        window_(r.window),
        before_(r.before),
        gap_(r.gap),
        accesses_(r.before + 3 * r.window),
        lengths_(std::make_unique<uint16_t[]>(size_t{r.before + 1} * (2 * r.window + 1))) {
    pairs_.reserve(2 * window_);
  }
  // `follows`: the access before it is the one that was fed before. Calls give(steps, count) for each subsequence
  // found.
  template <typename Give>
  void feed(uint64_t address, bool follows, const Give& give) noexcept {
    if (held_ == accesses_.size()) {
      // The oldest window leaves.
      std::move(accesses_.begin() + window_, accesses_.end(), accesses_.begin());
      held_ -= window_;
    }
    const PatternStep step =
        follows && held_ != 0 ? step_between(accesses_[held_ - 1].address, address) : PatternStep{0, kBreak};
    accesses_[held_++] = {address, step};
    if (++fresh_ < window_) return;
    fresh_ = 0;
    const uint32_t begun = held_ - std::min(held_, 2 * window_);
    align(begun > before_ ? begun - before_ : 0, begun);
    give_runs(begun, give);
  }

 private:
  struct Access {
    uint64_t address;
    PatternStep step;  // from the access before
  };
  // Two steps that are the same: the access that each leads to.
  struct Pair {
    uint32_t then, now;
  };
  bool same(uint32_t then, uint32_t now) const noexcept {
    return accesses_[then].step == accesses_[now].step && accesses_[then].step.symbol != kBreak;
  }
  // The longest common subsequence of the steps [first, begun) and [begun, held_), with the latest of equal ones
  // (Wagner and Fischer, "The string-to-string correction problem", Journal of the ACM 21(1), 1974).
  void align(uint32_t first, uint32_t begun) noexcept {
    const uint32_t then_count = begun - first, now_count = held_ - begun, columns = now_count + 1;
    uint16_t* const length = lengths_.get();
    std::fill_n(length, columns, uint16_t{0});
    for (uint32_t i = 1; i <= then_count; ++i) {
      uint16_t* const row = length + size_t{i} * columns;
      const uint16_t* const above = row - columns;
      row[0] = 0;
      for (uint32_t j = 1; j <= now_count; ++j)
        row[j] = same(first + i - 1, begun + j - 1) ? static_cast<uint16_t>(above[j - 1] + 1)
                                                    : std::max(above[j], row[j - 1]);
    }
    pairs_.clear();
    for (uint32_t i = then_count, j = now_count; i != 0 && j != 0;) {
      if (same(first + i - 1, begun + j - 1)) {
        pairs_.push_back({first + --i, begun + --j});
      } else if (length[size_t{i} * columns + j - 1] >= length[size_t{i - 1} * columns + j]) {
        --j;
      } else {
        --i;
      }
    }
    std::reverse(pairs_.begin(), pairs_.end());
  }
  // From the access at `from` to that before `to`, where accesses stand between: false if a gap may not be so.
  bool gap_between(uint32_t from, uint32_t to, PatternStep* step) const noexcept {
    if (to - from - 1 > gap_) return false;
    for (uint32_t i = from + 1; i < to; ++i)
      if (accesses_[i].step.symbol == kBreak) return false;
    *step = step_between(accesses_[from].address, accesses_[to - 1].address);
    return step->symbol != kBreak;
  }
  // Pairs belong to one row as long as both sides go the same way, in the gaps too. It begins with kGram steps without
  // a gap, by which it is found, and ends before it comes to where its earlier occurrence ended. One that the edges of
  // what was compared cut is left to the comparison that has it whole.
  template <typename Give>
  void give_runs(uint32_t begun, const Give& give) noexcept {
    std::array<PatternStep, kLongestPattern> steps{};
    for (size_t at = 0; at < pairs_.size();) {
      const uint32_t apart = pairs_[at].now - pairs_[at].then;
      uint32_t most = length_ - 1;
      if (apart > PatternTable::kGram) most = std::min(most, apart - 1);
      uint32_t count = 0;
      const uint32_t first = pairs_[at].now;
      steps[count++] = accesses_[first].step;
      for (++at; at < pairs_.size() && count < most; ++at) {
        const Pair before = pairs_[at - 1], each = pairs_[at];
        PatternStep then{0, 0}, now{0, 0};
        if (!gap_between(before.then, each.then, &then) || !gap_between(before.now, each.now, &now) ||
            !(then == now))
          break;
        const bool gap = before.then + 1 != each.then && before.now + 1 != each.now;
        const bool any = before.then + 1 != each.then || before.now + 1 != each.now;
        if (any && (count < PatternTable::kGram || count + (gap ? 2 : 1) > most)) break;
        if (gap) steps[count++] = now;
        steps[count++] = accesses_[each.now].step;
      }
      const bool cut = count < most && (first == begun || pairs_[at - 1].now + 1 == held_);
      if (count >= PatternTable::kGram && !cut) give(steps.data(), count);
    }
  }

  const uint32_t length_, window_, before_, gap_;
  std::vector<Access> accesses_;
  std::unique_ptr<uint16_t[]> lengths_;
  std::vector<Pair> pairs_;
  uint32_t held_ = 0;
  uint32_t fresh_ = 0;  // of them not compared yet
};

class Lcs {
 public:
  static constexpr Register kRegisters[] = {
      reg("patterns", "rows of the table", kMostPatterns, 1, 4096),
      reg("length", "accesses of a pattern at most", kLongestPattern, PatternTable::kGram + 2,
          kLongestPattern),
      reg("window", "accesses after which the last twice as many are compared with those before", 100, 8,
          kMostWindow),
      reg("before", "accesses that they are compared with", 400, 8, kMostBefore),
      reg("gap", "other accesses that may stand among those of a pattern", 16, 0, kMostGap),
      patterns::kDeadAfter,
  };
  static constexpr Metric kMetrics[] = {
      patterns::kAccesses,
      patterns::kPoints,
      patterns::kCovered,
      count_metric("GAPS", "transactions in the gaps of these patterns", "transactions"),
      patterns::kLiterals,
      patterns::kDefinitions,
      patterns::kEvicted,
      patterns::kPatterns,
      gauge_metric("TABLE_BITS", "of these rows, each as wide as its largest difference needs", "bits")};
  static void cost(const uint64_t* r, Cost& out) noexcept {
    const PatternRegisters of(r);
    out = {9, uint64_t{of.rows} * of.length * 32 + (uint64_t{of.before} + 1) * (2 * of.window + 1) * 16,
           of.length};
  }
  static uint32_t longest_packet(const uint64_t* r) noexcept {
    const PatternRegisters of(r);
    return static_cast<uint32_t>(
        sizeof(PatternPacket) + std::max((of.length - 1) * sizeof(PatternStep), of.gap * sizeof(PatternGap)));
  }
  Lcs(const uint64_t* r, const Services& services)
      : with_(r),
        services_(services),
        table_(with_.rows),
        common_(with_),
        pending_(2 * (with_.length + with_.gap)) {}

  void observe(const Transaction* batch, size_t count) noexcept {
    for (size_t i = 0; i < count; ++i) {
      pending_.add(batch[i].address, [](uint64_t from, uint64_t to) { return step_between(from, to); });
      if (pending_.held() == with_.length + with_.gap) reduce();
    }
    counts_.accesses += count;
  }
  void write_back() noexcept {
    while (pending_.held() != 0) reduce();
    follows_ = false;
  }
  void read(uint64_t* metrics) const noexcept {
    give(counts_, metrics);
    metrics[6] = table_.evicted();
    metrics[7] = table_.held();
    metrics[8] = table_.adaptive_bits();
  }

 private:
  // The first of kMetrics.
  struct Counts {
    uint64_t accesses, points, covered, gaps, literals, definitions;
  };
  // The accesses pending as a row's: how many of them it takes, 0 if they are not; tried_ has the others among these.
  uint32_t taken_by(const PatternTable::Row& row) noexcept {
    uint64_t expected = pending_[0] + static_cast<uint64_t>(int64_t{row.step[0].distance});
    uint32_t members = 1;
    tried_count_ = 0;
    for (uint32_t i = 1; i < pending_.held(); ++i) {
      const uint64_t address = pending_[i];
      if (address != expected) {
        if (tried_count_ == with_.gap) return 0;
        tried_[tried_count_++] = {members, address};
        continue;
      }
      if (members == row.steps) return i + 1;
      expected += static_cast<uint64_t>(int64_t{row.step[members++].distance});
    }
    return 0;
  }
  // Takes the first pending access out, alone or with the pattern that begins with it.
  void reduce() noexcept {
    PatternTable::Row* best = nullptr;
    uint32_t taken = 0;
    if (pending_.held() > PatternTable::kGram) {
      table_.each_beginning(pending_.steps(), [&](PatternTable::Row& row) {
        if (best != nullptr && row.steps <= best->steps) return;
        const uint32_t all = taken_by(row);
        if (all == 0) return;
        best = &row;
        taken = all;
        gap_count_ = tried_count_;
        std::copy_n(tried_.begin(), tried_count_, gaps_.begin());
      });
    }
    if (best != nullptr) {
      point(*best);
      follows_ = false;
    } else {
      literal(pending_[0]);
      taken = 1;
    }
    pending_.drop(taken);
  }
  void point(PatternTable::Row& row) noexcept {
    if (row.number == 0) define(row);
    row.last_use = counts_.accesses;
    ++counts_.points;
    counts_.covered += row.steps + 1;
    counts_.gaps += gap_count_;
    unsigned char packet[sizeof(PatternPacket) + sizeof(PatternGap) * kMostGap];
    const PatternPacket head{gap_count_ == 0 ? kPoint : kGappedPoint, row.number, pending_[0]};
    std::memcpy(packet, &head, sizeof head);
    std::memcpy(packet + sizeof head, gaps_.data(), gap_count_ * sizeof(PatternGap));
    services_.emit(packet, sizeof head + gap_count_ * sizeof(PatternGap));
  }
  void define(PatternTable::Row& row) noexcept {
    row.number = ++last_number_;
    ++counts_.definitions;
    emit_definition(services_, row.number, row.head, row.step.data(), row.steps);
  }
  void literal(uint64_t address) noexcept {
    ++counts_.literals;
    const PatternPacket packet{kLiteral, 0, address};
    services_.emit(&packet, sizeof packet);
    common_.feed(address, follows_, [&](const PatternStep* steps, uint32_t count) {
      table_.insert(0, steps, count, counts_.accesses, with_.dead_after);
    });
    follows_ = true;
  }

  const PatternRegisters with_;
  const Services services_;
  PatternTable table_;
  CommonSubsequences common_;
  PendingAccesses<uint64_t> pending_;
  bool follows_ = false;  // the last thing given was a literal
  std::array<PatternGap, kMostGap> gaps_{};
  uint32_t gap_count_ = 0;
  std::array<PatternGap, kMostGap> tried_{};
  uint32_t tried_count_ = 0;
  uint32_t last_number_ = 0;
  Counts counts_{};
};

}  // namespace

constexpr Module kLcsModule = make_module<Lcs>(
    "lcs", "finds repeating subsequences of address differences, with gaps, and gives one point for each",
    "u32 kind, u32 symbol, u64 address; for a definition u32 pairs of distance and symbol, for a point "
    "with gaps u64 pairs of position and address: see substrata_owl_expander_take");

}  // namespace substrata::owl
