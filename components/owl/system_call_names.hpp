// System calls by name, as this processor's Linux numbers them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace substrata::owl {

// Empty: the headers that this was built with do not know it.
std::string_view system_call_name(uint64_t number) noexcept;
// False: there is none of that name.
bool system_call_number(std::string_view name, uint64_t* out) noexcept;
// For suggestions.
std::vector<std::string_view> system_call_names();

}  // namespace substrata::owl
