// The table is made of the system's <asm/unistd.h> when the project is configured.
#include "owl/system_call_names.hpp"

#include <algorithm>
#include <iterator>

namespace substrata::owl {
namespace {

struct SystemCall {
  std::string_view name;
  uint64_t number;
};
constexpr SystemCall kSystemCalls[] = {
#include "system_calls.inc"
};

}  // namespace

std::string_view system_call_name(uint64_t number) noexcept {
  for (const SystemCall& each : kSystemCalls)
    if (each.number == number) return each.name;
  return {};
}

bool system_call_number(std::string_view name, uint64_t* out) noexcept {
  const auto* const found = std::find_if(std::begin(kSystemCalls), std::end(kSystemCalls),
                                         [&](const SystemCall& each) { return each.name == name; });
  if (found == std::end(kSystemCalls)) return false;
  *out = found->number;
  return true;
}

std::vector<std::string_view> system_call_names() {
  std::vector<std::string_view> names;
  for (const SystemCall& each : kSystemCalls) names.push_back(each.name);
  return names;
}

}  // namespace substrata::owl
