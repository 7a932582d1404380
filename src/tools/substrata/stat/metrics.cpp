// Binds metrics to events that open here, and to lines of counts.
#include "tools/substrata/stat/metrics.hpp"

#include <papi.h>

#include <algorithm>
#include <stdexcept>

#include "base/environment.hpp"
#include "base/glob.hpp"
#include "metrics/evaluation.hpp"
#include "recording/sampler/measuring.hpp"

namespace substrata::tool {
using namespace sampler;
namespace {

// The counter units of this machine, as their component reports them.
std::vector<std::string> counter_units() {
  start_library();
  std::vector<std::string> out;
  const int processor = PAPI_get_component_index("perf_event");
  const PAPI_component_info_t* const info = processor >= 0 ? PAPI_get_component_info(processor) : nullptr;
  if (info == nullptr) return out;
  for (const char* name : info->pmu_names)
    if (name != nullptr) out.emplace_back(name);
  const PAPI_hw_info_t* const machine = PAPI_get_hardware_info();
  if (machine != nullptr && std::find(out.begin(), out.end(), "cpu") != out.end())
    out.push_back(metrics::x86_unit(machine->vendor_string, machine->cpuid_family, machine->cpuid_model));
  return out;
}

// Ticks of the clock that LIKWID counts cycles by.
double clock_rate() {
  const long long ticks = PAPI_get_real_cyc(), ns = PAPI_get_real_nsec();
  long long ticks_then = ticks, ns_then = ns;
  while (ns_then - ns < 2'000'000) {
    ticks_then = PAPI_get_real_cyc();
    ns_then = PAPI_get_real_nsec();
  }
  return 1e9 * static_cast<double>(ticks_then - ticks) / static_cast<double>(ns_then - ns);
}

bool is_file_of_metrics(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".metrics") || name.ends_with(".txt") ||
         name.ends_with(".json");
}

// Events that open here.
metrics::Countable on_this_machine(bool mpi) {
  metrics::Countable out;
  out.check = [mpi](const std::string& event, std::string* unit) -> std::string {
    if (event.starts_with("mpi:::"))
      return mpi ? std::string() : event + ": messages are counted of programs that mpirun starts";
    int code = 0;
    if (const int status = PAPI_event_name_to_code(event.c_str(), &code); status != PAPI_OK)
      return refusal(event, status);
    const substrata_event about = describe(code);
    *unit = about.unit;
    return about.available != 0 ? std::string() : std::string(about.why);
  };
  out.expand = [](const std::string& pattern) {
    std::vector<std::string> names;
    const std::size_t end = pattern.find(":::");
    const int only = end == std::string::npos ? -1 : PAPI_get_component_index(pattern.substr(0, end).c_str());
    if (end != std::string::npos && only < 0) return names;
    for (int component = 0; component < PAPI_num_components(); ++component) {
      if (only >= 0 && component != only) continue;
      for (const int code : native_events(component))
        if (const std::string name = event_name(code); glob(pattern, name)) names.push_back(name);
    }
    return names;
  };
  return out;
}

metrics::Countable in_counts(const Counts& counts) {
  metrics::Countable out;
  out.check = [&counts](const std::string& event, std::string* unit) -> std::string {
    const Line* const line = counts.find(event);
    if (line == nullptr) return event + " was not counted";
    if (!line->present && !line->still)
      return line->refused.empty() ? event + " has no value" : line->refused;
    *unit = line->unit;
    return {};
  };
  out.expand = [&counts](const std::string& pattern) {
    std::vector<std::string> names;
    for (const Line& line : counts.lines)
      if (glob(pattern, line.name)) names.push_back(line.name);
    return names;
  };
  return out;
}

metrics::Number number_of(const Line& line, double factor, double seconds) {
  // The interval's share of energy that its counter shows later.
  if (line.over_s > 0) factor *= seconds / line.over_s;
  metrics::Number out;
  out.present = line.present;
  out.value = line.value * factor;
  out.scaled = line.scaled;
  out.modelled = line.modelled;
  out.uncertainty = line.uncertainty * factor;
  if (line.scaled && line.enabled_ns > 0)
    out.uncertainty = metrics::scaling_uncertainty(out.value, line.enabled_ns, line.running_ns);
  return out;
}

MetricLine evaluated(const metrics::Bound& bound, const Counts& counts) {
  const metrics::Metric& metric = *bound.metric;
  std::vector<metrics::Number> terms;
  const std::string* still = nullptr;
  for (std::size_t i = 0; i < bound.terms.size(); ++i) {
    std::vector<metrics::Number> numbers;
    for (std::size_t n = 0; n < bound.terms[i].events.size(); ++n) {
      const std::string& event = bound.terms[i].events[n];
      const Line& line = *counts.find(event);
      numbers.push_back(number_of(line, bound.terms[i].factors[n], counts.seconds));
      if (line.still) still = &event;
    }
    terms.push_back(metrics::fold(metric.terms[i].fold, numbers));
  }
  const double processors =
      counts.parts != 0 ? static_cast<double>(counts.parts) : metrics::processors_online();
  const metrics::Number number = metrics::evaluate(metric, terms, counts.seconds, processors);
  MetricLine out;
  out.name = metric.name;
  out.text = metric.text;
  out.unit = metric.unit_text == "1" ? "" : metric.unit_text;
  out.present = number.present;
  out.value = number.value;
  out.uncertainty = number.uncertainty;
  out.scaled = number.scaled;
  out.modelled = number.modelled;
  if (!out.present) out.why = still != nullptr ? *still + ": " + kStill : "it divides by a count of nothing";
  return out;
}

}  // namespace

Metrics::Metrics() : library_(counter_units(), environment, clock_rate) {}

void Metrics::choose(const std::string& name, bool mpi) {
  std::vector<std::string> wanted;
  if (is_file_of_metrics(name))
    wanted = library_.add_file(name);
  else if (const metrics::Group* group = library_.find_group(name))
    wanted = group->metrics;
  else if (!library_.find(name).empty())
    wanted = {name};
  else {
    std::string known;
    for (const metrics::Group* one : library_.groups()) known += (known.empty() ? "" : ", ") + one->name;
    throw std::runtime_error("there is no group or metric '" + name + "'; groups are " + known +
                             "; `substrata stat -g list` lists their metrics");
  }
  const metrics::Countable countable = on_this_machine(mpi);
  for (const std::string& metric : wanted) {
    const auto same = [&](const Chosen& other) { return other.name == metric; };
    if (std::any_of(chosen_.begin(), chosen_.end(), same)) continue;
    Chosen one{metric, {}};
    if (const auto bound = library_.bind(metric, countable, &one.why))
      for (const metrics::Bound::Term& term : bound->terms)
        for (const std::string& event : term.events)
          if (!event.starts_with("mpi:::") &&
              std::find(events_.begin(), events_.end(), event) == events_.end())
            events_.push_back(event);
    chosen_.push_back(std::move(one));
  }
}

void Metrics::add_to(Counts* counts) const {
  const metrics::Countable countable = in_counts(*counts);
  std::string why;
  for (const Chosen& one : chosen_) {
    if (const auto bound = library_.bind(one.name, countable, &why)) {
      counts->metrics.push_back(evaluated(*bound, *counts));
      continue;
    }
    MetricLine line;
    line.name = one.name;
    if (const auto known = library_.find(one.name); !known.empty()) line.text = known.front()->text;
    line.why = one.why.empty() ? why : one.why;
    counts->metrics.push_back(std::move(line));
  }
  for (const metrics::Metric* metric : library_.metrics()) {
    if (metric->beside.empty()) continue;
    const auto line = std::find_if(counts->lines.begin(), counts->lines.end(),
                                   [&](const Line& other) { return other.name == metric->beside; });
    if (line == counts->lines.end() || !line->present) continue;
    const auto bound = library_.bind(metric->name, countable, &why);
    if (!bound) continue;
    const MetricLine number = evaluated(*bound, *counts);
    line->has_beside = number.present;
    line->beside = number.value;
    line->beside_unit = number.unit;
  }
}

std::string Metrics::listing() const {
  const metrics::Countable countable = on_this_machine(true);
  std::string out;
  std::vector<std::string> reasons;
  for (const metrics::Group* group : library_.groups()) {
    out += (out.empty() ? "" : "\n") + group->name + ": " + group->text + "\n";
    for (const std::string& name : group->metrics) {
      std::string why;
      const bool here = library_.bind(name, countable, &why).has_value();
      const auto known = library_.find(name);
      out += std::string(here ? "  " : "- ") + name +
             std::string(name.size() < 24 ? 24 - name.size() : 1, ' ') +
             (known.empty() ? "not defined for this processor"
                            : known.front()->text + " (" + known.front()->unit_text + ")") +
             "\n";
      if (!here && std::find(reasons.begin(), reasons.end(), why) == reasons.end()) reasons.push_back(why);
    }
  }
  if (!reasons.empty()) out += "\nA - marks what cannot be computed here:\n";
  for (const std::string& reason : reasons) out += "  " + reason + "\n";
  const std::vector<metrics::Fault>& of_likwid = library_.likwid_faults();
  if (!of_likwid.empty()) out += "\nNot understood of the groups of the installed LIKWID:\n";
  for (const metrics::Fault& fault : of_likwid) out += "  " + fault.text() + "\n";
  return out;
}

std::vector<std::string> Metrics::names() const {
  std::vector<std::string> out;
  for (const metrics::Group* group : library_.groups()) out.push_back(group->name);
  for (const metrics::Metric* metric : library_.metrics()) out.push_back(metric->name);
  return out;
}

std::vector<std::string> Metrics::faults() const {
  std::vector<std::string> out;
  for (const metrics::Fault& fault : library_.faults()) out.push_back(fault.text());
  return out;
}

}  // namespace substrata::tool
