// "NAME=NUMBER:NAME=NUMBER", as registers are given.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/parse.hpp"

namespace substrata::owl {

// Calls each(name, value), which gives 0 or refuses. Refuses what is not such a text before the first call.
template <typename Each>
int for_each_assignment(std::string_view text, const Each& each) {
  std::vector<std::pair<std::string, uint64_t>> all;
  for (const std::string& item : split(text, ':')) {
    const size_t equals = item.find('=');
    uint64_t value = 0;
    if (equals == std::string::npos ||
        !parse_size(trimmed(std::string_view(item).substr(equals + 1)), &value))
      return fail(Code::kInvalid, "registers are written as NAME=NUMBER:NAME=NUMBER, not '%.80s'",
                  item.c_str());
    all.emplace_back(trimmed(std::string_view(item).substr(0, equals)), value);
  }
  for (const auto& [name, value] : all)
    if (const int refused = each(name.c_str(), value)) return refused;
  return 0;
}

}  // namespace substrata::owl
