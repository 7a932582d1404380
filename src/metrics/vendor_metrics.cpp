// Processor vendors' lists of events and metrics, in the JSON that perf is built from.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <set>

#include "base/parse.hpp"
#include "metrics/expression.hpp"
#include "metrics/foreign.hpp"

namespace substrata::metrics {
namespace {

constexpr int kMostNesting = 16;
constexpr size_t kMostEntries = 20000;
constexpr int kMostReferences = 12;  // of metrics to metrics, one within the other
constexpr size_t kMostFormula = 8192;

struct Value {
  std::string text;
  size_t at = 0;  // in the file
};
using Entry = std::map<std::string, Value, std::less<>>;

// The objects of a list, wherever it lies, with the texts and numbers that they hold themselves.
class Json {
 public:
  explicit Json(std::string_view text) : text_(text) {}

  std::vector<Entry> entries;
  std::string why;
  size_t at = 0;

  bool read() {
    value(0, nullptr, nullptr);
    skip_blanks();
    if (why.empty() && at != text_.size()) fail("something is left over");
    return why.empty();
  }

 private:
  void fail(const char* what) {
    if (why.empty()) why = what;
  }
  void skip_blanks() {
    while (at < text_.size() && (text_[at] == ' ' || (text_[at] >= '\t' && text_[at] <= '\r'))) ++at;
  }
  bool take(char sign) {
    skip_blanks();
    if (at >= text_.size() || text_[at] != sign) return false;
    ++at;
    return true;
  }

  // Of an object: the value of `name`, kept in `into`.
  void value(int depth, const std::string* name, Entry* into) {
    if (depth > kMostNesting) return fail("lists lie in lists too deeply");
    skip_blanks();
    const size_t begin = at;
    if (take('[')) {
      members(']', [&] { value(depth + 1, nullptr, nullptr); });
    } else if (take('{')) {
      Entry entry;
      members('}', [&] {
        std::string key;
        skip_blanks();
        if (!string(&key)) return;
        if (!take(':')) return fail("a ':' is missing");
        value(depth + 1, &key, &entry);
      });
      if (why.empty() && !entry.empty()) entries.push_back(std::move(entry));
      if (entries.size() > kMostEntries) fail("more than 20000 entries");
    } else {
      std::string text;
      if (at < text_.size() && text_[at] == '"') {
        if (!string(&text)) return;
      } else {
        while (at < text_.size() && std::string_view(",]} \t\r\n").find(text_[at]) == std::string_view::npos)
          text += text_[at++];
        double number = 0;
        if (text != "true" && text != "false" && text != "null" && !parse_number(text, &number)) {
          at = begin;
          return fail("a value is missing");
        }
      }
      if (into != nullptr) (*into)[*name] = {std::move(text), begin};
    }
  }
  template <typename Member>
  void members(char end, const Member& member) {
    if (take(end)) return;
    do {
      member();
    } while (why.empty() && take(','));
    if (why.empty() && !take(end)) fail("a ',' or the end of a list is missing");
  }
  bool string(std::string* out) {
    if (at >= text_.size() || text_[at] != '"') {
      fail("a text in quotation marks is missing");
      return false;
    }
    for (++at; at < text_.size() && text_[at] != '"'; ++at) {
      char c = text_[at];
      if (c == '\\') {
        if (++at >= text_.size()) break;
        c = text_[at];
        if (c == 'u') {  // nothing that is looked at has such letters
          at = std::min(text_.size() - 1, at + 4);
          c = '?';
        }
        if (c == 'n' || c == 't' || c == 'r') c = ' ';
      }
      *out += c;
    }
    if (at >= text_.size()) {
      fail("a text does not end");
      return false;
    }
    ++at;
    return true;
  }

  std::string_view text_;
};

Fault fault_at(std::string_view text, size_t at, const std::string& file, const std::string& what) {
  const std::string_view before = text.substr(0, at);
  const size_t line_begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return {file, static_cast<unsigned>(std::count(before.begin(), before.end(), '\n')) + 1,
          static_cast<unsigned>(before.size() - line_begin) + 1, what};
}

std::string_view text_of(const Entry& entry, std::string_view name) {
  const auto found = entry.find(name);
  return found == entry.end() ? std::string_view() : std::string_view(found->second.text);
}
uint64_t number_of(const Entry& entry, std::string_view name) {
  uint64_t number = 0;
  // "0xB7, 0xBB": the first of several codes.
  const std::string_view text = text_of(entry, name);
  (void)parse_number(trimmed(text.substr(0, text.find(','))), &number);
  return number;
}

// What architecture and kernel define for every processor.
struct Known {
  const char* vendor;
  const char* ours;
};
constexpr Known kKnown[] = {{"INST_RETIRED.ANY", "PAPI_TOT_INS"},
                            {"INST_RETIRED", "PAPI_TOT_INS"},
                            {"ex_ret_instr", "PAPI_TOT_INS"},
                            {"CPU_CLK_UNHALTED.THREAD", "PAPI_TOT_CYC"},
                            {"CPU_CLK_UNHALTED.CORE", "PAPI_TOT_CYC"},
                            {"CPU_CYCLES", "PAPI_TOT_CYC"},
                            {"ls_not_halted_cyc", "PAPI_TOT_CYC"},
                            {"cycles", "PAPI_TOT_CYC"},
                            {"cpu-cycles", "PAPI_TOT_CYC"},
                            {"instructions", "PAPI_TOT_INS"},
                            {"CPU_CLK_UNHALTED.REF_TSC", "PAPI_REF_CYC"},
                            {"TOPDOWN.SLOTS", "TOPDOWN:SLOTS"}};

// "EVENT.MASK:c1:u", or "cpu@EVENT.MASK,cmask=1@", as names of libpfm4; and of its code, where the list of events has
// that. Empty, and *why, where it has no counterpart.
std::vector<std::string> events_of_vendor(std::string_view name, const VendorCodes& codes, std::string* why) {
  for (const Known& known : kKnown)
    if (name == known.vendor) return {known.ours};
  std::string modifiers;
  if (const size_t at = name.find('@'); at != std::string_view::npos) {
    if (name.substr(0, at) != "cpu" || name.back() != '@') {
      *why = "counters of " + std::string(name.substr(0, std::min<size_t>(at, 60))) + " are not known here";
      return {};
    }
    const std::vector<std::string> parts = split(name.substr(at + 1, name.size() - at - 2), ',');
    constexpr std::pair<std::string_view, const char*> kModifiers[] = {
        {"cmask", ":c="}, {"edge", ":e="}, {"inv", ":i="}};
    for (size_t i = 1; i < parts.size(); ++i) {
      const std::string option = parts[i].find('=') == std::string::npos ? parts[i] + "=1" : parts[i];
      const size_t equals = option.find('=');
      uint64_t number = 0;
      const auto* const known = std::find_if(
          std::begin(kModifiers), std::end(kModifiers),
          [&](const auto& one) { return one.first == std::string_view(option).substr(0, equals); });
      if (known == std::end(kModifiers) ||
          !parse_number(std::string_view(option).substr(equals + 1), &number) || number > 255) {
        *why = "the option " + parts[i].substr(0, 60) + " has no counterpart";
        return {};
      }
      modifiers += known->second + std::to_string(number);
    }
    std::vector<std::string> out = events_of_vendor(parts.front(), codes, why);
    for (std::string& one : out) one += modifiers;
    // A code has its own modifiers, a preset none.
    if (!modifiers.empty())
      std::erase_if(out, [](const std::string& one) {
        return one.starts_with("perf_raw::") || one.starts_with("PAPI_");
      });
    if (out.empty() && why->empty())
      *why = "'" + parts.front().substr(0, 60) + "' has no counterpart with options";
    return out;
  }
  std::string ours(name.substr(0, name.find(':')));
  const std::string_view privileges = name.substr(ours.size());
  if (ours.starts_with("UNC_") || ours.empty() || ours.front() == '#') {
    *why = "'" + ours.substr(0, 60) + "' is not an event of the core";
    return {};
  }
  if (!privileges.empty() && privileges != ":u" && privileges != ":k") {
    *why = "the option " + std::string(privileges.substr(0, 60)) + " has no counterpart";
    return {};
  }
  const auto code = codes.find(ours);
  std::replace(ours.begin(), ours.end(), '.', ':');
  std::vector<std::string> out = {ours + std::string(privileges)};
  if (code != codes.end()) out.push_back(code->second + std::string(privileges));
  return out;
}

class Reader {
 public:
  Reader(std::string_view text, const std::vector<Entry>& entries, const Foreign& about,
         const VendorCodes& codes, Definitions* out)
      : text_(text), about_(about), codes_(codes), out_(out) {
    for (const Entry& entry : entries)
      if (!text_of(entry, "MetricName").empty() && !text_of(entry, "MetricExpr").empty())
        known_.emplace(text_of(entry, "MetricName"), &entry);
  }

  void add(const Entry& entry) {
    const std::string_view name = text_of(entry, "MetricName");
    const auto value = entry.find("MetricExpr");
    const auto known = known_.find(name);
    if (known == known_.end() || known->second != &entry) return;
    const auto fault = [&](const Value& where, const std::string& what) {
      faults.push_back(fault_at(text_, where.at, about_.file,
                                "'" + std::string(name.substr(0, 60)) + "' is left out: " + what));
    };
    const bool sound =
        name.size() <= 60 && std::all_of(name.begin(), name.end(), [](char c) {
          return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        });
    if (!sound) return fault(entry.find("MetricName")->second, "a name has letters, digits and _");
    Metric metric;
    metric.name = name;
    metric.text = text_of(entry, "BriefDescription");
    metric.text = metric.text.substr(0, metric.text.find(". "));
    if (metric.text.empty()) metric.text = metric.name;
    metric.processors = about_.processors;
    metric.source = "the vendor's metrics: " + about_.file;
    const Fault place = fault_at(text_, value->second.at, "", "");
    metric.place = about_.file + ":" + std::to_string(place.line);
    taken_.clear();
    const Translated ours = translate(value->second.text, &metric.terms, 0);
    if (ours.ours.empty())
      return fault(value->second, ours.why + " at character " + std::to_string(ours.at + 1));
    metric.formula_text = ours.ours;
    if (const auto scale = entry.find("ScaleUnit"); scale != entry.end()) {
      const std::string& text = scale->second.text;
      double factor = 1;
      const size_t length = leading_number(text, &factor);
      if (length == 0) return fault(scale->second, "ScaleUnit begins with no number");
      metric.formula_text = "(" + metric.formula_text + ") * " + text.substr(0, length);
      metric.unit_text = trimmed(std::string_view(text).substr(length));
      if (metric.unit_text.empty()) metric.unit_text = "1";
    }
    if (const std::string wrong = compile(&metric); !wrong.empty()) return fault(value->second, wrong);
    for (const std::string& group : split_list(text_of(entry, "MetricGroup"), ";"))
      groups_[group].push_back(metric.name);
    out_->metrics.push_back(std::move(metric));
  }

  void finish() {
    for (auto& [name, metrics] : groups_) {
      Group group;
      group.name = name;
      group.text = "Metrics of the processor's vendor";
      group.metrics = std::move(metrics);
      group.processors = about_.processors;
      group.place = about_.file + ":1";
      out_->groups.push_back(std::move(group));
    }
  }

  std::vector<Fault> faults;

 private:
  // Without the terms of branches that are not taken.
  static std::string compile(Metric* metric) {
    if (std::string wrong = compile_formula(metric); !wrong.empty()) return wrong;
    std::set<std::string, std::less<>> used;
    for (const Formula::Step& step : metric->formula.steps())
      if (step.op == 'n' && step.term < metric->terms.size()) used.insert(metric->terms[step.term].name);
    std::erase_if(metric->terms, [&](const Term& term) { return used.count(term.name) == 0; });
    return compile_formula(metric);
  }

  Translated translate(std::string_view expression, std::vector<Term>* terms, int references) {
    if (budget_ == 0) return {"", "metrics refer to each other too often", 0};
    --budget_;
    Translated out = translate_expression(
        expression, [&](std::string_view name) { return operand(name, terms, references); });
    if (out.ours.size() > kMostFormula) return {"", "too long a formula", 0};
    return out;
  }

  Operand operand(std::string_view name, std::vector<Term>* terms, int references) {
    if (name == "duration_time") return {kElapsed, {}, ""};
    if (name == "#num_cpus" || name == "#num_cpus_online") return {kProcessors, {}, ""};
    if (const auto known = known_.find(name); known != known_.end()) {
      if (references >= kMostReferences) return {"", {}, "metrics refer to each other too deeply"};
      const Translated part = translate(text_of(*known->second, "MetricExpr"), terms, references + 1);
      if (part.ours.empty()) return {"", {}, std::string(name.substr(0, 60)) + ": " + part.why};
      return {"(" + part.ours + ")", {}, ""};
    }
    std::string why;
    Term term;
    term.events = events_of_vendor(name, codes_, &why);
    if (term.events.empty()) return {"", {}, why};
    if (const auto taken = taken_.find(name); taken != taken_.end()) return {taken->second, {}, ""};
    if (terms->size() + 2 >= Formula::kMaxNames) return {"", {}, "too many events"};
    term.name = "e" + std::to_string(terms->size());
    taken_.emplace(name, term.name);
    terms->push_back(term);
    return {term.name, {}, ""};
  }

  std::string_view text_;
  const Foreign& about_;
  const VendorCodes& codes_;
  Definitions* out_;
  std::map<std::string, const Entry*, std::less<>> known_;
  std::map<std::string, std::string, std::less<>> taken_;  // events of the present metric: their terms
  std::map<std::string, std::vector<std::string>> groups_;
  size_t budget_ = 100'000;  // of formulas read, references included
};

// Nothing where the text is no list; then *fault.
std::optional<std::vector<Entry>> entries_of(std::string_view text, const std::string& file, Fault* fault) {
  if (text.size() > kMostVendorBytes) {
    *fault = {file, 1, 1, "the file is larger than 8 MiB"};
    return std::nullopt;
  }
  Json json(text);
  if (json.read()) return std::move(json.entries);
  *fault = fault_at(text, json.at, file, json.why);
  return std::nullopt;
}

}  // namespace

std::vector<Fault> parse_vendor_codes(std::string_view text, const std::string& file, VendorCodes* out) {
  Fault fault;
  const std::optional<std::vector<Entry>> entries = entries_of(text, file, &fault);
  if (!entries) return {fault};
  for (const Entry& entry : *entries) {
    const std::string_view name = text_of(entry, "EventName");
    // Parts beside the core have a code of their own kind.
    if (name.empty() || text_of(entry, "EventCode").empty() || !text_of(entry, "Unit").empty()) continue;
    if (const std::string_view index = text_of(entry, "MSRIndex");
        !index.empty() && index != "0" && index != "0x00")
      continue;  // needs a second register
    const uint64_t event = number_of(entry, "EventCode");
    // The layout of the code of Intel and AMD: bits 8 to 11 of AMD's event are bits 32 to 35.
    const uint64_t code =
        (event & 0xFF) | (event >> 8 & 0xF) << 32 | (number_of(entry, "UMask") & 0xFF) << 8 |
        (number_of(entry, "EdgeDetect") & 1) << 18 | (number_of(entry, "AnyThread") & 1) << 21 |
        (number_of(entry, "Invert") & 1) << 23 | (number_of(entry, "CounterMask") & 0xFF) << 24;
    char text_of_code[40];
    std::snprintf(text_of_code, sizeof text_of_code, "perf_raw::r%llx",
                  static_cast<unsigned long long>(code));
    out->emplace(name, text_of_code);
  }
  return {};
}

std::vector<Fault> parse_vendor_metrics(std::string_view text, const Foreign& about, const VendorCodes& codes,
                                        Definitions* out) {
  Fault fault;
  const std::optional<std::vector<Entry>> entries = entries_of(text, about.file, &fault);
  if (!entries) return {fault};
  Reader reader(text, *entries, about, codes, out);
  for (const Entry& entry : *entries) reader.add(entry);
  reader.finish();
  return std::move(reader.faults);
}

}  // namespace substrata::metrics
