// Parses and applies the filters of the access tracer.
#include "sources/access_tracer/filter.hpp"

#include <algorithm>

#include "base/glob.hpp"
#include "base/parse.hpp"

namespace substrata::access_tracer {
namespace {

bool any_matches(const std::vector<std::string>& patterns, std::string_view name) {
  if (patterns.empty()) return true;
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return glob(pattern, name); });
}

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

}  // namespace

bool Filter::takes_function(std::string_view name) const { return any_matches(functions, name); }
bool Filter::takes_object(std::string_view name) const { return any_matches(objects, name); }
bool Filter::takes_address(uintptr_t address) const {
  return ranges.empty() || std::any_of(ranges.begin(), ranges.end(), [&](const auto& range) {
           return address >= range.first && address < range.second;
         });
}

std::string parse_filter(std::string_view text, Filter& out) {
  Filter filter;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos || equals + 1 == item.size())
      return "the filter " + quoted(item) + " is not function=PATTERN, object=PATTERN or range=LOW-HIGH";
    const std::string_view key = item.substr(0, equals);
    const std::string_view value = item.substr(equals + 1);
    if (key == "function") {
      filter.functions.emplace_back(value);
    } else if (key == "object") {
      filter.objects.emplace_back(value);
    } else if (key == "range") {
      const size_t dash = value.find('-');
      uint64_t low = 0;
      uint64_t high = 0;
      if (dash == std::string_view::npos || !parse_number(value.substr(0, dash), &low) ||
          !parse_number(value.substr(dash + 1), &high) || low >= high)
        return "the range " + quoted(value) + " is not LOW-HIGH with LOW below HIGH, as in 0x1000-0x2000";
      filter.ranges.emplace_back(low, high);
    } else {
      return "the filter " + quoted(key) + " is not known; there are function, object and range";
    }
  }
  out = std::move(filter);
  return {};
}

std::string parse_burst(std::string_view text, Burst& out) {
  const size_t slash = text.find('/');
  Burst burst;
  if (slash == std::string_view::npos || !parse_number(text.substr(0, slash), &burst.on) ||
      !parse_number(text.substr(slash + 1), &burst.off) || burst.on == 0 || burst.off == 0)
    return "the sampling " + quoted(text) +
           " is not ON/OFF, two positive numbers of accesses, as in 1000/9000";
  out = burst;
  return {};
}

}  // namespace substrata::access_tracer
