// Names of published events as amounts of regions.
#include "tools/roofline/points.hpp"

#include <strings.h>

#include <algorithm>
#include <initializer_list>

#include "base/parse.hpp"

namespace substrata::roofline {
namespace {

bool is_one_of(const std::string& word, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const char* name) { return strcasecmp(word.c_str(), name) == 0; });
}

void add(Amount* amount, double value, const std::string& event) {
  amount->value += value;
  amount->source = Source::kCounted;
  amount->from += (amount->from.empty() ? "" : ", ") + event;
}

}  // namespace

const char* source_name(Source source) {
  constexpr const char* kNames[] = {"not known", "measured", "counted by the program", "modelled",
                                    "counted by the access tracer"};
  return kNames[static_cast<std::size_t>(source)];
}

double roof_above(const Peaks& peaks, double intensity, bool one_core) {
  return std::min(peaks.most_operations(one_core), intensity * peaks.memory_bandwidth(one_core));
}

std::map<std::string, double> read_totals(std::string_view text) {
  std::map<std::string, double> out;
  for (const std::string& line : split_list(text, "\n")) {
    const std::size_t tab = line.rfind('\t');
    if (tab == std::string::npos) continue;
    double value = 0;
    if (parse_number(std::string_view(line).substr(tab + 1), &value)) out[line.substr(0, tab)] += value;
  }
  return out;
}

std::map<std::string, Published> published_amounts(const std::map<std::string, double>& totals,
                                                   const Chosen& chosen) {
  std::map<std::string, Published> out;
  for (const auto& total : totals) {
    const std::string& event = total.first;
    const double value = total.second;
    const std::size_t colons = event.find("::");
    if (colons == std::string::npos) continue;
    const std::string name = event.substr(colons + 2);
    const std::size_t last = name.rfind(':');
    const std::string region = last == std::string::npos ? "" : name.substr(0, last);
    const std::string what = last == std::string::npos ? name : name.substr(last + 1);
    const auto is = [&](const std::string& wanted, std::initializer_list<const char*> usual) {
      return wanted.empty() ? is_one_of(what, usual) : wanted == event || wanted == name || wanted == what;
    };
    if (is(chosen.flops, {"FLOP", "FLOPS", "FP_OPS"}))
      add(&out[region].flops, value, event);
    else if (is(chosen.bytes, {"MEM_BYTES", "MEMORY_BYTES"}))
      add(&out[region].bytes, value, event);
  }
  Published sum;
  for (const auto& [region, of] : out) {
    if (of.flops.source != Source::kNone) add(&sum.flops, of.flops.value, of.flops.from);
    if (of.bytes.source != Source::kNone) add(&sum.bytes, of.bytes.value, of.bytes.from);
  }
  if (out.empty()) return out;
  Published& whole = out[""];
  if (whole.flops.source == Source::kNone && whole.bytes.source == Source::kNone) whole = sum;
  return out;
}

}  // namespace substrata::roofline
