// Reads files of metrics line by line.
#include "metrics/definitions.hpp"

#include <algorithm>
#include <optional>

#include "base/parse.hpp"

namespace substrata::metrics {
namespace {

constexpr size_t kMostDefinitions = 10000;
constexpr size_t kMostLine = 4096;
constexpr size_t kMostAlternatives = 32;

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 60 && !(text[0] >= '0' && text[0] <= '9') &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
         });
}

std::string note_of(Status status) { return status.note != nullptr ? status.note : "it is not understood"; }

class Reader {
 public:
  Reader(const std::string& file, Definitions* out) : file_(file), out_(out) {}

  void line(std::string_view text) {
    ++number_;
    line_ = text;
    if (text.size() > kMostLine) return fault(text, "the line is longer than 4096 characters");
    const std::string_view content = trimmed(text.substr(0, text.find('#')));
    if (content.empty()) return;
    const size_t end = content.find_first_of(" \t");
    const std::string_view word = content.substr(0, end);
    const std::string_view rest =
        end == std::string_view::npos ? content.substr(content.size()) : trimmed(content.substr(end));
    if (word == "metric" || word == "group" || word == "processors") return begin(word, rest);
    if (metric_) return metric_line(word, rest);
    if (group_) return group_line(word, rest);
    fault(word, "expected metric, group or processors");
  }

  void finish() {
    if (metric_ && sound_) finish_metric();
    if (group_ && sound_) {
      if (group_->metrics.empty())
        fault_at_begin("the group has no metrics");
      else
        out_->groups.push_back(std::move(*group_));
    }
    metric_.reset();
    group_.reset();
    sound_ = true;
  }

  std::vector<Fault> faults;

 private:
  void fault(std::string_view where, const std::string& what) {
    const auto column = where.data() >= line_.data() && where.data() <= line_.data() + line_.size()
                            ? static_cast<unsigned>(where.data() - line_.data()) + 1
                            : 1u;
    faults.push_back({file_, number_, column, what});
    sound_ = false;
  }
  void fault_at_begin(const std::string& what) {
    faults.push_back({file_, begun_, 1, what});
    sound_ = false;
  }

  void begin(std::string_view word, std::string_view rest) {
    finish();
    begun_ = number_;
    if (word == "processors") {
      processors_ = split_list(rest, " \t");
      if (processors_.empty()) return fault(word, "name counter units, or * for all");
      if (processors_ == std::vector<std::string>{"*"}) processors_.clear();
      return;
    }
    if (!is_name(rest)) return fault(rest, "a name has letters, digits and _, and begins with a letter");
    if (out_->metrics.size() + out_->groups.size() >= kMostDefinitions)
      return fault(rest, "more than 10000 definitions");
    const std::string place = file_ + ":" + std::to_string(number_);
    formula_ = {};
    if (word == "metric") {
      metric_.emplace();
      metric_->name = rest;
      metric_->processors = processors_;
      metric_->place = place;
    } else {
      group_.emplace();
      group_->name = rest;
      group_->processors = processors_;
      group_->place = place;
    }
  }

  void metric_line(std::string_view word, std::string_view rest) {
    if (rest.empty()) return fault(word, "something is to follow the keyword");
    if (word == "text")
      metric_->text = rest;
    else if (word == "needs")
      metric_->needs = rest;
    else if (word == "source")
      metric_->source = rest;
    else if (word == "beside")
      metric_->beside = rest;
    else if (word == "unit")
      unit_line(rest);
    else if (word == "term")
      term_line(rest);
    else if (word == "formula")
      formula_line(rest);
    else
      fault(word, "expected text, term, formula, unit, needs, source or beside");
  }

  void unit_line(std::string_view rest) {
    const Result<Unit> unit = parse_unit(rest);
    if (!unit) return fault(rest, note_of(unit.error()));
    metric_->unit = *unit;
    metric_->unit_text = rest;
  }

  void formula_line(std::string_view rest) {
    metric_->formula_text = rest;
    formula_ = {number_, static_cast<unsigned>(rest.data() - line_.data()) + 1};
  }

  // NAME [UNIT] = [sum|mean|min|max] EVENT | EVENT ...
  void term_line(std::string_view rest) {
    const size_t equals = rest.find('=');
    if (equals == std::string_view::npos) return fault(rest, "expected NAME [UNIT] = EVENT");
    std::string_view name = trimmed(rest.substr(0, equals));
    Term term;
    if (const size_t open = name.find('['); open != std::string_view::npos) {
      if (name.back() != ']') return fault(name, "a ']' is missing");
      const std::string_view text = trimmed(name.substr(open + 1, name.size() - open - 2));
      const Result<Unit> unit = parse_unit(text);
      if (!unit) return fault(text, note_of(unit.error()));
      term.unit = *unit;
      name = trimmed(name.substr(0, open));
    }
    if (!is_name(name))
      return fault(name, "a term's name has letters, digits and _, and begins with a letter");
    const auto same = [&](const Term& other) { return other.name == name; };
    if (name == kElapsed || name == kProcessors ||
        std::any_of(metric_->terms.begin(), metric_->terms.end(), same))
      return fault(name, "the name is taken");
    if (metric_->terms.size() + 2 >= Formula::kMaxNames) return fault(name, "too many terms");
    term.name = name;
    std::string_view events = trimmed(rest.substr(equals + 1));
    for (const auto& [word, fold] : {std::pair{"sum ", Fold::kSum}, std::pair{"mean ", Fold::kMean},
                                     std::pair{"min ", Fold::kMin}, std::pair{"max ", Fold::kMax}})
      if (events.starts_with(word)) {
        term.fold = fold;
        events = trimmed(events.substr(events.find(' ')));
        break;
      }
    for (const std::string& one : split(events, '|')) {
      const std::string_view event = trimmed(one);
      // Commas stand in the kernel's form only: cpu/event=0xc1,umask=0x1/.
      const char* const never = event.find('/') == std::string_view::npos ? " \t," : " \t";
      if (event.empty() || event.find_first_of(never) != std::string_view::npos)
        return fault(rest.substr(equals), "expected names of events with | between them");
      term.events.emplace_back(event);
    }
    if (term.events.size() > kMostAlternatives) return fault(rest, "too many alternatives");
    metric_->terms.push_back(std::move(term));
  }

  void group_line(std::string_view word, std::string_view rest) {
    if (word == "text") {
      group_->text = rest;
    } else if (word == "metrics") {
      for (const std::string& name : split_list(rest, " \t")) {
        if (!is_name(name)) return fault(rest, "'" + name + "' is not the name of a metric");
        group_->metrics.push_back(name);
      }
    } else {
      fault(word, "expected text or metrics");
    }
  }

  void finish_metric() {
    if (metric_->text.empty()) return fault_at_begin("the metric has no text");
    if (metric_->formula_text.empty()) return fault_at_begin("the metric has no formula");
    if (const std::string wrong = compile_formula(&*metric_); !wrong.empty()) return fault_in_formula(wrong);
    if (const std::string wrong = wrong_dimension(); !wrong.empty()) return fault_in_formula(wrong);
    out_->metrics.push_back(std::move(*metric_));
  }

  void fault_in_formula(const std::string& what) {
    faults.push_back({file_, formula_.line, formula_.column, what});
    sound_ = false;
  }

  Unit unit_of_term(size_t term) const {
    if (term < metric_->terms.size()) return metric_->terms[term].unit;
    return term == metric_->terms.size() ? *parse_unit("s") : Unit{};
  }

  // Sums need one dimension; products and quotients make a new one. What is wrong, else empty.
  std::string wrong_dimension() const {
    std::vector<Unit> stack;
    for (const Formula::Step& step : metric_->formula.steps()) {
      if (step.op == 'n') {
        stack.push_back(unit_of_term(step.term));
        continue;
      }
      if (step.op == 'c') {
        stack.emplace_back();
        continue;
      }
      const Unit right = stack.back();
      stack.pop_back();
      Unit& left = stack.back();
      if (step.op == '<' || step.op == '>') {
        if (!left.measures_the_same_as(right))
          return dimension_text(left) + " and " + dimension_text(right) + " cannot be compared";
        continue;
      }
      if (step.op == '+' || step.op == '-') {
        if (!left.measures_the_same_as(right))
          return dimension_text(left) + (step.op == '+' ? " and " : " less ") + dimension_text(right) +
                 (step.op == '+' ? " cannot be added" : " cannot be computed");
        continue;
      }
      for (size_t i = 0; i < Unit::kBases; ++i) {
        const int power = left.powers[i] + (step.op == '*' ? right.powers[i] : -right.powers[i]);
        if (power < -100 || power > 100) return "a power of a unit grows too large";
        left.powers[i] = static_cast<int8_t>(power);
      }
    }
    if (!stack.back().measures_the_same_as(metric_->unit))
      return "the formula gives " + dimension_text(stack.back()) + ", the unit '" + metric_->unit_text +
             "' is " + dimension_text(metric_->unit);
    return {};
  }

  struct Place {
    unsigned line = 0;
    unsigned column = 0;
  };
  const std::string& file_;
  Definitions* out_;
  std::string_view line_;
  unsigned number_ = 0;
  unsigned begun_ = 0;
  bool sound_ = true;
  Place formula_;
  std::vector<std::string> processors_;
  std::optional<Metric> metric_;
  std::optional<Group> group_;
};

}  // namespace

std::string Fault::text() const {
  return file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + what;
}

std::string compile_formula(Metric* metric) {
  std::vector<std::string> names;
  for (const Term& term : metric->terms) names.push_back(term.name);
  names.emplace_back(kElapsed);
  names.emplace_back(kProcessors);
  Result<Formula> formula = Formula::make_named(metric->formula_text, names);
  if (!formula) return note_of(formula.error());
  metric->formula = std::move(*formula);
  return {};
}

std::vector<Fault> parse_definitions(std::string_view text, const std::string& file, Definitions* out) {
  Reader reader(file, out);
  return read_by_lines(text, file, reader);
}

}  // namespace substrata::metrics
