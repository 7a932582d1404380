// Which accesses go to the feed: by function, by object, by address range; read from SUBSTRATA_MEMORY_FILTER.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace substrata::access_tracer {

// Conditions of one kind are alternatives, kinds must all hold; no condition of a kind means any.
struct Filter {
  std::vector<std::string> functions;  // patterns with '*' and '?'
  std::vector<std::string> objects;
  std::vector<std::pair<uintptr_t, uintptr_t>> ranges;  // [first, second)

  bool takes_function(std::string_view name) const;
  bool takes_object(std::string_view name) const;
  bool takes_address(uintptr_t address) const;
};

// Reads "function=sort*,object=keys,range=0x1000-0x2000" into `out`. Returns "" or a message that says what
// is wrong; then `out` is unchanged.
std::string parse_filter(std::string_view text, Filter& out);

// Reads "ON/OFF", two positive numbers of accesses: publish ON, skip OFF, and so on. Same way of failing.
struct Burst {
  uint64_t on = 0;  // 0: everything
  uint64_t off = 0;
};
std::string parse_burst(std::string_view text, Burst& out);

}  // namespace substrata::access_tracer
