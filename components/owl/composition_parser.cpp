// Parses compositions and checks them against the library.
#include <algorithm>
#include <string>

#include "base/parse.hpp"
#include "composition_parts.hpp"
#include "library.hpp"

namespace substrata::owl {
namespace {

constexpr size_t kMostStages = 256;
constexpr unsigned kDeepestNesting = 64;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::unique_ptr<Composition> parse() {
    out_ = std::make_unique<Composition>();
    word("module");
    token_ = here();
    out_->name = identifier("the module's name", true);
    if (out_->name.size() > 47) throw SyntaxError{token_, "a module's name has at most 47 characters"};
    out_->summary = peek() == '"' ? string() : "composed module";
    punctuation('{');
    while (peek() != '}') statement();
    punctuation('}');
    if (peek() != '\0')
      throw SyntaxError{here(), "the text goes on behind the module; one file holds one module"};
    if (out_->first.empty())
      throw SyntaxError{here() - 1, "nothing is fed: a chain must begin with 'input ->'"};
    check_inputs();
    return std::move(out_);
  }

 private:
  // Every sub-module sees what input gives, and gets it from one that hands transactions on.
  void check_inputs() const {
    const std::vector<Stage>& stages = out_->stages;
    std::vector<uint32_t> reached = out_->first;
    for (size_t i = 0; i < reached.size(); ++i) {
      const Stage& stage = stages[reached[i]];
      if (stage.module != nullptr && !stage.next.empty()) {
        uint64_t values[SUBSTRATA_OWL_MOST_REGISTERS] = {};
        for (size_t a = 0; a < stage.arguments.size(); ++a) {
          const Argument& argument = stage.arguments[a];
          values[a] = argument.own_register != kNoRegister ? out_->registers[argument.own_register].most
                                                           : argument.number;
        }
        if (!may_forward(*stage.module, values)) {
          throw SyntaxError{fed_at_[stage.next.front()],
                            "'" + stage.label + "' hands no transactions on, so nothing comes here"};
        }
      }
      reached.insert(reached.end(), stage.next.begin(), stage.next.end());
    }
    for (size_t i = 0; i < stages.size(); ++i) {
      if (std::find(reached.begin(), reached.end(), i) != reached.end()) continue;
      throw SyntaxError{stages[i].fed ? fed_at_[i] : stages[i].at,
                        "'" + stages[i].label + "' is never fed by input"};
    }
  }
  // Where the next token begins; blanks and comments (from # to the end of the line) are passed over.
  size_t here() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        ++at_;
      } else {
        break;
      }
    }
    return at_;
  }
  char peek() {
    here();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(std::string_view wanted) {
    here();
    if (text_.substr(at_, wanted.size()) != wanted) return false;
    at_ += wanted.size();
    return true;
  }
  std::string shown() {
    here();
    if (at_ >= text_.size()) return "the end of the text";
    const unsigned char c = static_cast<unsigned char>(text_[at_]);
    if (c < 32 || c > 126) return "a byte of value " + std::to_string(c);
    return std::string("'") + text_[at_] + "'";
  }
  void punctuation(char wanted) {
    if (peek() != wanted)
      throw SyntaxError{here(), std::string("'") + wanted + "' is missing before " + shown()};
    ++at_;
  }
  static bool begins_name(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }
  static bool in_name(char c) noexcept { return begins_name(c) || (c >= '0' && c <= '9'); }
  std::string_view bare_word() {
    here();
    const size_t begin = at_;
    while (at_ < text_.size() && (at_ == begin ? begins_name(text_[at_]) : in_name(text_[at_]))) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  void word(std::string_view wanted) {
    const size_t begin = here();
    if (bare_word() != wanted) {
      at_ = begin;
      throw SyntaxError{begin, "'" + std::string(wanted) + "' is missing before " + shown()};
    }
  }
  // [a-z][a-z0-9_]*, with '-' as well where it names a module.
  std::string identifier(const std::string& what, bool dashes) {
    const size_t begin = here();
    size_t end = begin;
    while (end < text_.size() && (end == begin ? begins_name(text_[end])
                                               : in_name(text_[end]) || (dashes && text_[end] == '-' &&
                                                                         text_.substr(end, 2) != "->"))) {
      ++end;
    }
    const std::string name(text_.substr(begin, end - begin));
    if (name.empty()) throw SyntaxError{begin, what + " is missing before " + shown()};
    for (const char c : name) {
      if ((c >= 'A' && c <= 'Z') || name[0] == '_') {
        throw SyntaxError{begin,
                          "'" + name + "': " + what + " is written in small letters and begins with one"};
      }
    }
    at_ = end;
    return name;
  }
  std::string string() {
    const size_t begin = here();
    punctuation('"');
    std::string value;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') value += text_[at_++];
    if (at_ >= text_.size() || text_[at_] != '"') throw SyntaxError{begin, "this text has no closing '\"'"};
    ++at_;
    return value;
  }
  uint64_t number() {
    const size_t begin = here();
    size_t end = begin;
    while (end < text_.size() && in_name(text_[end] == '.' ? '?' : text_[end])) ++end;
    uint64_t value = 0;
    if (end == begin || !parse_size(text_.substr(begin, end - begin), &value)) {
      throw SyntaxError{begin, "a number is missing before " + shown()};
    }
    at_ = end;
    return value;
  }

  void statement() {
    const size_t begin = here();
    const std::string_view first = bare_word();
    if (first == "register") {
      own_register();
    } else if (first == "let") {
      const size_t name_at = here();
      const std::string name = identifier("a sub-module's name", false);
      if (find_label(name) != kNoRegister || name == "input" || name == "output") {
        throw SyntaxError{name_at, "'" + name + "' is there already"};
      }
      punctuation('=');
      stage(name);
    } else {
      at_ = begin;
      chain();
    }
    punctuation(';');
  }

  void own_register() {
    const size_t begin = here();
    Register made{};
    std::string name = identifier("a register's name", false);
    if (find_register(name) != kNoRegister)
      throw SyntaxError{begin, "register '" + name + "' is there already"};
    if (field_named(name) != Field::kFields) throw SyntaxError{begin, "'" + name + "' is a field's name"};
    if (out_->registers.size() == SUBSTRATA_OWL_MOST_REGISTERS || name.size() > 39) {
      throw SyntaxError{begin, "too many registers, or a name of more than 39 characters"};
    }
    punctuation('=');
    made.initial = number();
    made.least = 0;
    made.most = ~uint64_t{0};
    if (take("in")) {
      const size_t range = here();
      made.least = number();
      if (!take("..")) throw SyntaxError{here(), "'..' is missing before " + shown()};
      made.most = number();
      if (made.initial < made.least || made.initial > made.most) {
        throw SyntaxError{range, "the initial value lies outside"};
      }
    }
    made.live = 1;
    std::string text = peek() == '"' ? string() : "register of the composition";
    out_->register_texts.emplace_back(std::move(name), std::move(text));
    out_->registers.push_back(made);
  }

  // ... -> sub-module -> ... ; the first is input or a name.
  void chain() {
    const size_t begin = here();
    const std::string head = identifier("'input' or a sub-module's name", true);
    uint32_t from = kNoRegister;
    if (head != "input") {
      from = find_label(head);
      if (from == kNoRegister) {
        throw SyntaxError{
            begin, "'" + head + "' is not defined; a chain begins with 'input' or a name given by 'let'"};
      }
    }
    bool any = false;
    while (take("->")) {
      any = true;
      const size_t at = here();
      const std::string_view ahead = bare_word();
      const bool call = peek() == '(';
      const std::string name(ahead);
      at_ = at;
      if (!call && name == "output") {
        identifier("'output'", false);
        if (from == kNoRegister) throw SyntaxError{at, "put a sub-module between input and output"};
        out_->stages[from].to_ring = true;
        if (peek() == '-') throw SyntaxError{here(), "nothing comes behind output"};
        break;
      }
      uint32_t to = call ? kNoRegister : find_label(name);
      if (to == kNoRegister) {
        to = stage({});
      } else {
        identifier("a sub-module's name", false);
      }
      Stage& next = out_->stages[to];
      if (next.fed) throw SyntaxError{at, "'" + next.label + "' is fed twice"};
      next.fed = true;
      fed_at_.resize(out_->stages.size());
      fed_at_[to] = at;
      (from == kNoRegister ? out_->first : out_->stages[from].next).push_back(to);
      from = to;
    }
    if (!any) throw SyntaxError{here(), "'->' is missing before " + shown()};
  }

  uint32_t find_label(const std::string& name) const {
    for (size_t i = 0; i < named_.size(); ++i) {
      if (named_[i].first == name) return named_[i].second;
    }
    return kNoRegister;
  }
  uint32_t find_register(std::string_view name) const {
    for (size_t i = 0; i < out_->register_texts.size(); ++i) {
      if (out_->register_texts[i].first == name) return static_cast<uint32_t>(i);
    }
    return kNoRegister;
  }

  // A sub-module with its arguments. Without a name it is called after its module.
  uint32_t stage(const std::string& name) {
    const size_t begin = here();
    const std::string kind = identifier("a sub-module", true);
    Stage made;
    made.at = begin;
    made.label = name.empty() ? kind : name;
    for (unsigned number = 2; name.empty() && has_label(made.label); ++number)
      made.label = kind + std::to_string(number);
    if (kind == "filter" || kind == "trigger") {
      made.kind = kind == "filter" ? StageKind::kFilter : StageKind::kTrigger;
      punctuation('(');
      made.condition = expression();
      if (made.kind == StageKind::kTrigger && take(",")) {
        word("after");
        punctuation('=');
        made.after = argument(0, ~uint64_t{0}, "after", true);
      }
      punctuation(')');
    } else if (kind == "map") {
      made.kind = StageKind::kMap;
      punctuation('(');
      do {
        const size_t at = here();
        const Field field = field_named(bare_word());
        if (field == Field::kFields) {
          at_ = at;
          throw SyntaxError{at, "a field of the transaction is missing before " + shown()};
        }
        punctuation('=');
        made.assignments.emplace_back(field, expression());
      } while (take(","));
      punctuation(')');
    } else {
      const LibraryEntry* const entry = find_module(kind);
      if (entry == nullptr) {
        throw SyntaxError{begin,
                          "there is no sub-module '" + kind +
                              "'; there are filter, map, trigger and the modules of `substrata module list`"};
      }
      made.module = entry->module;
      made.arguments.resize(made.module->register_count);
      for (uint32_t i = 0; i < made.module->register_count; ++i) {
        made.arguments[i].number = made.module->registers[i].initial;
      }
      if (peek() == '(') arguments(made);
    }
    if (out_->stages.size() == kMostStages)
      throw SyntaxError{begin, "a composition has at most 256 sub-modules"};
    const auto index = static_cast<uint32_t>(out_->stages.size());
    out_->stages.push_back(std::move(made));
    if (!name.empty()) named_.emplace_back(name, index);
    return index;
  }
  bool has_label(const std::string& label) const {
    return std::any_of(out_->stages.begin(), out_->stages.end(),
                       [&](const Stage& s) { return s.label == label; });
  }

  void arguments(Stage& made) {
    punctuation('(');
    if (take(")")) return;
    do {
      const size_t at = here();
      const std::string name = identifier("a register's name", false);
      uint32_t index = 0;
      const Module& module = *made.module;
      while (index < module.register_count && name != module.registers[index].name) ++index;
      if (index == module.register_count) {
        throw SyntaxError{at, "module '" + std::string(module.name) + "' has no register '" + name + "'"};
      }
      punctuation('=');
      made.arguments[index] =
          argument(module.registers[index].least, module.registers[index].most, module.registers[index].name,
                   module.configure != nullptr && module.registers[index].live != 0);
    } while (take(","));
    punctuation(')');
  }

  Argument argument(uint64_t least, uint64_t most, const char* of, bool live) {
    const size_t at = here();
    Argument value;
    if (begins_name(peek())) {
      const std::string_view name = bare_word();
      value.own_register = find_register(name);
      if (value.own_register == kNoRegister) {
        uint64_t constant = 0;
        if (!constant_named(name, &constant)) {
          throw SyntaxError{
              at, "'" + std::string(name) + "' is neither a register of this module nor a kind or state"};
        }
        value.number = constant;
      } else {
        // What a sub-module is built with cannot change while it runs.
        Register& own = out_->registers[value.own_register];
        if (!live) own.live = 0;
        if (own.initial < least || own.initial > most) {
          throw SyntaxError{at, "its initial value is outside the bounds of '" + std::string(of) + "', " +
                                    std::to_string(least) + " to " + std::to_string(most)};
        }
        own.least = std::max(own.least, least);
        own.most = std::min(own.most, most);
        return value;
      }
    } else {
      value.number = number();
    }
    if (value.number < least || value.number > most) {
      throw SyntaxError{
          at, "'" + std::string(of) + "' takes " + std::to_string(least) + " to " + std::to_string(most)};
    }
    return value;
  }

  // Operators by their binding, the weakest first; all of them lean left.
  struct Operator {
    std::string_view text;
    Op op;
    unsigned level;
  };
  static constexpr unsigned kLevels = 10;
  static constexpr Operator kOperators[] = {
      {"||", Op::kOr, 0},        {"&&", Op::kAnd, 1},        {"==", Op::kEqual, 5},
      {"!=", Op::kUnequal, 5},   {"<=", Op::kLessEqual, 6},  {">=", Op::kGreaterEqual, 6},
      {"<<", Op::kShiftLeft, 7}, {">>", Op::kShiftRight, 7}, {"<", Op::kLess, 6},
      {">", Op::kGreater, 6},    {"|", Op::kBitOr, 2},       {"^", Op::kBitXor, 3},
      {"&", Op::kBitAnd, 4},     {"+", Op::kAdd, 8},         {"-", Op::kSubtract, 8},
      {"*", Op::kMultiply, 9},   {"/", Op::kDivide, 9},      {"%", Op::kRemainder, 9},
  };
  const Operator* operator_here() {
    here();
    for (const Operator& each : kOperators) {
      if (text_.substr(at_, each.text.size()) == each.text) return &each;
    }
    return nullptr;
  }
  Expression expression() {
    const size_t begin = here();
    Expression made;
    binary(made, 0);
    if (made.depth() > Expression::kDeepest) throw SyntaxError{begin, "this expression is nested too deeply"};
    return made;
  }
  void binary(Expression& out, unsigned level) {
    if (level == kLevels) {
      unary(out);
      return;
    }
    binary(out, level + 1);
    while (true) {
      const Operator* const found = operator_here();
      if (found == nullptr || found->level != level) return;
      at_ += found->text.size();
      binary(out, level + 1);
      out.code.push_back({found->op, 0});
    }
  }
  void unary(Expression& out) {
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
    } else if (begins_name(c)) {
      name(out, at);
    } else {
      throw SyntaxError{at, "a value is missing before " + shown()};
    }
    --nesting_;
  }
  void name(Expression& out, size_t at) {
    const std::string_view found = bare_word();
    uint64_t constant = 0;
    if (found == "log2" || found == "min" || found == "max") {
      punctuation('(');
      binary(out, 0);
      if (found != "log2") {
        punctuation(',');
        binary(out, 0);
      }
      punctuation(')');
      out.code.push_back({found == "log2" ? Op::kLog2 : found == "min" ? Op::kMinimum : Op::kMaximum, 0});
    } else if (const uint32_t own = find_register(found); own != kNoRegister) {
      out.code.push_back({Op::kRegister, own});
    } else if (const Field field = field_named(found); field != Field::kFields) {
      out.code.push_back({Op::kField, static_cast<uint64_t>(field)});
    } else if (constant_named(found, &constant)) {
      out.code.push_back({Op::kNumber, constant});
    } else {
      throw SyntaxError{at, "'" + std::string(found) + "' is not a field, register, kind, state or function"};
    }
  }

  const std::string_view text_;
  size_t at_ = 0;
  size_t token_ = 0;
  unsigned nesting_ = 0;
  std::unique_ptr<Composition> out_;
  std::vector<std::pair<std::string, uint32_t>> named_;
  std::vector<size_t> fed_at_;  // by sub-module
};

}  // namespace

std::unique_ptr<Composition> parse_composition(std::string_view text) { return Parser(text).parse(); }

}  // namespace substrata::owl
