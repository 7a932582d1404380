// Counts by processor, core, package or rank.
#include <algorithm>
#include <fstream>
#include <map>

#include "base/parse.hpp"
#include "tools/substrata/stat/counts.hpp"

namespace substrata::tool {
namespace {

int topology(int processor, const char* what) {
  int number = 0;
  std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/topology/" + what);
  return file >> number ? number : 0;
}

// The number in a scope "cpu 3"; -1 for any other.
int processor_of(const std::string& scope) {
  constexpr std::string_view kPrefix = "cpu ";
  int number = -1;
  if (scope.starts_with(kPrefix)) leading_number(std::string_view(scope).substr(kPrefix.size()), &number);
  return number;
}

// As perf writes places: S0-C3. A place without a name is the whole.
std::string place_of(const Line& line, Apart by) {
  if (by == Apart::kRanks) {
    const std::int64_t rank = recording::rank_of_scope(line.scope);
    return rank < 0 ? std::string() : recording::rank_scope(rank);
  }
  const int processor = processor_of(line.scope);
  if (processor < 0) return {};
  if (by == Apart::kProcessors) return "CPU" + std::to_string(processor);
  const std::string package = "S" + std::to_string(std::max(0, topology(processor, "physical_package_id")));
  return by == Apart::kPackages ? package : package + "-C" + std::to_string(topology(processor, "core_id"));
}

void add(Line* sum, const Line& more) {
  sum->value += more.value;
  sum->whole += more.whole;
  sum->present = sum->present && more.present;
  sum->still = sum->still || more.still;
  sum->scaled = sum->scaled || more.scaled;
  sum->gaps = sum->gaps || more.gaps;
  sum->enabled_ns += more.enabled_ns;
  sum->running_ns += more.running_ns;
}

}  // namespace

std::vector<Counts> split(const Counts& counts, Apart by) {
  if (by == Apart::kTogether) return {counts};
  Counts bare = counts;
  bare.lines.clear();
  bare.metrics.clear();
  bare.regions.clear();
  std::vector<Counts> out = {bare};
  out.front().regions = counts.regions;
  std::map<std::string, std::size_t> index = {{"", 0}};
  std::map<std::string, std::vector<std::string>> scopes;
  for (const Line& line : counts.lines) {
    const std::string place = place_of(line, by);
    const auto [at, is_new] = index.try_emplace(place, out.size());
    if (is_new) {
      out.push_back(bare);
      out.back().place = place;
      out.back().notes.clear();
    }
    Counts& one = out[at->second];
    std::vector<std::string>& seen = scopes[place];
    if (std::find(seen.begin(), seen.end(), line.scope) == seen.end()) seen.push_back(line.scope);
    one.parts = seen.size();
    const auto same = std::find_if(one.lines.begin(), one.lines.end(),
                                   [&](const Line& other) { return other.name == line.name; });
    if (place.empty() || same == one.lines.end())
      one.lines.push_back(line);
    else
      add(&*same, line);
  }
  for (std::size_t i = 1; i < out.size(); ++i)
    for (Line& line : out[i].lines) line.scope = "process tree";  // the place says it
  return out;
}

}  // namespace substrata::tool
