// Pattern detection and reduction: repeating subsequences of address differences become one point each.
#include "owl/pattern.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "base/guard.hpp"
#include "owl/module.hpp"
#include "owl/pattern_table.hpp"
#include "owl/pending_accesses.hpp"

namespace substrata::owl {
namespace {

constexpr uint32_t kGram = PatternTable::kGram;
constexpr uint32_t kHistory = 4096;  // steps remembered to find repetitions in

// Finds repetitions among the steps that no pattern covers: the longest common run of the steps now and some
// time ago.
class Repetitions {
 public:
  Repetitions()
      : steps_(std::make_unique<PatternStep[]>(kHistory)), heads_(std::make_unique<uint32_t[]>(kHistory)) {
    last_.fill(0);
  }
  // A step with the detail of the access before it. True: *first and *count give a repetition that has ended,
  // whose steps `at` gives.
  bool feed(const PatternStep& step, uint32_t head, uint32_t most_steps, uint64_t* first,
            uint32_t* count) noexcept {
    const uint64_t now = ++position_;
    steps_[now % kHistory] = step;
    heads_[now % kHistory] = head;
    run_ = step.symbol == kBreak && step.distance == 0 ? 0 : run_ + 1;
    bool found = false;
    if (length_ != 0) {
      if (run_ != 0 && at(earlier_ + length_) == step && now - earlier_ - length_ < kHistory) {
        ++length_;
        if (length_ >= limit_) found = end(first, count);
      } else {
        found = end(first, count);
      }
    }
    if (run_ >= kGram) {
      PatternStep gram[kGram];
      for (uint32_t i = 0; i < kGram; ++i) gram[i] = at(now - kGram + 1 + i);
      uint32_t slot = PatternTable::hash_of(gram) % last_.size();
      const uint64_t seen = last_[slot];
      last_[slot] = now;
      if (length_ == 0 && !found && seen != 0 && now - seen < kHistory - kLongestPattern) {
        look(seen, now, gram, most_steps);
        if (length_ != 0 && length_ >= limit_) found = end(first, count);
      }
    }
    return found;
  }
  // Something else stands between: a repetition ends.
  bool stop(uint64_t* first, uint32_t* count) noexcept {
    run_ = 0;
    return length_ != 0 && end(first, count);
  }
  const PatternStep& at(uint64_t position) const noexcept { return steps_[position % kHistory]; }
  uint32_t head(uint64_t position) const noexcept { return heads_[position % kHistory]; }
  bool is_break(uint64_t position) const noexcept {
    return at(position).symbol == kBreak && at(position).distance == 0;
  }

 private:
  void look(uint64_t seen, uint64_t now, const PatternStep* gram, uint32_t most_steps) noexcept {
    for (uint32_t i = 0; i < kGram; ++i) {
      if (!(at(seen - kGram + 1 + i) == gram[i])) return;
    }
    const uint64_t distance = now - seen;
    uint32_t length = kGram;
    // Back to where the repetition began, but into nothing that was a repetition already.
    while (length < most_steps && length < run_ && length < distance && seen > length &&
           now - length > ended_ && now - (seen - length) < kHistory &&
           at(seen - length) == at(now - length) && !is_break(now - length)) {
      ++length;
    }
    earlier_ = seen + 1 - length;
    start_ = now + 1 - length;
    length_ = length;
    // A period shorter than the table's rows ends with the period: the step back to its beginning is not part
    // of it.
    limit_ = most_steps;
    if (distance - 1 >= kGram && distance - 1 <= most_steps) {
      limit_ = static_cast<uint32_t>(distance - 1);
    } else if (distance <= kGram) {
      limit_ = static_cast<uint32_t>((most_steps + 1) / distance * distance - 1);
    }
    length_ = std::min(length_, limit_);
  }
  bool end(uint64_t* first, uint32_t* count) noexcept {
    *first = start_;
    *count = length_;
    ended_ = start_ + length_ - 1;
    length_ = 0;
    return *count >= kGram;
  }
  std::unique_ptr<PatternStep[]> steps_;
  std::unique_ptr<uint32_t[]> heads_;
  std::array<uint64_t, 4096> last_;  // where a gram was seen last, by its hash
  uint64_t position_ = 0;
  uint64_t ended_ = 0;
  uint64_t earlier_ = 0;
  uint64_t start_ = 0;
  uint32_t length_ = 0;  // of the repetition now; 0: none
  uint32_t limit_ = 0;
  uint32_t run_ = 0;  // steps since the last break
};

class Pattern {
 public:
  static constexpr Register kRegisters[] = {
      reg("patterns", "rows of the table", kMostPatterns, 1, 4096),
      reg("length", "accesses of a pattern at most", kLongestPattern, kGram + 2, kLongestPattern),
      reg("symbols", "1: the detail field is part of the pattern (a pattern's number, one level below)", 0, 0,
          1),
      reg("forward", "1: points and literals go to the next sub-module, with a point's number in detail", 0,
          0, 1),
      patterns::kDeadAfter,
  };
  static constexpr Metric kMetrics[] = {patterns::kAccesses, patterns::kPoints,      patterns::kCovered,
                                        patterns::kLiterals, patterns::kDefinitions, patterns::kEvicted,
                                        patterns::kPatterns};
  static void cost(const uint64_t* r, Cost& out) noexcept {
    // The paper's table is its rows of 32-bit distances; a row's steps are compared at once.
    out = {7, r[0] * r[1] * 32 * (r[2] != 0 ? 2 : 1) + kHistory * 32, r[1]};
  }
  static uint32_t longest_packet(const uint64_t* r) noexcept {
    return static_cast<uint32_t>(sizeof(PatternPacket) + (r[1] - 1) * sizeof(PatternStep));
  }
  static bool forwards(const uint64_t* r) noexcept { return r[3] != 0; }
  Pattern(const uint64_t* r, const Services& services)
      : table_(static_cast<uint32_t>(r[0])),
        longest_(static_cast<uint32_t>(r[1])),
        symbols_(r[2] != 0),
        forward_(r[3] != 0),
        dead_after_(r[4]),
        services_(services),
        pending_(2 * kLongestPattern) {}

  void observe(const Transaction* batch, size_t count) noexcept {
    for (size_t i = 0; i < count; ++i) {
      Transaction access = batch[i];
      if (!symbols_) access.detail = 0;
      pending_.add(access, step);
      if (pending_.held() == longest_) reduce();
    }
    counts_.accesses += count;
  }
  void write_back() noexcept {
    while (pending_.held() != 0) reduce();
    if (uint64_t first; repetitions_.stop(&first, &found_)) learn(first);
    previous_ = false;
  }
  void read(uint64_t* metrics) const noexcept {
    give(counts_, metrics);
    metrics[5] = table_.evicted();
    metrics[6] = table_.held();
  }

 private:
  // The first of kMetrics.
  struct Counts {
    uint64_t accesses, points, covered, literals, definitions;
  };
  static PatternStep step(const Transaction& from, const Transaction& to) noexcept {
    if (to.detail >= kBreak || from.detail >= kBreak) return {0, kBreak};
    return step_between(from.address, to.address, static_cast<uint32_t>(to.detail));
  }
  static bool breaks(const PatternStep& step) noexcept { return step.symbol == kBreak && step.distance == 0; }

  // Takes the first pending access out, alone or with the pattern that begins with it.
  void reduce() noexcept {
    const Transaction& head = pending_[0];
    uint32_t known = 0;
    while (known + 1 < pending_.held() && !breaks(pending_.steps()[known])) ++known;
    PatternTable::Row* const pattern =
        head.detail < kBreak ? table_.match(static_cast<uint32_t>(head.detail), pending_.steps(), known)
                             : nullptr;
    if (pattern == nullptr) {
      literal(head);
      pending_.drop(1);
      return;
    }
    if (uint64_t first; repetitions_.stop(&first, &found_)) learn_later(first);
    previous_ = false;
    point(*pattern, head);
    pending_.drop(pattern->steps + 1);
    learn_now();
  }
  void point(PatternTable::Row& pattern, const Transaction& head) noexcept {
    if (pattern.number == 0) {
      pattern.number = ++last_number_;
      define(pattern);
    }
    pattern.last_use = counts_.accesses;
    ++counts_.points;
    counts_.covered += pattern.steps + 1;
    if (forward_) {
      Transaction out = head;
      out.detail = pattern.number;
      services_.forward(&out, 1);
    } else {
      const PatternPacket packet{kPoint, pattern.number, head.address};
      services_.emit(&packet, sizeof packet);
    }
  }
  void define(const PatternTable::Row& pattern) noexcept {
    emit_definition(services_, pattern.number, pattern.head, pattern.step.data(), pattern.steps);
    ++counts_.definitions;
  }
  void literal(const Transaction& t) noexcept {
    ++counts_.literals;
    if (forward_) {
      services_.forward(&t, 1);
    } else if (t.detail <= std::numeric_limits<uint32_t>::max()) {
      const PatternPacket packet{kLiteral, static_cast<uint32_t>(t.detail), t.address};
      services_.emit(&packet, sizeof packet);
    } else {
      const uint64_t packet[3] = {kWideLiteral, t.address, t.detail};
      services_.emit(packet, sizeof packet);
    }
    const PatternStep made = previous_ ? step(last_literal_, t) : PatternStep{0, kBreak};
    const auto before = static_cast<uint32_t>(previous_ ? last_literal_.detail : 0);
    previous_ = true;
    last_literal_ = t;
    if (uint64_t first; repetitions_.feed(made, before, longest_ - 1, &first, &found_)) learn(first);
  }
  void learn(uint64_t first) noexcept {
    learn_later(first);
    learn_now();
  }
  // Copied out of the history first, as what is met next may overwrite it or the table.
  void learn_later(uint64_t first) noexcept {
    for (uint32_t i = 0; i < found_; ++i) learned_[i] = repetitions_.at(first + i);
    learned_head_ = repetitions_.head(first);
    learned_steps_ = found_;
  }
  void learn_now() noexcept {
    if (learned_steps_ >= kGram) {
      table_.insert(learned_head_, learned_.data(), learned_steps_, counts_.accesses, dead_after_);
    }
    learned_steps_ = 0;
  }

  PatternTable table_;
  Repetitions repetitions_;
  const uint32_t longest_;
  const bool symbols_;
  const bool forward_;
  const uint64_t dead_after_;
  const Services services_;
  PendingAccesses<Transaction> pending_;
  bool previous_ = false;  // the last thing given was a literal
  Transaction last_literal_{};
  uint32_t found_ = 0;
  std::array<PatternStep, kLongestPattern> learned_{};
  uint32_t learned_head_ = 0;
  uint32_t learned_steps_ = 0;
  uint32_t last_number_ = 0;
  Counts counts_{};
};

}  // namespace

constexpr Module kPatternModule = make_module<Pattern>(
    "pattern", "finds repeating runs of address differences and gives one point for each",
    "u32 kind, u32 symbol, u64 address, for a definition u32 pairs of distance and symbol: see "
    "substrata_owl_expander_take");

}  // namespace substrata::owl

using namespace substrata;
using namespace substrata::owl;

int substrata_owl_expander::take(const void* packet, size_t bytes, void (*call)(void*, uint64_t, uint64_t),
                                 void* owner) {
  if (bytes < sizeof(uint32_t))
    return fail(Code::kInvalid, "a pattern packet of %zu bytes is too short", bytes);
  uint32_t kind = 0;
  std::memcpy(&kind, packet, sizeof kind);
  if (kind == kWideLiteral && bytes == 24) {
    uint64_t words[3];
    std::memcpy(words, packet, sizeof words);
    call(owner, words[1], words[2]);
    return 0;
  }
  const bool longer = kind == kDefinition || kind == kGappedPoint;
  if ((kind > kDefinition && kind != kGappedPoint) || bytes < sizeof(PatternPacket) ||
      (longer ? (bytes - sizeof(PatternPacket)) % (kind == kGappedPoint ? sizeof(PatternGap) : 1) != 0
              : bytes != sizeof(PatternPacket))) {
    return fail(Code::kInvalid, "a packet of %zu bytes and kind %u is none of the modules pattern and lcs",
                bytes, kind);
  }
  PatternPacket head;
  std::memcpy(&head, packet, sizeof head);
  if (kind == kLiteral) {
    call(owner, head.address, head.symbol);
    return 0;
  }
  if (kind == kDefinition) {
    const uint64_t steps = head.address & 0xffffffff;
    if (steps == 0 || steps >= kLongestPattern || bytes != sizeof head + steps * sizeof(PatternStep)) {
      return fail(Code::kInvalid, "the definition of pattern %u has %llu steps in %zu bytes", head.symbol,
                  static_cast<unsigned long long>(steps), bytes);
    }
    Pattern& pattern = patterns_[head.symbol];
    pattern.head = static_cast<uint32_t>(head.address >> 32);
    pattern.steps.resize(steps);
    std::memcpy(pattern.steps.data(), static_cast<const unsigned char*>(packet) + sizeof head,
                steps * sizeof(PatternStep));
    return 0;
  }
  const auto known = patterns_.find(head.symbol);
  if (known == patterns_.end()) {
    return fail(Code::kNoEvent, "pattern %u was never defined: packets before this one are missing",
                head.symbol);
  }
  std::vector<PatternGap> gaps((bytes - sizeof head) / sizeof(PatternGap));
  if (!gaps.empty())
    std::memcpy(gaps.data(), static_cast<const unsigned char*>(packet) + sizeof head, bytes - sizeof head);
  auto gap = gaps.cbegin();
  uint64_t address = head.address;
  call(owner, address, known->second.head);
  uint64_t given = 1;
  for (const PatternStep& step : known->second.steps) {
    for (; gap != gaps.cend() && gap->position == given; ++gap) call(owner, gap->address, 0);
    address += static_cast<uint64_t>(static_cast<int64_t>(step.distance));
    call(owner, address, step.symbol);
    ++given;
  }
  if (gap != gaps.cend())
    return fail(Code::kInvalid, "a point of pattern %u has an access behind %llu of its %zu", head.symbol,
                static_cast<unsigned long long>(gap->position), known->second.steps.size() + 1);
  return 0;
}

extern "C" {

int substrata_owl_expander_open(substrata_owl_expander** out) {
  return guarded([&] {
    if (out == nullptr) return fail(Code::kInvalid, "an expander needs a place for the result");
    *out = new substrata_owl_expander;
    return 0;
  });
}

void substrata_owl_expander_close(substrata_owl_expander* expander) { delete expander; }

int substrata_owl_expander_take(substrata_owl_expander* expander, const void* packet, size_t bytes,
                                void (*call)(void*, uint64_t, uint64_t), void* owner) {
  return guarded([&] {
    if (expander == nullptr || packet == nullptr || call == nullptr) {
      return fail(Code::kInvalid, "expanding needs an expander, a packet and a function");
    }
    return expander->take(packet, bytes, call, owner);
  });
}

}  // extern "C"
