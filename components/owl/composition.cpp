// Parses compositions, checks them against the library, and runs them as modules.
#include "composition.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/parse.hpp"
#include "expression.hpp"
#include "library.hpp"
#include "module.hpp"

namespace substrata::owl {
namespace {

constexpr size_t kMostText = 1 << 20;
constexpr size_t kMostStages = 256;
constexpr unsigned kDeepestNesting = 64;
constexpr size_t kMapBatch = 64;
constexpr uint32_t kNoRegister = ~0u;

enum class StageKind { kModule, kFilter, kMap, kTrigger };

// A value for a register of a sub-module: a number, or a register of the composition.
struct Argument {
  uint64_t number = 0;
  uint32_t own_register = kNoRegister;
};

struct Stage {
  std::string label;  // name in metrics
  StageKind kind = StageKind::kModule;
  const Module* module = nullptr;
  std::vector<Argument> arguments;  // one for each register of the module
  Expression condition;             // of filter and trigger
  Argument after;                   // of trigger: passes so many; 0: all that follow
  std::vector<std::pair<Field, Expression>> assignments;
  std::vector<uint32_t> next;
  bool to_ring = false;  // also, or only, to the ring
  bool fed = false;
  uint32_t first_metric = 0;
};

constexpr Metric kStageMetrics[] = {
    count_metric("SEEN", "transactions that came to this stage", "transactions"),
    count_metric("PASSED", "of them those that it handed on", "transactions"),
};

// A whole composition; immutable once checked, and kept for ever once added.
struct Composition {
  std::string name;
  std::string summary;
  std::string packets;
  std::vector<std::string> texts;  // that the descriptions below point to
  std::vector<std::pair<std::string, std::string>> register_texts;
  std::vector<Register> registers;
  std::vector<std::string> metric_names;
  std::vector<Metric> metrics;
  std::vector<Stage> stages;
  std::vector<uint32_t> first;  // fed by the capsule
  Module module{};
};

// ------------------------------------------------------------------------------------------------ parsing

// Thrown inside this file only.
struct SyntaxError {
  size_t at;
  std::string message;
};

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
    for (size_t i = 0; i < out_->stages.size(); ++i) {
      if (!out_->stages[i].fed)
        throw SyntaxError{stage_at_[i], "'" + out_->stages[i].label + "' is never fed"};
    }
    return std::move(out_);
  }

 private:
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
        made.after = argument(0, ~uint64_t{0}, "after");
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
    stage_at_.push_back(begin);
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
          argument(module.registers[index].least, module.registers[index].most, module.registers[index].name);
    } while (take(","));
    punctuation(')');
  }

  Argument argument(uint64_t least, uint64_t most, const char* of) {
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
        own.live = 0;
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
  std::vector<size_t> stage_at_;
};

// ------------------------------------------------------------------------------------------------- running

uint64_t value_of(const Argument& argument, const uint64_t* registers) noexcept {
  return argument.own_register == kNoRegister ? argument.number : registers[argument.own_register];
}

void fill_arguments(const Stage& stage, const uint64_t* registers, uint64_t* out) noexcept {
  for (size_t i = 0; i < stage.arguments.size(); ++i) out[i] = value_of(stage.arguments[i], registers);
}

class Composed {
 public:
  Composed(const Composition& composition, const uint64_t* registers, const substrata_owl_services& services)
      : composition_(composition), services_(services), parts_(composition.stages.size()) {
    configure(registers);
    for (uint32_t i = 0; i < parts_.size(); ++i) {
      parts_[i].whole = this;
      parts_[i].stage = i;
    }
  }
  ~Composed() {
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].instance != nullptr) composition_.stages[i].module->destroy(parts_[i].instance);
    }
  }
  Composed(const Composed&) = delete;
  Composed& operator=(const Composed&) = delete;
  // Null: done.
  const char* build() {
    for (size_t i = 0; i < parts_.size(); ++i) {
      const Stage& stage = composition_.stages[i];
      Part& part = parts_[i];
      if (stage.kind == StageKind::kMap) part.buffer.resize(kMapBatch);
      if (stage.module == nullptr) continue;
      uint64_t registers[SUBSTRATA_OWL_MOST_REGISTERS] = {};
      fill_arguments(stage, registers_, registers);
      const substrata_owl_services services{
          sizeof services, SUBSTRATA_OWL_MODULE_ABI, &part, emit, emit_from, forward, signal};
      if (const char* why = stage.module->create(stage.module, registers, &services, &part.instance))
        return why;
    }
    return nullptr;
  }
  void configure(const uint64_t* registers) noexcept {
    std::copy_n(registers, composition_.registers.size(), registers_);
  }
  void observe(const Transaction* batch, size_t count) noexcept {
    for (const uint32_t stage : composition_.first) feed(stage, batch, count);
  }
  // In the order of the chains: what a sub-module hands on while it is written back reaches those behind it.
  void write_back() noexcept {
    for (const uint32_t stage : composition_.first) write_back(stage);
  }
  void read(uint64_t* metrics) const noexcept {
    for (size_t i = 0; i < parts_.size(); ++i) {
      const Stage& stage = composition_.stages[i];
      uint64_t* const out = metrics + stage.first_metric;
      if (stage.module != nullptr) {
        stage.module->read(parts_[i].instance, out);
      } else {
        out[0] = parts_[i].seen;
        out[1] = parts_[i].passed;
      }
    }
  }

 private:
  struct Part {
    Composed* whole = nullptr;
    uint32_t stage = 0;
    void* instance = nullptr;
    uint64_t seen = 0;
    uint64_t passed = 0;
    uint64_t gate = 0;  // of a trigger: how many more pass
    std::vector<Transaction> buffer;
  };
  static void emit(void* part, const void* packet, uint32_t bytes) {
    const Part& self = *static_cast<Part*>(part);
    self.whole->services_.emit_from(self.whole->services_.capsule, packet, bytes, self.stage);
  }
  static void emit_from(void* part, const void* packet, uint32_t bytes, uint32_t) {
    emit(part, packet, bytes);
  }
  static void forward(void* part, const Transaction* transactions, size_t count) {
    const Part& self = *static_cast<Part*>(part);
    self.whole->hand_on(self.stage, transactions, count);
  }
  static void signal(void* part, const Transaction* cause, uint32_t reason) {
    const Part& self = *static_cast<Part*>(part);
    self.whole->services_.signal(self.whole->services_.capsule, cause, reason);
  }

  void hand_on(uint32_t from, const Transaction* batch, size_t count) noexcept {
    const Stage& stage = composition_.stages[from];
    for (const uint32_t next : stage.next) feed(next, batch, count);
    if (!stage.to_ring && !stage.next.empty()) return;
    for (size_t i = 0; i < count; ++i) {
      services_.emit_from(services_.capsule, &batch[i], sizeof(Transaction), from);
    }
  }
  void feed(uint32_t to, const Transaction* batch, size_t count) noexcept {
    const Stage& stage = composition_.stages[to];
    Part& part = parts_[to];
    switch (stage.kind) {
      case StageKind::kModule:
        stage.module->observe(part.instance, batch, count);
        return;
      case StageKind::kFilter:
        pass(to, batch, count,
             [&](const Transaction& t) { return stage.condition.evaluate(t, registers_) != 0; });
        return;
      case StageKind::kTrigger: {
        const uint64_t after = value_of(stage.after, registers_);
        pass(to, batch, count, [&](const Transaction& t) {
          if (stage.condition.evaluate(t, registers_) != 0) part.gate = after == 0 ? ~uint64_t{0} : after;
          if (part.gate == 0) return false;
          if (part.gate != ~uint64_t{0}) --part.gate;
          return true;
        });
        return;
      }
      case StageKind::kMap:
        part.seen += count;
        part.passed += count;
        while (count != 0) {
          const size_t now = std::min(count, kMapBatch);
          for (size_t i = 0; i < now; ++i) {
            part.buffer[i] = batch[i];
            // All from the transaction as it came.
            for (const auto& [field, value] : stage.assignments) {
              set(part.buffer[i], field, value.evaluate(batch[i], registers_));
            }
          }
          hand_on(to, part.buffer.data(), now);
          batch += now;
          count -= now;
        }
        return;
    }
  }
  // Hands runs of passing transactions on where they lie.
  template <typename Passes>
  void pass(uint32_t stage, const Transaction* batch, size_t count, const Passes& passes) noexcept {
    Part& part = parts_[stage];
    part.seen += count;
    size_t begin = 0;
    for (size_t i = 0; i < count; ++i) {
      if (passes(batch[i])) continue;
      if (i != begin) hand_run(stage, batch + begin, i - begin);
      begin = i + 1;
    }
    if (begin < count) hand_run(stage, batch + begin, count - begin);
  }
  void hand_run(uint32_t stage, const Transaction* batch, size_t count) noexcept {
    parts_[stage].passed += count;
    hand_on(stage, batch, count);
  }
  void write_back(uint32_t at) noexcept {
    const Stage& stage = composition_.stages[at];
    if (stage.module != nullptr && stage.module->write_back != nullptr) {
      stage.module->write_back(parts_[at].instance);
    }
    for (const uint32_t next : stage.next) write_back(next);
  }

  const Composition& composition_;
  const substrata_owl_services services_;
  uint64_t registers_[SUBSTRATA_OWL_MOST_REGISTERS] = {};
  std::vector<Part> parts_;
};

const Composition& composition_of(const Module* module) noexcept {
  return *static_cast<const Composition*>(module->context);
}

void cost(const Module* self, const uint64_t* registers, Cost* out) noexcept {
  *out = {};
  for (const Stage& stage : composition_of(self).stages) {
    if (stage.module != nullptr) {
      uint64_t values[SUBSTRATA_OWL_MOST_REGISTERS] = {};
      fill_arguments(stage, registers, values);
      Cost part{};
      stage.module->cost(stage.module, values, &part);
      out->counters += part.counters;
      out->table_bits += part.table_bits;
      out->comparators += part.comparators;
      continue;
    }
    // Two counters, a latch a value, and a comparator or adder an operation.
    out->counters += 2;
    const auto add = [out](const Expression& e) {
      for (const Instruction& each : e.code)
        (each.op <= Op::kRegister ? out->table_bits : out->comparators) += each.op <= Op::kRegister ? 64 : 1;
    };
    add(stage.condition);
    for (const auto& [field, value] : stage.assignments) add(value);
  }
}

uint32_t longest_packet(const Module* self, const uint64_t* registers) noexcept {
  uint32_t longest = sizeof(Transaction);
  for (const Stage& stage : composition_of(self).stages) {
    if (stage.module == nullptr) continue;
    uint64_t values[SUBSTRATA_OWL_MOST_REGISTERS] = {};
    fill_arguments(stage, registers, values);
    longest = std::max(longest, longest_packet_of(*stage.module, values));
  }
  return longest;
}

const char* create(const Module* self, const uint64_t* registers, const substrata_owl_services* services,
                   void** instance) noexcept {
  try {
    auto made = std::make_unique<Composed>(composition_of(self), registers, *services);
    if (const char* why = made->build()) return why;
    *instance = made.release();
    return nullptr;
  } catch (...) {
    return "no memory for its sub-modules";
  }
}

// The description that the library needs; the composition stays where it is.
const char* describe(Composition& c) {
  for (size_t i = 0; i < c.registers.size(); ++i) {
    c.registers[i].name = c.register_texts[i].first.c_str();
    c.registers[i].text = c.register_texts[i].second.c_str();
  }
  std::vector<Metric> metrics;
  for (Stage& stage : c.stages) {
    stage.first_metric = static_cast<uint32_t>(metrics.size());
    std::string prefix = stage.label + "_";
    for (char& each : prefix) {
      each = each == '-' ? '_' : each >= 'a' && each <= 'z' ? static_cast<char>(each - 'a' + 'A') : each;
    }
    const auto add = [&](const Metric& metric) {
      c.metric_names.push_back(prefix + metric.name);
      metrics.push_back(metric);
    };
    if (stage.module != nullptr) {
      std::for_each(stage.module->metrics, stage.module->metrics + stage.module->metric_count, add);
    } else {
      std::for_each(std::begin(kStageMetrics), std::end(kStageMetrics), add);
    }
    c.packets += (c.packets.empty() ? "stage " : "; stage ") + std::to_string(&stage - c.stages.data()) +
                 " (" + stage.label + "): " +
                 (stage.module != nullptr               ? stage.module->packets
                  : stage.to_ring || stage.next.empty() ? "a transaction"
                                                        : "");
  }
  if (metrics.size() > SUBSTRATA_OWL_MOST_METRICS)
    return "its sub-modules have more than 48 metrics together";
  for (size_t i = 0; i < metrics.size(); ++i) {
    if (c.metric_names[i].size() > 31)
      return "a metric's name (of a sub-module and its own) is longer than 31 characters";
    metrics[i].name = c.metric_names[i].c_str();
  }
  c.metrics = std::move(metrics);
  Module& module = c.module;
  module.struct_size = sizeof(Module);
  module.abi = SUBSTRATA_OWL_MODULE_ABI;
  module.name = c.name.c_str();
  module.summary = c.summary.c_str();
  module.packets = c.packets.c_str();
  module.registers = c.registers.data();
  module.register_count = static_cast<uint32_t>(c.registers.size());
  module.metrics = c.metrics.data();
  module.metric_count = static_cast<uint32_t>(c.metrics.size());
  module.cost = cost;
  module.create = create;
  module.longest_packet = longest_packet;
  module.destroy = ModuleFunctions<Composed>::destroy;
  module.observe = ModuleFunctions<Composed>::observe;
  module.write_back = [](void* instance) { static_cast<Composed*>(instance)->write_back(); };
  module.read = ModuleFunctions<Composed>::read;
  module.configure = [](void* instance, const uint64_t* r) {
    static_cast<Composed*>(instance)->configure(r);
  };
  module.context = &c;
  return nullptr;
}

int compile(std::string_view text, const std::string& origin, std::unique_ptr<Composition>* out) {
  if (text.size() > kMostText)
    return fail(Code::kInvalid, "%s: a composition has at most 1 MiB", origin.c_str());
  try {
    std::unique_ptr<Composition> made = Parser(text).parse();
    if (const char* wrong = describe(*made)) throw SyntaxError{0, wrong};
    *out = std::move(made);
    return 0;
  } catch (const SyntaxError& error) {
    const std::string_view before = text.substr(0, std::min(error.at, text.size()));
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const size_t column =
        before.size() - (before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1) + 1;
    return fail(Code::kInvalid, "%s:%td:%zu: %s", origin.c_str(), line, column, error.message.c_str());
  }
}

}  // namespace

int check_composition(std::string_view text, const std::string& origin, std::string* name) {
  std::unique_ptr<Composition> made;
  if (const int refused = compile(text, origin, &made)) return refused;
  *name = made->name;
  return 0;
}

int compose_and_add(std::string_view text, const std::string& origin) {
  std::unique_ptr<Composition> made;
  if (const int refused = compile(text, origin, &made)) return refused;
  // Capsules and the library point to it from then on.
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::unique_ptr<Composition>>;
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(made));
  const int refused = add_modules({&kept->back()->module}, origin);
  if (refused != 0) kept->pop_back();
  return refused;
}

}  // namespace substrata::owl
