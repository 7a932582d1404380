// LIKWID's form of groups, and its names of events.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/json.hpp"
#include "base/parse.hpp"
#include "metrics/expression.hpp"
#include "metrics/foreign.hpp"

namespace substrata::metrics {
namespace {

constexpr size_t kMostLines = 2000;
constexpr size_t kMostCounters = 1000;
constexpr size_t kMostName = 60;

// Of LIKWID's folders, the counter units of libpfm4.
struct Folder {
  const char* name;
  const char* units[8];
};
constexpr Folder kFolders[] = {
    {"core2", {"core"}},
    {"nehalem", {"nhm"}},
    {"nehalemEX", {"nhm_ex"}},
    {"westmere", {"wsm"}},
    {"westmereEX", {"wsm_dp"}},
    {"sandybridge", {"snb"}},
    {"sandybridgeEP", {"snb_ep"}},
    {"ivybridge", {"ivb"}},
    {"ivybridgeEP", {"ivb_ep"}},
    {"haswell", {"hsw"}},
    {"haswellEP", {"hsw_ep"}},
    {"broadwell", {"bdw"}},
    {"broadwellD", {"bdw_ep"}},
    {"broadwellEP", {"bdw_ep"}},
    {"skylake", {"skl"}},
    {"skylakeX", {"skx"}},
    {"CLX", {"clx"}},
    {"ICL", {"icl"}},
    {"ICX", {"icx"}},
    {"TGL", {"icl"}},
    {"RKL", {"icl"}},
    {"SPR", {"spr"}},
    {"silvermont", {"slm"}},
    {"goldmont", {"glm"}},
    {"knl", {"knl"}},
    {"k8", {"amd64_k8_revf", "amd64_k8_revg"}},
    {"k10", {"amd64_fam10h*"}},
    {"interlagos", {"amd64_fam15h*"}},
    {"kabini", {"amd64_fam16h"}},
    {"zen", {"amd64_fam17h", "amd64_fam17h_zen1"}},
    {"zen2", {"amd64_fam17h_zen2"}},
    {"zen3", {"amd64_fam19h_zen3"}},
    {"zen4", {"amd64_fam19h_zen4"}},
    {"zen4c", {"amd64_fam19h_zen4"}},
    {"zen5",
     {"amd64_fam1ah_zen5", "AuthenticAMD-1A-0*", "AuthenticAMD-1A-1*", "AuthenticAMD-1A-2*",
      "AuthenticAMD-1A-3*", "AuthenticAMD-1A-4*", "AuthenticAMD-1A-6*", "AuthenticAMD-1A-7*"}},
    {"zen5c",
     {"amd64_fam1ah_zen5", "AuthenticAMD-1A-0*", "AuthenticAMD-1A-1*", "AuthenticAMD-1A-2*",
      "AuthenticAMD-1A-3*", "AuthenticAMD-1A-4*", "AuthenticAMD-1A-6*", "AuthenticAMD-1A-7*"}},
    {"arm8", {"arm_ac53", "arm_ac57", "arm_ac72"}},
    {"arm8_n1", {"arm_n1"}},
    {"arm8_tx2", {"arm_thunderx2"}},
    {"arm64fx", {"arm_a64fx"}},
    {"power8", {"power8"}},
    {"power9", {"power9"}}};

// Events of counters that have but one, what the architecture defines for all processors, and events of AMD's cores
// that libpfm4 names otherwise.
struct Known {
  const char* likwid;
  const char* unit;
  const char* ours[2];
};
constexpr const char* kPackageEnergy = "powercap:::ENERGY_UJ:ZONE?";
constexpr Known kKnown[] = {
    {"INSTR_RETIRED_ANY", "", {"PAPI_TOT_INS"}},
    {"RETIRED_INSTRUCTIONS", "", {"PAPI_TOT_INS"}},
    {"INST_RETIRED", "", {"PAPI_TOT_INS"}},
    {"CPU_CLK_UNHALTED_CORE", "", {"PAPI_TOT_CYC"}},
    {"CPU_CLOCKS_UNHALTED", "", {"PAPI_TOT_CYC"}},
    {"ACTUAL_CPU_CLOCK", "", {"PAPI_TOT_CYC"}},
    {"CPU_CYCLES", "", {"PAPI_TOT_CYC"}},
    {"CPU_CLK_UNHALTED_REF", "", {"PAPI_REF_CYC"}},
    {"MAX_CPU_CLOCK", "", {"PAPI_REF_CYC"}},
    {"RETIRED_UOPS", "", {"RETIRED_OPS"}},
    {"RETIRED_BRANCH_INSTR", "", {"RETIRED_BRANCH_INSTRUCTIONS"}},
    {"RETIRED_MISP_BRANCH_INSTR", "", {"RETIRED_BRANCH_INSTRUCTIONS_MISPREDICTED"}},
    {"ICACHE_L2_REFILLS", "", {"INSTRUCTION_CACHE_REFILLS_FROM_L2"}},
    {"ICACHE_SYSTEM_REFILLS", "", {"INSTRUCTION_CACHE_REFILLS_FROM_SYSTEM"}},
    {"LS_DISPATCH_LOADS", "", {"LS_DISPATCH:LD_DISPATCH"}},
    {"LS_DISPATCH_STORES", "", {"LS_DISPATCH:STORE_DISPATCH"}},
    {"DIV_BUSY_CYCLES", "", {"DIV_CYCLES_BUSY_COUNT"}},
    {"PWR_PKG_ENERGY", "uJ", {kPackageEnergy, "power/energy-pkg/"}},
    {"RAPL_PKG_ENERGY", "uJ", {kPackageEnergy, "power/energy-pkg/"}},
    {"PWR_DRAM_ENERGY", "uJ", {"power/energy-ram/"}},
    {"RAPL_CORE_ENERGY", "uJ", {"power/energy-cores/"}},
    {"PWR_PP0_ENERGY", "uJ", {"power/energy-cores/"}},
};

// EDGEDETECT, INVERT, THRESHOLD=0x4 ... as libpfm4's modifiers; nothing where it has none for it.
std::optional<std::string> modifier_of(std::string_view option) {
  const size_t equals = option.find('=');
  const std::string_view name = option.substr(0, equals);
  if (name == "EDGEDETECT") return ":e=1";
  if (name == "INVERT") return ":i=1";
  if (name == "ANYTHREAD") return ":t=1";
  if (name == "KERNEL" || name == "COUNT_KERNEL") return ":u:k";
  uint64_t number = 0;
  if (name == "THRESHOLD" && equals != std::string_view::npos &&
      parse_number(option.substr(equals + 1), &number) && number < 256)
    return ":c=" + std::to_string(number);
  return std::nullopt;
}

// "MBOX3C1": 3; nothing for others.
std::optional<unsigned> memory_channel(std::string_view counter) {
  constexpr std::string_view kBox = "MBOX";
  unsigned channel = 0;
  if (!counter.starts_with(kBox)) return std::nullopt;
  if (leading_number(counter.substr(kBox.size()), &channel) == 0 || channel > 63) return std::nullopt;
  return channel;
}

// "EVENT:MASK" for each underscore, the last first, then the name as it is.
std::vector<std::string> spellings(const std::string& before, std::string_view event,
                                   const std::string& after) {
  std::vector<std::string> out;
  for (size_t at = event.rfind('_'); at != std::string_view::npos && at != 0 && out.size() < 16;
       at = event.rfind('_', at - 1))
    out.push_back(before + std::string(event.substr(0, at)) + ":" + std::string(event.substr(at + 1)) +
                  after);
  out.push_back(before + std::string(event) + after);
  return out;
}

// "Memory bandwidth [MBytes/s]" as two.
struct Title {
  std::string name;
  std::string unit = "1";
};
Title title_of(std::string_view text) {
  Title out;
  const size_t open = text.rfind('[');
  if (open != std::string_view::npos && text.back() == ']') {
    if (const std::string_view unit = trimmed(text.substr(open + 1, text.size() - open - 2)); !unit.empty())
      out.unit = unit;
    text = trimmed(text.substr(0, open));
  }
  out.name = text;
  return out;
}

// Letters and digits, in upper case, with one '_' for all that lies between.
std::string identifier(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool lower = c >= 'a' && c <= 'z';
    if (lower || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
      out += static_cast<char>(lower ? c - 'a' + 'A' : c);
    else if (!out.empty() && out.back() != '_')
      out += '_';
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  return out;
}

class Reader {
 public:
  Reader(const std::string& name, const Foreign& about, Definitions* out)
      : name_(identifier(name)), about_(about), out_(out) {
    group_.name = "likwid:" + name;
    group_.processors = about.processors;
    group_.place = about.file + ":1";
  }

  void line(std::string_view text) {
    ++number_;
    line_ = text;
    const std::string_view content = trimmed(text);
    if (content.empty() || content.front() == '#' || part_ == Part::kLong) return;
    if (number_ > kMostLines || text.size() > 4096) return fault(content, "the file is too long");
    const size_t end = content.find_first_of(" \t");
    const std::string_view word = content.substr(0, end);
    if (word == "SHORT") {
      group_.text = trimmed(content.substr(word.size()));
    } else if (content == "EVENTSET") {
      part_ = Part::kEvents;
    } else if (content == "METRICS") {
      part_ = Part::kMetrics;
    } else if (word == "LONG") {
      part_ = Part::kLong;
    } else if (part_ == Part::kEvents) {
      event_line(word, trimmed(content.substr(word.size())));
    } else if (part_ == Part::kMetrics) {
      metric_line(content);
    } else {
      fault(content, "expected SHORT, EVENTSET, METRICS or LONG");
    }
  }

  void finish() {
    if (part_ != Part::kNone && group_.text.empty()) group_.text = group_.name;
    if (group_.metrics.empty())
      faults.push_back({about_.file, std::max(1u, number_), 1, "the group has no metric that is understood"});
    else
      out_->groups.push_back(std::move(group_));
  }

  std::vector<Fault> faults;

 private:
  enum class Part { kNone, kEvents, kMetrics, kLong };
  struct Counter {
    Term term;
    std::string why;  // it has no counterpart
  };

  void fault(std::string_view where, const std::string& what, size_t beyond = 0) {
    const auto column = static_cast<unsigned>(where.data() - line_.data() + 1);
    faults.push_back({about_.file, number_, column + static_cast<unsigned>(beyond), what});
  }

  void event_line(std::string_view counter, std::string_view event) {
    if (event.empty()) return fault(counter, "expected a counter and an event");
    if (counters_.size() >= kMostCounters) return fault(counter, "too many events");
    Counter one;
    std::string unit;
    one.term.events =
        events_of_likwid(counter.substr(0, counter.find(':')), event, about_.processors, &unit, &one.why);
    one.term.name = identifier(counter);
    if (one.term.name.empty() || one.term.name[0] < 'A')
      return fault(counter, "expected the name of a counter");
    if (const Result<Unit> known = parse_unit(unit)) one.term.unit = *known;
    if (!counters_.emplace(one.term.name, one).second)
      return fault(counter, "the counter has an event already");
  }

  void metric_line(std::string_view content) {
    const size_t blank = content.find_last_of(" \t");
    if (blank == std::string_view::npos) return fault(content, "expected a name and a formula");
    const std::string_view formula = content.substr(blank + 1);
    const Title title = title_of(trimmed(content.substr(0, blank)));
    Metric metric;
    metric.name = ("LIKWID_" + name_ + "_" + identifier(title.name)).substr(0, kMostName);
    metric.text = title.name;
    metric.unit_text = title.unit;
    metric.processors = about_.processors;
    metric.source = "a group of LIKWID: " + about_.file;
    metric.place = about_.file + ":" + std::to_string(number_);
    if (std::find(group_.metrics.begin(), group_.metrics.end(), metric.name) != group_.metrics.end())
      return fault(content, "there is a metric of that name already");
    const Translated ours =
        translate_expression(formula, [&](std::string_view name) { return operand(name, &metric.terms); });
    if (ours.ours.empty()) return fault(formula, "'" + title.name + "' is left out: " + ours.why, ours.at);
    metric.formula_text = ours.ours;
    if (const std::string wrong = compile_formula(&metric); !wrong.empty())
      return fault(formula, "'" + title.name + "' is left out: " + wrong);
    group_.metrics.push_back(metric.name);
    out_->metrics.push_back(std::move(metric));
  }

  // A counter, with its event a term of the metric; or one of the numbers that LIKWID provides.
  Operand operand(std::string_view name, std::vector<Term>* terms) const {
    if (name == "time") return {kElapsed, {}, ""};
    if (name == "inverseClock") {
      if (about_.clock_hz > 0) return {"", 1 / about_.clock_hz, ""};
      return {"", {}, "the rate of the reference clock is not known here"};
    }
    const auto found = counters_.find(identifier(name));
    if (found == counters_.end())
      return {"", {}, "EVENTSET has no counter " + std::string(name.substr(0, 60))};
    if (!found->second.why.empty()) return {"", {}, found->second.why};
    const Term& term = found->second.term;
    if (std::none_of(terms->begin(), terms->end(), [&](const Term& one) { return one.name == term.name; }))
      terms->push_back(term);
    return {term.name, {}, ""};
  }

  const std::string name_;
  const Foreign& about_;
  Definitions* out_;
  Group group_;
  std::map<std::string, Counter, std::less<>> counters_;
  std::string_view line_;
  unsigned number_ = 0;
  Part part_ = Part::kNone;
};

}  // namespace

std::vector<std::string> processors_of_likwid(std::string_view folder) {
  std::vector<std::string> out;
  for (const Folder& one : kFolders)
    if (folder == one.name)
      for (const char* unit : one.units)
        if (unit != nullptr) out.emplace_back(unit);
  return out;
}

std::vector<std::string> events_of_likwid(std::string_view counter, std::string_view event,
                                          const std::vector<std::string>& processors, std::string* unit,
                                          std::string* why) {
  unit->clear();
  why->clear();
  const std::vector<std::string> parts = split(event, ':');
  const std::string& name = parts.front();
  const bool sound = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (!sound || name.size() > 120) {
    *why = "'" + name.substr(0, 60) + "' is not the name of an event";
    return {};
  }
  std::string modifiers;
  for (size_t i = 1; i < parts.size(); ++i) {
    const std::optional<std::string> one = modifier_of(parts[i]);
    if (!one) {
      *why = "the option " + parts[i].substr(0, 60) + " of " + name + " has no counterpart";
      return {};
    }
    modifiers += *one;
  }
  for (const Known& known : kKnown)
    if (name == known.likwid && modifiers.empty()) {
      *unit = known.unit;
      std::vector<std::string> out;
      for (const char* one : known.ours)
        if (one != nullptr) out.emplace_back(one);
      return out;
    }
  if (const std::optional<unsigned> channel = memory_channel(counter)) {
    std::vector<std::string> out;
    for (const std::string& processor : processors)
      for (std::string& one :
           spellings(processor + "_unc_imc" + std::to_string(*channel) + "::UNC_M_", name, modifiers))
        out.push_back(std::move(one));
    if (out.empty()) *why = "the memory controllers of this processor have no name here";
    return out;
  }
  // Counters of the core have these names on every processor; all others belong to parts beside it.
  if (counter.starts_with("PMC") || counter.starts_with("FIXC")) {
    if (name == "MERGE") {
      *why = "MERGE counts nothing: it lends its counter to another";
      return {};
    }
    std::vector<std::string> out = spellings("", name, modifiers);
    for (const std::string_view what : {"LOADS", "STORES"})
      if (const std::string end = "_" + std::string(what) + "_ALL"; name.ends_with(end))
        out.push_back(name.substr(0, name.size() - end.size()) + ":ALL_" + std::string(what) + modifiers);
    if (name.ends_with("_ALL")) out.push_back(name.substr(0, name.size() - 4) + ":ANY" + modifiers);
    return out;
  }
  *why = "counters " + std::string(counter.substr(0, 60)) + " are not known here";
  return {};
}

std::vector<Fault> parse_likwid_group(std::string_view text, const std::string& name, const Foreign& about,
                                      Definitions* out) {
  Reader reader(name, about, out);
  return read_by_lines(text, about.file, reader);
}

}  // namespace substrata::metrics
