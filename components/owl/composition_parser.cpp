// Parses compositions and checks them against the library.
#include <algorithm>
#include <string>

#include "owl/composition_stages.hpp"
#include "owl/library.hpp"

namespace substrata::owl {
namespace {

constexpr size_t kMostStages = 256;
// Probe points by a short name.
constexpr std::pair<std::string_view, std::string_view> kShort[] = {
    {"mem.accesses", "mem.cpu*.accesses"},
    {"mem.l1-l2", "mem.cpu*.l1-l2"},
    {"mem.l2-memory", "mem.cpu*.l2-memory"},
    {"mpi.send", "mpi.rank*.send"},
    {"mpi.receive", "mpi.rank*.receive"},
    {"mpi.contents", "mpi-contents.rank*"},
    {"mpi", "mpi.rank*"},
    {"page-faults", "os.page-faults"},
    {"samples", "os.processor-samples"},
    {"switches", "os.switches"},
    {"syscalls", "os.system-calls"},
    {"memory-samples", "os.memory-samples"},
    {"io", "io.calls"},
    {"counters", "counter.*"},
};

class Parser : public StageParser {
 public:
  explicit Parser(std::string_view text) : Parser(text, std::make_unique<Composition>()) {}

  // "PROBES: stage -> stage; PROBES: ..."
  std::unique_ptr<Composition> parse_query(std::string name) {
    out_->name = std::move(name);
    out_->summary = trimmed(text_);
    while (peek() != '\0') {
      const std::string pattern = probe_pattern();
      out_->probes += (out_->probes.empty() ? "" : ",") + pattern;
      links(kNoRegister, pattern);
      if (peek() == ';')
        ++at_;
      else if (peek() != '\0')
        throw SyntaxError{here(), "'->' or ';' is missing before " + shown()};
    }
    if (out_->inputs.empty())
      throw SyntaxError{0, "nothing is asked: write PROBES: filter(...) -> count by ..."};
    check_inputs();
    return std::move(out_);
  }

  std::unique_ptr<Composition> parse() {
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
    if (out_->inputs.empty())
      throw SyntaxError{here() - 1, "nothing is fed: a chain must begin with 'input ->'"};
    check_inputs();
    return std::move(out_);
  }

 private:
  Parser(std::string_view text, std::unique_ptr<Composition> out)

      : StageParser(text, *out), out_(std::move(out)) {}

  bool feeds_packets(const Stage& stage) const {
    return std::all_of(stage.next.begin(), stage.next.end(),
                       [&](uint32_t each) { return out_->stages[each].kind == StageKind::kPackets; });
  }
  // Every sub-module sees what input gives, and gets it from one that hands transactions on.
  void check_inputs() const {
    const std::vector<Stage>& stages = out_->stages;
    std::vector<uint32_t> reached;
    for (const Input& each : out_->inputs) reached.push_back(each.stage);
    for (size_t i = 0; i < reached.size(); ++i) {
      const Stage& stage = stages[reached[i]];
      if (stage.kind == StageKind::kTable && !stage.next.empty() && !feeds_packets(stage)) {
        throw SyntaxError{fed_at_[stage.next.front()],
                          "a table hands no transactions on; its rows are packets: put 'packets(...)' here"};
      }
      if (stage.module != nullptr && !stage.next.empty() && !feeds_packets(stage)) {
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
    std::vector<std::string_view> known;
    for (const State& each : out_->states)
      if (each.set) known.push_back(each.name);
    for (const State& each : out_->states) {
      if (each.set) continue;
      const std::string meant = suggestion(each.name, known);
      throw SyntaxError{each.at, "'" + each.name + "' is never set" +
                                     (meant.empty() ? ": set(" + each.name + "[...] = ...)" : meant)};
    }
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
      before_ = kNoRegister;
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
    if (find_field(name) != nullptr) throw SyntaxError{begin, "'" + name + "' is a field's name"};
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
        std::vector<std::string_view> known{"input"};
        for (const auto& each : named_) known.push_back(each.first);
        const std::string meant = suggestion(head, known);
        throw SyntaxError{
            begin, "'" + head + "' is not defined" +
                       (meant.empty() ? "; a chain begins with 'input' or a name given by 'let'" : meant)};
      }
    }
    if (peek() == '(' && from == kNoRegister) {  // input("mem.*")
      punctuation('(');
      const std::string pattern = string();
      punctuation(')');
      links(from, pattern);
      return;
    }
    links(from, {});
  }
  // A pattern, or a short name for one, up to ':'.
  std::string probe_pattern() {
    const size_t begin = here();
    while (at_ < text_.size() &&
           (in_name(text_[at_]) || std::string_view(".*?,-").find(text_[at_]) != std::string_view::npos))
      ++at_;
    const std::string_view written = text_.substr(begin, at_ - begin);
    if (written.empty()) throw SyntaxError{begin, "probe points are missing before " + shown()};
    if (peek() != ':') throw SyntaxError{here(), "':' is missing behind the probe points, before " + shown()};
    ++at_;
    for (const auto& [name, meaning] : kShort)
      if (name == written) return std::string(meaning);
    return std::string(written);
  }
  // stage -> stage ...; in a query no arrow stands before the first.
  void links(uint32_t from, const std::string& pattern) {
    const bool query = !out_->probes.empty();
    bool any = false;
    while ((query && !any) || take("->")) {
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
        if (text_.substr(here(), 2) == "->") throw SyntaxError{here(), "nothing comes behind output"};
        break;
      }
      uint32_t to = call ? kNoRegister : find_label(name);
      if (to == kNoRegister) {
        before_ = from;
        to = stage({});
      } else {
        identifier("a sub-module's name", false);
      }
      Stage& next = out_->stages[to];
      if (next.fed) throw SyntaxError{at, "'" + next.label + "' is fed twice"};
      next.fed = true;
      fed_at_.resize(out_->stages.size());
      fed_at_[to] = at;
      if (from == kNoRegister)
        out_->inputs.push_back({pattern, to});
      else
        out_->stages[from].next.push_back(to);
      from = to;
    }
    if (!any) throw SyntaxError{here(), "'->' is missing before " + shown()};
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
    } else if (kind == "map" || kind == "packets") {
      made.kind = kind == "map" ? StageKind::kMap : StageKind::kPackets;
      if (made.kind == StageKind::kPackets) packet_ = fields_before(begin);
      punctuation('(');
      do {
        const size_t at = here();
        const std::string_view word = bare_word();
        const FieldName* const field = find_field(word);
        if (field == nullptr || field->field > kLastAssignable) {
          at_ = at;
          std::vector<std::string_view> known;
          for (const FieldName& each : field_names())
            if (each.field <= kLastAssignable) known.push_back(each.name);
          throw SyntaxError{
              at, "a field of the transaction is missing before " + shown() + suggestion(word, known)};
        }
        punctuation('=');
        made.assignments.emplace_back(field->field, expression());
      } while (take(","));
      packet_.clear();
      punctuation(')');
    } else if (is_aggregate(kind)) {
      at_ = begin;
      table(made);
    } else if (action(made, kind)) {
      made.is_quiet = true;
    } else {
      const LibraryEntry* const entry = find_module(kind);
      if (entry == nullptr) {
        std::vector<std::string_view> known = stage_names();
        for (const LibraryEntry* each : all_modules()) known.push_back(each->module->name);
        const std::string meant = suggestion(kind, known);
        throw SyntaxError{begin,
                          "there is no sub-module '" + kind + "'" +
                              (meant.empty() ? "; there are filter, map, trigger, count, sum, avg, min, max, "
                                               "hist, quantiles, set, the actions and the modules of "
                                               "`substrata module list`"
                                             : meant)};
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
        std::vector<std::string_view> known;
        for (uint32_t i = 0; i < module.register_count; ++i) known.push_back(module.registers[i].name);
        throw SyntaxError{at, "module '" + std::string(module.name) + "' has no register '" + name + "'" +
                                  suggestion(name, known)};
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

  size_t token_ = 0;
  std::unique_ptr<Composition> out_;
  std::vector<size_t> fed_at_;  // by sub-module
};

}  // namespace

std::unique_ptr<Composition> parse_composition(std::string_view text) { return Parser(text).parse(); }
std::unique_ptr<Composition> parse_query(std::string_view text, std::string name) {
  return Parser(text).parse_query(std::move(name));
}

}  // namespace substrata::owl
