// Names, patterns and numbers as users write them.
#ifndef SUBSTRATA_OWL_NAMES_HPP
#define SUBSTRATA_OWL_NAMES_HPP

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace substrata::owl {

// Decimal or 0x hexadecimal, with an optional k, m or g (2^10, 2^20, 2^30); the whole text.
bool parse_number(std::string_view text, uint64_t* out) noexcept;
// Cut at every `separator`; empty pieces are kept.
std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text) noexcept;
// Does the name match one of the comma-separated patterns ('*', '?')?
bool matches(const std::string& patterns, const char* name);

}  // namespace substrata::owl

#endif
