// Reads a counter circuit and runs it.
#include "numachine/circuit.hpp"
#include "base/parse.hpp"

#include <bit>
#include <optional>

namespace substrata::numachine {
namespace {

constexpr std::string_view kEventNames[] = {"packet", "request", "response", "access"};
constexpr std::string_view kSignalNames[] = {"address", "command", "phase",     "cycle",
                                             "latency", "index",   "miss",      "write",
                                             "sending", "packets", "miss_type", "response_state"};
static_assert(std::size(kSignalNames) == Circuit::kSignals);

std::string together(const std::string_view* names, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i)
    all += (i == 0 ? "" : i + 1 == count ? " or " : ", ") + std::string(names[i]);
  return all;
}
std::optional<std::size_t> number_of(std::string_view word, const std::string_view* names,
                                     std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (names[i] == word) return i;
  }
  return std::nullopt;
}
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::uint64_t compact(std::uint64_t value) noexcept {
  if (value < 32) return value >> 1;
  const auto exponent = static_cast<unsigned>(std::bit_width(value)) - 5;
  return std::uint64_t{exponent} << 4 | ((value >> exponent) & 0xfU);
}

// Thrown and caught in this file only.
struct CircuitFault {
  std::string message;
};

class CircuitParser {
 public:
  CircuitParser(std::string_view text, Circuit& out) : text_(text), out_(out) {}

  void read() {
    while (at_ < text_.size()) {
      skip_spaces();
      if (!at_end_of_line()) statement();
      skip_spaces();
      if (!at_end_of_line()) fault("the line should end here");
      if (at_ < text_.size() && text_[at_] == '#') at_ = std::min(text_.find('\n', at_), text_.size());
      if (at_ < text_.size()) next_line();
    }
  }

 private:
  using Operator = Circuit::Operator;
  using Range = Circuit::Range;

  [[noreturn]] void fault(const std::string& what) const {
    throw CircuitFault{"line " + std::to_string(line_) + ", column " +
                       std::to_string(at_ - line_begins_ + 1) + ": " + what};
  }
  void next_line() {
    ++at_;
    ++line_;
    line_begins_ = at_;
  }
  bool at_end_of_line() const { return at_ >= text_.size() || text_[at_] == '\n' || text_[at_] == '#'; }
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
  }
  bool take(std::string_view symbol) {
    skip_spaces();
    if (text_.substr(at_, symbol.size()) != symbol) return false;
    at_ += symbol.size();
    return true;
  }
  void expect(std::string_view symbol) {
    if (!take(symbol)) fault("'" + std::string(symbol) + "' is missing here");
  }
  std::string_view word() {
    skip_spaces();
    const std::size_t first = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || (at_ != first && is_digit(text_[at_])))) ++at_;
    return text_.substr(first, at_ - first);
  }
  // The word again, if what it begins is not this.
  bool take_word(std::string_view wanted) {
    const std::size_t before = at_;
    if (word() == wanted) return true;
    at_ = before;
    return false;
  }

  void statement() {
    if (!take_word("on")) fault("a statement begins with 'on'");
    skip_spaces();
    const auto event = number_of(word(), kEventNames, std::size(kEventNames));
    if (!event) fault("an event is " + together(kEventNames, std::size(kEventNames)));
    Circuit::Statement statement{static_cast<Circuit::Event>(*event), {}, out_.actions_.size(), 0};
    if (take_word("if")) statement.condition = expression();
    expect(":");
    do {
      if (out_.actions_.size() == Circuit::kMostActions)
        fault("no more than " + std::to_string(Circuit::kMostActions) + " actions fit into the device");
      action();
    } while (take(";"));
    statement.last_action = out_.actions_.size();
    out_.statements_.push_back(statement);
  }

  void action() {
    const std::string_view what = word();
    Circuit::Action action{Circuit::Target::kInterrupt, false, {}, {}};
    if (what != "interrupt") {
      if (what == "sram" || what == "counter") {
        action.target = what == "sram" ? Circuit::Target::kSram : Circuit::Target::kCounter;
        expect("[");
        action.place = expression();
        expect("]");
      } else if (const auto number = register_of(what)) {
        action.target = Circuit::Target::kRegister;
        action.place.first = out_.operations_.size();
        emit(Operator::kConstant, *number);
        action.place.last = out_.operations_.size();
      } else {
        fault("an action is sram[...], counter[...], r0 to r7 or interrupt");
      }
      action.adds = take("+=");
      if (!action.adds) expect("=");
      action.value = expression();
    }
    out_.actions_.push_back(action);
  }
  static std::optional<std::uint64_t> register_of(std::string_view name) {
    if (name.size() != 2 || name[0] != 'r' || name[1] < '0' ||
        name[1] >= '0' + static_cast<char>(Circuit::kRegisters))
      return std::nullopt;
    return static_cast<std::uint64_t>(name[1] - '0');
  }

  void emit(Operator what, std::uint64_t value = 0) {
    if (out_.operations_.size() == Circuit::kMostOperations)
      fault("no more than " + std::to_string(Circuit::kMostOperations) + " operations fit into the device");
    out_.operations_.push_back({what, value});
  }
  Range expression() {
    Range range{out_.operations_.size(), 0};
    operand_of(0);
    range.last = out_.operations_.size();
    return range;
  }
  struct Binary {
    std::string_view symbol;
    Operator what;
    unsigned strength;
  };
  // Longer symbols before those that begin them.
  static const Binary* binary_at(std::string_view rest) {
    static constexpr Binary kAll[] = {
        {"||", Operator::kEither, 1},      {"&&", Operator::kBoth, 2},
        {"==", Operator::kEqual, 6},       {"!=", Operator::kUnequal, 6},
        {"<=", Operator::kLessOrEqual, 7}, {">=", Operator::kGreaterOrEqual, 7},
        {"<<", Operator::kShiftLeft, 8},   {">>", Operator::kShiftRight, 8},
        {"|", Operator::kOr, 3},           {"^", Operator::kExclusiveOr, 4},
        {"&", Operator::kAnd, 5},          {"<", Operator::kLess, 7},
        {">", Operator::kGreater, 7},      {"+", Operator::kAdd, 9},
        {"-", Operator::kSubtract, 9},     {"*", Operator::kMultiply, 10},
        {"/", Operator::kDivide, 10},      {"%", Operator::kRest, 10},
    };
    for (const Binary& one : kAll) {
      if (rest.substr(0, one.symbol.size()) == one.symbol) return &one;
    }
    return nullptr;
  }
  // What binds more strongly than that.
  void operand_of(unsigned strength) {
    if (++depth_ > Circuit::kDepth / 2) fault("the expression is too deep");
    unary();
    for (;;) {
      skip_spaces();
      const Binary* const next = binary_at(text_.substr(at_));
      if (next == nullptr || next->strength <= strength) break;
      at_ += next->symbol.size();
      operand_of(next->strength);
      emit(next->what);
    }
    --depth_;
  }
  void unary() {
    skip_spaces();
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (c == '!' || c == '~' || c == '-') {
      if (++depth_ > Circuit::kDepth / 2) fault("the expression is too deep");
      ++at_;
      unary();
      emit(c == '!' ? Operator::kNot : c == '~' ? Operator::kInvert : Operator::kNegate);
      --depth_;
    } else if (c == '(') {
      ++at_;
      operand_of(0);
      expect(")");
    } else if (is_digit(c)) {
      number();
    } else {
      name();
    }
  }
  void number() {
    const bool hexadecimal = text_.substr(at_, 2) == "0x";
    const std::string_view digits = std::string_view(text_).substr(at_ + (hexadecimal ? 2 : 0));
    std::uint64_t value = 0;
    const std::size_t length = leading_number(digits, &value, hexadecimal ? 16 : 10);
    if (length == 0) fault("a number of 64 bits should be here");
    at_ += (hexadecimal ? 2 : 0) + length;
    emit(Operator::kConstant, value);
  }
  void name() {
    const std::size_t before = at_;
    const std::string_view what = word();
    if (what == "sram" || what == "counter" || what == "float") {
      expect(what == "float" ? "(" : "[");
      operand_of(0);
      expect(what == "float" ? ")" : "]");
      emit(what == "sram" ? Operator::kSram : what == "counter" ? Operator::kCounter : Operator::kFloat);
    } else if (const auto number = register_of(what)) {
      emit(Operator::kRegister, *number);
    } else if (const auto signal = number_of(what, kSignalNames, std::size(kSignalNames))) {
      emit(Operator::kSignal, *signal);
    } else {
      at_ = before;
      fault("a number, r0 to r7, sram[...], counter[...], float(...) or a signal should be here: " +
            together(kSignalNames, std::size(kSignalNames)));
    }
  }

  const std::string_view text_;
  Circuit& out_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t line_begins_ = 0;
  std::size_t depth_ = 0;
};

bool Circuit::compile(std::string_view text, Circuit* out, std::string& error) {
  Circuit made;
  try {
    CircuitParser(text, made).read();
  } catch (const CircuitFault& fault) {
    error = fault.message;
    return false;
  }
  *out = std::move(made);
  return true;
}

std::uint64_t Circuit::apply(Operator what, std::uint64_t a, std::uint64_t b) noexcept {
  switch (what) {
    case Operator::kMultiply:
      return a * b;
    case Operator::kDivide:
      return b == 0 ? ~std::uint64_t{0} : a / b;
    case Operator::kRest:
      return b == 0 ? a : a % b;
    case Operator::kAdd:
      return a + b;
    case Operator::kSubtract:
      return a - b;
    case Operator::kShiftLeft:
      return b > 63 ? 0 : a << b;
    case Operator::kShiftRight:
      return b > 63 ? 0 : a >> b;
    case Operator::kLess:
      return a < b ? 1 : 0;
    case Operator::kLessOrEqual:
      return a <= b ? 1 : 0;
    case Operator::kGreater:
      return a > b ? 1 : 0;
    case Operator::kGreaterOrEqual:
      return a >= b ? 1 : 0;
    case Operator::kEqual:
      return a == b ? 1 : 0;
    case Operator::kUnequal:
      return a != b ? 1 : 0;
    case Operator::kAnd:
      return a & b;
    case Operator::kExclusiveOr:
      return a ^ b;
    case Operator::kOr:
      return a | b;
    case Operator::kBoth:
      return a != 0 && b != 0 ? 1 : 0;
    case Operator::kEither:
      return a != 0 || b != 0 ? 1 : 0;
    default:
      return 0;
  }
}

std::uint64_t Circuit::evaluate(const Range& range, const Signals& signals, const Outputs& outputs) const {
  std::array<std::uint64_t, kDepth * 2> stack;
  std::size_t top = 0;
  for (std::size_t i = range.first; i < range.last; ++i) {
    const Operation& one = operations_[i];
    switch (one.what) {
      case Operator::kConstant:
        stack[top++] = one.value;
        break;
      case Operator::kSignal:
        stack[top++] = signals[one.value];
        break;
      case Operator::kRegister:
        stack[top++] = registers_[one.value];
        break;
      case Operator::kSram:
        stack[top - 1] = outputs.sram_word(stack[top - 1]);
        break;
      case Operator::kCounter:
        stack[top - 1] = outputs.counter_value(stack[top - 1]);
        break;
      case Operator::kFloat:
        stack[top - 1] = compact(stack[top - 1]);
        break;
      case Operator::kNot:
        stack[top - 1] = stack[top - 1] == 0 ? 1 : 0;
        break;
      case Operator::kInvert:
        stack[top - 1] = ~stack[top - 1];
        break;
      case Operator::kNegate:
        stack[top - 1] = 0 - stack[top - 1];
        break;
      default:
        --top;
        stack[top - 1] = apply(one.what, stack[top - 1], stack[top]);
        break;
    }
  }
  return stack[0];
}

void Circuit::drive(Event event, const Signals& signals, Outputs& outputs) {
  for (const Statement& statement : statements_) {
    if (statement.event != event) continue;
    if (statement.condition.first != statement.condition.last &&
        evaluate(statement.condition, signals, outputs) == 0)
      continue;
    for (std::size_t i = statement.first_action; i < statement.last_action; ++i) {
      const Action& action = actions_[i];
      if (action.target == Target::kInterrupt) {
        outputs.raise_interrupt();
        continue;
      }
      const std::uint64_t place = evaluate(action.place, signals, outputs);
      const std::uint64_t value = evaluate(action.value, signals, outputs);
      if (action.target == Target::kSram) {
        outputs.write_sram(place, value, action.adds);
      } else if (action.target == Target::kCounter) {
        outputs.write_counter(place, value, action.adds);
      } else {
        registers_[place] = value + (action.adds ? registers_[place] : 0);
      }
    }
  }
}

}  // namespace substrata::numachine
