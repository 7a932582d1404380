// How one reported value is computed from the values of several native events.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace substrata {

// PAPI's derived types. Sub: the first term less all others. PerSecond: the second term per second, the first
// one counting cycles; AddPerSecond: likewise the sum of all but the first. Compound: the first term, the
// others only have to be counted along.
enum class DerivedKind : uint8_t {
  kNone,
  kAdd,
  kSub,
  kPerSecond,
  kAddPerSecond,
  kCompound,
  kPostfix,
  kInfix
};

// "NOT_DERIVED", "DERIVED_ADD", ...: PAPI's spelling. kInvalid for others.
Result<DerivedKind> parse_derived_kind(std::string_view text);
const char* derived_name(DerivedKind kind) noexcept;

// A formula made ready for evaluation. Copyable; evaluation allocates nothing. Thread-compatible.
class Formula {
 public:
  struct Step {
    char op;  // 'n' term, 'c' constant, 'h' clock_hz, + - * /, '<' the lesser, '>' the greater of two
    uint16_t term;
    double constant;
  };

  // Checks and compiles. `text` is used by kPostfix ("N0|N1|+|2|*|") and kInfix ("(N0+N1)*2"); terms are
  // N0..Nn-1, '#' is the clock's cycles per second.
  static Result<Formula> make(DerivedKind kind, std::string_view text, uint32_t term_count);

  // As kInfix, with names instead of N0..Nn-1: names[i] is term Ni. At most kMaxNames of them. min(a, b) and
  // max(a, b) are the lesser and the greater.
  static constexpr size_t kMaxNames = 64;
  static Result<Formula> make_named(std::string_view text, const std::vector<std::string>& names);

  // `outer` with its term Ni replaced by parts[i]; the new terms are those of all parts, one part after the
  // other. Sums of sums stay exact, everything else is computed as a postfix formula is. kCombination when
  // the result has more than 64 terms or 128 steps.
  static Result<Formula> compose(const Formula& outer, const std::vector<Formula>& parts);

  // values[positions[i]] is term Ni. Division by zero gives 0. Cycles per second of the clock for the
  // per-second kinds. Signal-safe.
  int64_t evaluate(const int64_t* values, const uint16_t* positions, double clock_hz) const noexcept;

  DerivedKind kind() const noexcept { return kind_; }
  uint32_t term_count() const noexcept { return term_count_; }
  // The formula as kPostfix has it, of any kind.
  std::string postfix() const;
  // The same as steps, each of whose operators takes the two values before it.
  std::vector<Step> steps() const;
  // Whether evaluation uses clock_hz.
  bool per_second() const noexcept;

 private:
  DerivedKind kind_ = DerivedKind::kNone;
  uint32_t term_count_ = 1;
  std::vector<Step> steps_;
};

}  // namespace substrata
