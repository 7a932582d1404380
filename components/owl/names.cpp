// Parsing of small texts.
#include "names.hpp"

#include <fnmatch.h>

#include <limits>

namespace substrata::owl {

bool parse_number(std::string_view text, uint64_t* out) noexcept {
  unsigned shift = 0;
  if (!text.empty()) {
    const char last = text.back();
    shift = last == 'k' || last == 'K'   ? 10
            : last == 'm' || last == 'M' ? 20
            : last == 'g' || last == 'G' ? 30
                                         : 0;
    if (shift != 0) text.remove_suffix(1);
  }
  uint64_t base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    base = 16;
    text.remove_prefix(2);
  }
  if (text.empty()) return false;
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  uint64_t value = 0;
  for (const char c : text) {
    const uint64_t digit = c >= '0' && c <= '9'   ? static_cast<uint64_t>(c - '0')
                           : c >= 'a' && c <= 'f' ? static_cast<uint64_t>(c - 'a') + 10
                           : c >= 'A' && c <= 'F' ? static_cast<uint64_t>(c - 'A') + 10
                                                  : base;
    if (digit >= base || value > (kMost - digit) / base) return false;
    value = value * base + digit;
  }
  if (shift != 0 && value > kMost >> shift) return false;
  *out = value << shift;
  return true;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  while (true) {
    const size_t at = text.find(separator);
    pieces.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return pieces;
    text.remove_prefix(at + 1);
  }
}

std::string_view trim(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t' || text.front() == '\r'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

bool matches(const std::string& patterns, const char* name) {
  for (const std::string& pattern : split(patterns, ',')) {
    if (fnmatch(std::string(trim(pattern)).c_str(), name, 0) == 0) return true;
  }
  return false;
}

}  // namespace substrata::owl
