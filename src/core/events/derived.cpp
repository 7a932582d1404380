// Compiles and evaluates the formulas of derived events.
#include "core/events/derived.hpp"
#include "base/parse.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace substrata {
namespace {

struct Name {
  DerivedKind kind;
  const char* name;
};
constexpr Name kNames[] = {{DerivedKind::kNone, "NOT_DERIVED"},
                           {DerivedKind::kAdd, "DERIVED_ADD"},
                           {DerivedKind::kSub, "DERIVED_SUB"},
                           {DerivedKind::kPerSecond, "DERIVED_PS"},
                           {DerivedKind::kAddPerSecond, "DERIVED_ADD_PS"},
                           {DerivedKind::kCompound, "DERIVED_CMPD"},
                           {DerivedKind::kPostfix, "DERIVED_POSTFIX"},
                           {DerivedKind::kInfix, "DERIVED_INFIX"}};

constexpr size_t kMaxSteps = 128;  // and so the depth of the evaluation stack
constexpr int kMaxNesting = 32;
constexpr uint32_t kMaxComposedTerms = 64;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_space(char c) { return c == ' ' || c == '\t'; }

// A double as a reported value: rounded toward zero, as PAPI converts, and kept within 64 bits.
int64_t to_value(double number) noexcept {
  if (std::isnan(number)) return 0;
  if (number >= 9.2233720368547748e18) return std::numeric_limits<int64_t>::max();
  if (number <= -9.2233720368547748e18) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(number);
}

int64_t add(int64_t a, int64_t b) noexcept {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t subtract(int64_t a, int64_t b) noexcept {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

}  // namespace

// Turns formula text into steps in postfix order. Step is Formula's; so this is a nested helper of make().
struct FormulaReader {
  std::string_view text;
  uint32_t term_count;
  const std::vector<std::string>* names = nullptr;  // of the terms, in place of N<number>
  size_t at = 0;
  struct Item {
    char op;
    uint16_t term;
    double constant;
  };
  std::vector<Item> items;

  Status bad(const char* what) const {
    return refuse(Code::kInvalid, "formula \"%.*s\": %s at character %u", static_cast<int>(text.size()),
                  text.data(), what, static_cast<unsigned>(at + 1));
  }
  void skip_spaces() {
    while (at < text.size() && is_space(text[at])) ++at;
  }

  // The lesser or the greater of two, in parentheses.
  Status of_two(char op, int depth) {
    for (const char expected : {'(', ',', ')'}) {
      skip_spaces();
      if (at >= text.size() || text[at] != expected) return bad("min and max have two values: min(a, b)");
      ++at;
      if (expected == ')') break;
      if (const Status status = sum(depth + 1); !status.ok()) return status;
    }
    items.push_back({op, 0, 0});
    return kSuccess;
  }

  // A letter or '_', then letters, digits and '_'.
  Status named(int depth) {
    const size_t begin = at;
    while (at < text.size() && (is_letter(text[at]) || (text[at] >= '0' && text[at] <= '9'))) ++at;
    const std::string_view name = text.substr(begin, at - begin);
    const auto found = std::find(names->begin(), names->end(), name);
    if (found == names->end()) {
      if (name == "min" || name == "max") return of_two(name == "min" ? '<' : '>', depth);
      at = begin;
      return bad("there is no such term");
    }
    items.push_back({'n', static_cast<uint16_t>(found - names->begin()), 0});
    return kSuccess;
  }

  // N<number> or a name, a decimal number, or '#' for the clock's cycles per second.
  Status operand(int depth = 0) {
    skip_spaces();
    if (names != nullptr && at < text.size() && is_letter(text[at])) return named(depth);
    if (names == nullptr && at < text.size() && text[at] == '#') {
      ++at;
      items.push_back({'h', 0, 0});
      return kSuccess;
    }
    if (names == nullptr && at < text.size() && text[at] == 'N') {
      unsigned term = 0;
      const size_t length = leading_number(text.substr(at + 1), &term);
      if (length == 0) return bad("N needs a number");
      if (term >= term_count) return bad("there is no such term");
      at += 1 + length;
      items.push_back({'n', static_cast<uint16_t>(term), 0});
      return kSuccess;
    }
    double number = 0;
    const size_t length = leading_number(text.substr(at), &number);
    if (length == 0) return bad("a term or number is missing");
    at += length;
    items.push_back({'c', 0, number});
    return kSuccess;
  }

  Status factor(int depth) {
    if (depth > kMaxNesting) return bad("too many parentheses");
    skip_spaces();
    if (at < text.size() && text[at] == '(') {
      ++at;
      if (const Status status = sum(depth + 1); !status.ok()) return status;
      skip_spaces();
      if (at >= text.size() || text[at] != ')') return bad("a ')' is missing");
      ++at;
      return kSuccess;
    }
    return operand(depth);
  }
  // Operands that the first or the second operator joins, from left to right.
  template <typename Operand>
  Status chain(char first, char second, const Operand& operand_of_chain) {
    if (const Status status = operand_of_chain(); !status.ok()) return status;
    for (skip_spaces(); at < text.size() && (text[at] == first || text[at] == second); skip_spaces()) {
      const char op = text[at++];
      if (const Status status = operand_of_chain(); !status.ok()) return status;
      items.push_back({op, 0, 0});
      if (items.size() > kMaxSteps) return bad("too long a formula");
    }
    return kSuccess;
  }
  Status product(int depth) {
    return chain('*', '/', [&] { return factor(depth); });
  }
  Status sum(int depth) {
    return chain('+', '-', [&] { return product(depth); });
  }

  Status infix() {
    if (const Status status = sum(0); !status.ok()) return status;
    skip_spaces();
    if (at != text.size()) return bad("something is left over");
    return kSuccess;
  }

  // Pieces ended by '|': terms, numbers, operators.
  Status postfix() {
    size_t depth = 0;
    for (skip_spaces(); at < text.size(); skip_spaces()) {
      const char c = text[at];
      const bool alone = at + 1 >= text.size() || text[at + 1] == '|' || is_space(text[at + 1]);
      if (alone && (c == '+' || c == '-' || c == '*' || c == '/')) {
        if (depth < 2) return bad("an operator has less than two operands");
        --depth;
        ++at;
        items.push_back({c, 0, 0});
      } else {
        if (const Status status = operand(); !status.ok()) return status;
        ++depth;
      }
      if (items.size() > kMaxSteps) return bad("too long a formula");
      skip_spaces();
      if (at < text.size()) {
        if (text[at] != '|') return bad("a '|' is missing");
        ++at;
      }
    }
    if (depth != 1) return bad("operands and operators do not come out even");
    return kSuccess;
  }
};

Result<DerivedKind> parse_derived_kind(std::string_view text) {
  for (const Name& known : kNames) {
    if (text == known.name) return known.kind;
  }
  return refuse(Code::kInvalid, "\"%.*s\" is not a derived type", static_cast<int>(text.size()), text.data());
}

const char* derived_name(DerivedKind kind) noexcept {
  for (const Name& known : kNames) {
    if (kind == known.kind) return known.name;
  }
  return "";
}

Result<Formula> Formula::make(DerivedKind kind, std::string_view text, uint32_t term_count) {
  Formula formula;
  formula.kind_ = kind;
  formula.term_count_ = term_count;
  if (term_count == 0 || term_count > kMaxRecipeTerms)
    return refuse(Code::kInvalid, "a derived event has 1 to %u terms, not %u", kMaxRecipeTerms, term_count);
  switch (kind) {
    case DerivedKind::kNone:
      if (term_count != 1) return refuse(Code::kInvalid, "an event that is not derived has one term");
      break;
    case DerivedKind::kPerSecond:
      if (term_count != 2) return refuse(Code::kInvalid, "DERIVED_PS needs two terms: cycles and the event");
      break;
    case DerivedKind::kAddPerSecond:
      if (term_count < 2) return refuse(Code::kInvalid, "DERIVED_ADD_PS needs cycles and at least one event");
      break;
    case DerivedKind::kPostfix:
    case DerivedKind::kInfix: {
      FormulaReader reader{.text = text, .term_count = term_count, .names = nullptr, .at = 0, .items = {}};
      const Status status = kind == DerivedKind::kPostfix ? reader.postfix() : reader.infix();
      if (!status.ok()) return status;
      for (const FormulaReader::Item& item : reader.items)
        formula.steps_.push_back({item.op, item.term, item.constant});
      break;
    }
    default:
      break;
  }
  return formula;
}

Result<Formula> Formula::make_named(std::string_view text, const std::vector<std::string>& names) {
  if (names.size() > kMaxNames)
    return refuse(Code::kInvalid, "a formula has at most %u terms", static_cast<unsigned>(kMaxNames));
  Formula formula;
  formula.kind_ = DerivedKind::kInfix;
  formula.term_count_ = static_cast<uint32_t>(names.size());
  FormulaReader reader{
      .text = text, .term_count = formula.term_count_, .names = &names, .at = 0, .items = {}};
  if (const Status status = reader.infix(); !status.ok()) return status;
  for (const FormulaReader::Item& item : reader.items)
    formula.steps_.push_back({item.op, item.term, item.constant});
  return formula;
}

bool Formula::per_second() const noexcept {
  return kind_ == DerivedKind::kPerSecond || kind_ == DerivedKind::kAddPerSecond ||
         std::any_of(steps_.begin(), steps_.end(), [](const Step& step) { return step.op == 'h'; });
}

std::string Formula::postfix() const {
  std::string text;
  for (const Step& step : steps()) {
    if (step.op == 'n') {
      text += 'N' + std::to_string(step.term);
    } else if (step.op == 'c') {
      char number[32];
      const auto written = std::to_chars(number, number + sizeof number, step.constant);
      text.append(number, written.ptr);
    } else {
      text += step.op == 'h' ? '#' : step.op;
    }
    text += '|';
  }
  return text;
}

// Any kind as a postfix formula.
std::vector<Formula::Step> Formula::steps() const {
  if (kind_ == DerivedKind::kPostfix || kind_ == DerivedKind::kInfix) return steps_;
  const bool rate = kind_ == DerivedKind::kPerSecond || kind_ == DerivedKind::kAddPerSecond;
  const bool first_only = kind_ == DerivedKind::kNone || kind_ == DerivedKind::kCompound;
  const uint16_t first = rate ? 1 : 0;
  const uint32_t end = first_only ? 1 : term_count_;
  std::vector<Step> out{{'n', first, 0}};
  for (uint32_t i = first + 1u; i < end; ++i) {
    out.push_back({'n', static_cast<uint16_t>(i), 0});
    out.push_back({kind_ == DerivedKind::kSub ? '-' : '+', 0, 0});
  }
  if (rate) {
    out.push_back({'n', 0, 0});
    out.push_back({'/', 0, 0});
    out.push_back({'h', 0, 0});
    out.push_back({'*', 0, 0});
  }
  return out;
}

Result<Formula> Formula::compose(const Formula& outer, const std::vector<Formula>& parts) {
  if (parts.size() != outer.term_count_)
    return refuse(Code::kBug, "a formula of %u terms was given %u", outer.term_count_,
                  static_cast<unsigned>(parts.size()));
  Formula composed;
  composed.term_count_ = 0;
  std::vector<uint16_t> offsets;
  bool sums = outer.kind_ == DerivedKind::kAdd;
  bool plain = true;
  for (const Formula& part : parts) {
    offsets.push_back(static_cast<uint16_t>(composed.term_count_));
    composed.term_count_ += part.term_count_;
    sums = sums && (part.kind_ == DerivedKind::kNone || part.kind_ == DerivedKind::kAdd);
    plain = plain && part.kind_ == DerivedKind::kNone;
    if (composed.term_count_ > kMaxComposedTerms)
      return refuse(Code::kCombination, "more than %u native events in one formula", kMaxComposedTerms);
  }
  if (plain) return outer;
  if (sums || (outer.kind_ == DerivedKind::kNone && parts[0].kind_ != DerivedKind::kPostfix &&
               parts[0].kind_ != DerivedKind::kInfix)) {
    composed.kind_ = sums ? DerivedKind::kAdd : parts[0].kind_;
    return composed;
  }
  composed.kind_ = DerivedKind::kPostfix;
  for (const Step& step : outer.steps()) {
    if (step.op != 'n') {
      composed.steps_.push_back(step);
      continue;
    }
    for (Step inner : parts[step.term].steps()) {
      if (inner.op == 'n') inner.term = static_cast<uint16_t>(inner.term + offsets[step.term]);
      composed.steps_.push_back(inner);
    }
    if (composed.steps_.size() > kMaxSteps)
      return refuse(Code::kCombination, "the formula has more than %u steps",
                    static_cast<unsigned>(kMaxSteps));
  }
  if (composed.steps_.size() > kMaxSteps)
    return refuse(Code::kCombination, "the formula has more than %u steps", static_cast<unsigned>(kMaxSteps));
  return composed;
}

int64_t Formula::evaluate(const int64_t* values, const uint16_t* positions, double clock_hz) const noexcept {
  switch (kind_) {
    case DerivedKind::kNone:
    case DerivedKind::kCompound:
      return values[positions[0]];
    case DerivedKind::kAdd: {
      int64_t sum = 0;
      for (uint32_t i = 0; i < term_count_; ++i) sum = add(sum, values[positions[i]]);
      return sum;
    }
    case DerivedKind::kSub: {
      int64_t rest = values[positions[0]];
      for (uint32_t i = 1; i < term_count_; ++i) rest = subtract(rest, values[positions[i]]);
      return rest;
    }
    case DerivedKind::kPerSecond:
    case DerivedKind::kAddPerSecond: {
      const double cycles = static_cast<double>(values[positions[0]]);
      if (cycles == 0) return 0;
      double sum = 0;
      for (uint32_t i = 1; i < term_count_; ++i) sum += static_cast<double>(values[positions[i]]);
      return to_value(sum / cycles * clock_hz);
    }
    case DerivedKind::kPostfix:
    case DerivedKind::kInfix: {
      std::array<double, kMaxSteps + 1> stack;  // steps were counted when compiled
      size_t top = 0;
      for (const Step& step : steps_) {
        if (step.op == 'n') {
          stack[top++] = static_cast<double>(values[positions[step.term]]);
          continue;
        }
        if (step.op == 'c' || step.op == 'h') {
          stack[top++] = step.op == 'h' ? clock_hz : step.constant;
          continue;
        }
        const double right = stack[--top];
        double& left = stack[top - 1];
        if (step.op == '+') left += right;
        if (step.op == '-') left -= right;
        if (step.op == '*') left *= right;
        if (step.op == '/') left = right == 0 ? 0 : left / right;
        if (step.op == '<') left = std::min(left, right);
        if (step.op == '>') left = std::max(left, right);
      }
      return to_value(stack[0]);
    }
  }
  return 0;
}

}  // namespace substrata
