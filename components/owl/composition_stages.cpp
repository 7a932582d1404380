// Reads tables, states, actions and packets.
#include "owl/composition_stages.hpp"

#include <algorithm>
#include <csignal>

#include "owl/table.hpp"

namespace substrata::owl {
namespace {

constexpr size_t kTableBytes = 4 << 20;
constexpr uint32_t kMostRows = 1 << 16;

struct Named {
  std::string_view name;
  int value;
};
constexpr Named kAggregates[] = {
    {"count", static_cast<int>(Aggregate::kCount)},        {"sum", static_cast<int>(Aggregate::kSum)},
    {"avg", static_cast<int>(Aggregate::kAverage)},        {"min", static_cast<int>(Aggregate::kMinimum)},
    {"max", static_cast<int>(Aggregate::kMaximum)},        {"hist", static_cast<int>(Aggregate::kHistogram)},
    {"quantiles", static_cast<int>(Aggregate::kQuantiles)}};
constexpr Named kSignals[] = {{"SIGUSR1", SIGUSR1}, {"SIGUSR2", SIGUSR2}, {"SIGSTOP", SIGSTOP},
                              {"SIGCONT", SIGCONT}, {"SIGTERM", SIGTERM}, {"SIGINT", SIGINT},
                              {"SIGABRT", SIGABRT}, {"SIGTRAP", SIGTRAP}, {"SIGALRM", SIGALRM}};

template <typename Names>
const Named* find_named(const Names& names, std::string_view name) {
  const auto* const at =
      std::find_if(std::begin(names), std::end(names), [&](const Named& each) { return each.name == name; });
  return at == std::end(names) ? nullptr : at;
}

}  // namespace

bool StageParser::is_aggregate(std::string_view name) noexcept {
  return find_named(kAggregates, name) != nullptr;
}

std::vector<std::string_view> StageParser::stage_names() {
  std::vector<std::string_view> names{"filter", "map",  "trigger", "packets", "set",   "signal",
                                      "kill",   "mark", "gate",    "arm",     "disarm"};
  for (const Named& each : kAggregates) names.push_back(each.name);
  return names;
}

uint32_t StageParser::find_label(const std::string& name) const {
  for (size_t i = 0; i < named_.size(); ++i) {
    if (named_[i].first == name) return named_[i].second;
  }
  return kNoRegister;
}

// count, sum(size) by object, line every 10ms
void StageParser::table(Stage& made) {
  made.kind = StageKind::kTable;
  made.is_quiet = true;
  do {
    const size_t at = here();
    const std::string_view written = bare_word();
    const Named* const found = find_named(kAggregates, written);
    if (found == nullptr) {
      std::vector<std::string_view> known;
      for (const Named& each : kAggregates) known.push_back(each.name);
      throw SyntaxError{at, "'" + std::string(written) + "' cannot be computed" + suggestion(written, known)};
    }
    ValueColumn column;
    column.kind = static_cast<Aggregate>(found->value);
    column.text = written;
    if (column.kind != Aggregate::kCount) {
      std::string inner;
      punctuation('(');
      column.value = expression(&inner);
      punctuation(')');
      column.text += "(" + inner + ")";
    }
    made.words += words_of(column.kind);
    made.values.push_back(std::move(column));
    if (made.values.size() > 16) throw SyntaxError{at, "a table has at most 16 values"};
  } while (take(","));
  if (take_word("by")) keys(made);
  const size_t at = here();
  if (take_word("every")) made.every = period();
  const size_t row = made.keys.size() + made.words + (made.every.is_set() ? 1 : 0);
  if (row * 8 > SUBSTRATA_OWL_MOST_PACKET)
    throw SyntaxError{at, "a row of this table is too long for a packet"};
  made.rows = static_cast<uint32_t>(std::clamp<size_t>(kTableBytes / (row * 8), 16, kMostRows));
}

void StageParser::keys(Stage& made) {
  do {
    const size_t at = here();
    KeyColumn key;
    const std::string_view word = begins_name(peek()) ? bare_word() : std::string_view();
    const FieldName* const field = find_field(word);
    const char next = peek();
    if (field != nullptr && (next == ',' || next == ';' || next == '\0' || next == '}' || next == 'e' ||
                             text_.substr(at_, 2) == "->")) {
      key.text = word;
      key.shown = field->shown;
      key.value.code.push_back({Op::kField, static_cast<uint64_t>(field->field)});
    } else {
      at_ = at;
      key.value = expression(&key.text);
    }
    made.keys.push_back(std::move(key));
    if (made.keys.size() == kMostKeys) throw SyntaxError{at, "a table has at most 7 keys"};
  } while (take(","));
}

// 1000 (transactions), 10ms
Period StageParser::period() {
  const size_t begin = here();
  size_t end = begin;
  while (end < text_.size() && text_[end] >= '0' && text_[end] <= '9') ++end;
  uint64_t value = 0;
  const bool is_number = parse_number(text_.substr(begin, end - begin), &value) && value != 0;
  at_ = end;
  const std::string_view unit =
      end < text_.size() && begins_name(text_[end]) ? bare_word() : std::string_view();
  const uint64_t ns = unit == "ns"   ? 1
                      : unit == "us" ? 1000
                      : unit == "ms" ? 1'000'000
                      : unit == "s"  ? 1'000'000'000
                                     : 0;
  if (!is_number || (ns == 0 && !unit.empty()) || value > 1'000'000'000)
    throw SyntaxError{begin, "a period is a number of transactions, or a time with ns, us, ms or s"};
  return ns == 0 ? Period{value, 0} : Period{0, value * ns};
}

bool StageParser::take_word(std::string_view wanted) {
  const size_t begin = here();
  if (bare_word() == wanted) return true;
  at_ = begin;
  return false;
}

// False: it is none.
bool StageParser::action(Stage& made, const std::string& kind) {
  if (kind == "gate") {
    made.kind = StageKind::kGate;
    if (take("(")) {
      made.on = take_word("on");
      punctuation(')');
    }
    return true;
  }
  if (kind == "set") {
    set(made);
    return true;
  }
  if (kind != "signal" && kind != "kill" && kind != "mark" && kind != "arm" && kind != "disarm") return false;
  punctuation('(');
  const size_t at = here();
  if (kind == "signal") {
    made.kind = StageKind::kSignal;
    made.condition = expression();
  } else if (kind == "mark") {
    made.kind = StageKind::kMark;
    made.text = string();
  } else if (kind == "kill") {
    made.kind = StageKind::kKill;
    const std::string_view name = bare_word();
    const Named* const found = find_named(kSignals, name);
    if (found == nullptr) {
      std::vector<std::string_view> known;
      for (const Named& each : kSignals) known.push_back(each.name);
      throw SyntaxError{
          at, "'" + std::string(name) + "' is not a signal that can be sent" + suggestion(name, known)};
    }
    made.other = static_cast<uint32_t>(found->value);
    if (take(",")) {
      word("thread");
      made.on = true;
    }
  } else {
    made.kind = StageKind::kArm;
    made.on = kind == "arm";
    made.other = find_label(identifier("a gate's name", false));
    if (made.other == kNoRegister || out_of_.stages[made.other].kind != StageKind::kGate)
      throw SyntaxError{at, "a gate's name belongs here, which 'let NAME = gate;' gives before"};
  }
  punctuation(')');
  return true;
}

// set(NAME[keys] = value)
void StageParser::set(Stage& made) {
  made.kind = StageKind::kSet;
  punctuation('(');
  const size_t at = here();
  const std::string_view name = bare_word();
  std::vector<Expression> keys;
  made.other = state_keys(name, at, &keys);
  out_of_.states[made.other].set = true;
  for (Expression& each : keys) made.keys.push_back({{}, Shown::kNumber, std::move(each)});
  punctuation('=');
  made.condition = expression();
  punctuation(')');
}

// What the packets of the sub-module before this one hold.
std::vector<ExpressionParser::PacketField> StageParser::fields_before(size_t at) const {
  std::vector<PacketField> fields;
  const Stage* const from = before_ != kNoRegister ? &out_of_.stages[before_] : nullptr;
  uint32_t offset = 0;
  if (from != nullptr && from->kind == StageKind::kTable) {
    if (from->every.is_set()) fields.push_back({"period", 0, 8});
    for (const KeyColumn& key : from->keys)
      fields.push_back({key.text, 8 * static_cast<uint32_t>(fields.size()), 8});
    offset = 8 * static_cast<uint32_t>(fields.size());
    for (const ValueColumn& value : from->values) {
      if (words_of(value.kind) == 1)
        fields.push_back({value.text.substr(0, value.text.find('(')), offset, 8});
      offset += 8 * words_of(value.kind);
    }
  } else if (from != nullptr && from->module != nullptr) {
    for (std::string_view rest = from->module->packets; !rest.empty();) {
      const std::string_view one = trimmed(rest.substr(0, rest.find(',')));
      rest.remove_prefix(
          std::min(rest.size(), rest.find(',') == std::string_view::npos ? rest.size() : rest.find(',') + 1));
      const uint32_t bytes = one.starts_with("u64 ") ? 8 : one.starts_with("u32 ") ? 4 : 0;
      if (bytes == 0) break;  // from here on its form varies
      std::string name(one.substr(4));
      std::replace(name.begin(), name.end(), ' ', '_');
      fields.push_back({std::move(name), offset, bytes});
      offset += bytes;
    }
  }
  if (fields.empty())
    throw SyntaxError{at, "'packets' stands behind a table or a module whose packets have declared fields"};
  return fields;
}

}  // namespace substrata::owl
