// Modules composed of others by a text: "input -> filter(size > 64) -> histogram(counters = 32)".
#pragma once

#include <string>
#include <string_view>

namespace substrata::owl {

// 0, or a negative number with a message that begins with "ORIGIN:LINE:COLUMN: ".
int compose_and_add(std::string_view text, const std::string& origin);
int check_composition(std::string_view text, const std::string& origin, std::string* name);

}  // namespace substrata::owl
