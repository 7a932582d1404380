// Reads expressions by the binding of their operators.
#include "owl/composition_expressions.hpp"

#include "base/parse.hpp"
#include "owl/names.hpp"
#include "owl/system_call_names.hpp"
#include "owl/table.hpp"

namespace substrata::owl {
namespace {

// Operators by their binding, the weakest first; all of them lean left.
struct Operator {
  std::string_view text;
  Op op;
  unsigned level;
};
constexpr unsigned kLevels = 10;
constexpr unsigned kDeepestNesting = 64;
constexpr size_t kMostStates = 64;
constexpr Operator kOperators[] = {
    {"||", Op::kOr, 0},        {"&&", Op::kAnd, 1},        {"==", Op::kEqual, 5},
    {"!=", Op::kUnequal, 5},   {"<=", Op::kLessEqual, 6},  {">=", Op::kGreaterEqual, 6},
    {"<<", Op::kShiftLeft, 7}, {">>", Op::kShiftRight, 7}, {"<", Op::kLess, 6},
    {">", Op::kGreater, 6},    {"|", Op::kBitOr, 2},       {"^", Op::kBitXor, 3},
    {"&", Op::kBitAnd, 4},     {"+", Op::kAdd, 8},         {"-", Op::kSubtract, 8},
    {"*", Op::kMultiply, 9},   {"/", Op::kDivide, 9},      {"%", Op::kRemainder, 9},
};

const Operator* operator_at(std::string_view text) {
  if (text.starts_with("->")) return nullptr;  // the next stage
  for (const Operator& each : kOperators)
    if (text.starts_with(each.text)) return &each;
  return nullptr;
}

std::string in_capitals(std::string_view name) {
  std::string out(name);
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

}  // namespace

Expression ExpressionParser::expression() {
  const size_t begin = here();
  Expression made;
  binary(made, 0);
  if (made.depth() > Expression::kDeepest) throw SyntaxError{begin, "this expression is nested too deeply"};
  return made;
}

Expression ExpressionParser::expression(std::string* written) {
  const size_t begin = here();
  Expression made = expression();
  *written = trimmed(text_.substr(begin, at_ - begin));
  return made;
}

void ExpressionParser::binary(Expression& out, unsigned level) {
  if (level == kLevels) {
    unary(out);
    return;
  }
  binary(out, level + 1);
  while (true) {
    here();
    const Operator* const found = operator_at(text_.substr(at_));
    if (found == nullptr && peek() == '=') throw SyntaxError{here(), "'=' compares nothing: write '=='"};
    if (found == nullptr || found->level != level) return;
    at_ += found->text.size();
    binary(out, level + 1);
    out.code.push_back({found->op, 0});
  }
}

void ExpressionParser::unary(Expression& out) {
  if (++nesting_ > kDeepestNesting) throw SyntaxError{here(), "this expression is nested too deeply"};
  const size_t at = here();
  const char c = peek();
  if (c == '!' || c == '~' || c == '-') {
    ++at_;
    unary(out);
    out.code.push_back({c == '!' ? Op::kNot : c == '~' ? Op::kInvert : Op::kNegate, 0});
  } else if (c == '(') {
    ++at_;
    binary(out, 0);
    punctuation(')');
  } else if (c >= '0' && c <= '9') {
    out.code.push_back({Op::kNumber, number()});
  } else if (c == '"') {
    compared_text(out, at);
  } else if (begins_name(c)) {
    name(out, at);
  } else {
    throw SyntaxError{at, "a value is missing before " + shown()};
  }
  --nesting_;
}

uint64_t system_call(const std::string& name, size_t at) {
  uint64_t number = 0;
  if (!system_call_number(name, &number))
    throw SyntaxError{at, "there is no system call '" + name + "'" + suggestion(name, system_call_names())};
  return number;
}

// A text means the number that the field before it has for it.
void ExpressionParser::compared_text(Expression& out, size_t at) {
  const std::string text = string();
  const Instruction* const before = out.code.empty() ? nullptr : &out.code.back();
  if (before != nullptr && before->op == Op::kField && before->operand == uint64_t(Field::kObject))
    out.code.push_back({Op::kNumber, number_of(text)});
  else if (before != nullptr && before->op == Op::kField && before->operand == uint64_t(Field::kPhase))
    out.code.push_back({Op::kNumber, substrata_region(text.c_str())});
  else if (before != nullptr && before->op == Op::kField && before->operand == uint64_t(Field::kDetail))
    out.code.push_back({Op::kNumber, system_call(text, at)});
  else
    throw SyntaxError{at, "a text is compared with object, region or call: object == \"" + text + "\""};
}

uint32_t ExpressionParser::state_keys(std::string_view name, size_t at, std::vector<Expression>* keys) {
  punctuation('[');
  do {
    keys->push_back(expression());
  } while (take(","));
  punctuation(']');
  if (keys->size() > kMostKeys) throw SyntaxError{at, "a state has at most 8 keys"};
  std::vector<State>& states = composition_.states;
  const auto known =
      std::find_if(states.begin(), states.end(), [&](const State& each) { return each.name == name; });
  if (known == states.end()) {
    if (states.size() == kMostStates) throw SyntaxError{at, "a composition has at most 64 states"};
    if (find_field(name) != nullptr || find_register(name) != kNoRegister)
      throw SyntaxError{at, "'" + std::string(name) + "' is a field or register, which has no keys"};
    states.push_back({std::string(name), static_cast<uint32_t>(keys->size()), at, false});
    return static_cast<uint32_t>(states.size() - 1);
  }
  if (known->keys != keys->size()) {
    throw SyntaxError{at, "'" + std::string(name) + "' has " + std::to_string(known->keys) +
                              " keys elsewhere, and " + std::to_string(keys->size()) + " here"};
  }
  return static_cast<uint32_t>(known - states.begin());
}

uint32_t ExpressionParser::find_register(std::string_view name) const {
  for (size_t i = 0; i < composition_.register_texts.size(); ++i) {
    if (composition_.register_texts[i].first == name) return static_cast<uint32_t>(i);
  }
  return kNoRegister;
}

void ExpressionParser::name(Expression& out, size_t at) {
  const std::string_view found = bare_word();
  uint64_t constant = 0;
  Field of{};
  const auto of_packet = std::find_if(packet_.begin(), packet_.end(),
                                      [&](const PacketField& each) { return each.name == found; });
  if (of_packet != packet_.end()) {
    out.code.push_back({Op::kPacket, halves(of_packet->offset, of_packet->bytes)});
  } else if (found == "log2" || found == "min" || found == "max") {
    punctuation('(');
    binary(out, 0);
    if (found != "log2") {
      punctuation(',');
      binary(out, 0);
    }
    punctuation(')');
    out.code.push_back({found == "log2" ? Op::kLog2 : found == "min" ? Op::kMinimum : Op::kMaximum, 0});
  } else if (peek() == '[') {
    std::vector<Expression> keys;
    const uint32_t state = state_keys(found, at, &keys);
    for (const Expression& key : keys) out.code.insert(out.code.end(), key.code.begin(), key.code.end());
    out.code.push_back({Op::kLast, halves(state, keys.size())});
  } else if (const uint32_t own = find_register(found); own != kNoRegister) {
    out.code.push_back({Op::kRegister, own});
  } else if (const FieldName* const field = find_field(found)) {
    if (field->shown == Shown::kReal)
      throw SyntaxError{at, "'real' shows a value as a floating-point number: use it behind 'by'"};
    if (field->shown == Shown::kLine || field->shown == Shown::kFunction)
      throw SyntaxError{at, "'" + std::string(found) + "' is known at the end only: use it behind 'by'"};
    out.code.push_back({Op::kField, static_cast<uint64_t>(field->field)});
  } else if (constant_named(found, &constant)) {
    out.code.push_back({Op::kNumber, constant});
  } else if (constant_named(in_capitals(found), &constant, &of)) {  // "write" is "kind == WRITE"
    out.code.push_back({Op::kField, static_cast<uint64_t>(of)});
    out.code.push_back({Op::kNumber, constant});
    out.code.push_back({Op::kEqual, 0});
  } else {
    std::vector<std::string_view> known{"log2", "min",  "max",  "read",   "write",
                                        "hit",  "miss", "send", "receive"};
    for (const FieldName& each : field_names()) known.push_back(each.name);
    for (const auto& each : composition_.register_texts) known.push_back(each.first);
    for (const PacketField& each : packet_) known.push_back(each.name);
    throw SyntaxError{at, "'" + std::string(found) + "' is not a field, register, kind, state or function" +
                              suggestion(found, known)};
  }
}

}  // namespace substrata::owl
