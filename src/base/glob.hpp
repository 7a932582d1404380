// Patterns of names.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/parse.hpp"

namespace substrata {

// One element of a pattern against one character. *next is where the pattern goes on behind the element: any character
// ('?'), a set ("[abc]", "[a-z]", "[!a-z]"), one behind a '\' as it is, or itself. A '[' without its ']' is itself.
inline bool glob_takes(std::string_view pattern, size_t at, char c, size_t* next) noexcept {
  *next = at + 1;
  if (pattern[at] == '?') return true;
  if (pattern[at] == '\\' && at + 1 < pattern.size()) {
    *next = at + 2;
    return pattern[at + 1] == c;
  }
  if (pattern[at] != '[') return pattern[at] == c;
  size_t i = at + 1;
  const bool inverted = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (inverted) ++i;
  bool found = false;
  for (const size_t first = i; i < pattern.size() && (pattern[i] != ']' || i == first); ++i) {
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
      found = found || (pattern[i] <= c && c <= pattern[i + 2]);
      i += 2;
    } else {
      found = found || pattern[i] == c;
    }
  }
  if (i >= pattern.size()) return c == '[';
  *next = i + 1;
  return found != inverted;
}

// Is the whole name what the pattern describes? '*' stands for any run of characters, the empty one too; for
// the rest see glob_takes. Signal-safe; at most pattern times name steps.
inline bool glob(std::string_view pattern, std::string_view name) noexcept {
  size_t p = 0;
  size_t n = 0;
  size_t star = std::string_view::npos;
  size_t resume = 0;
  while (n < name.size()) {
    size_t next = 0;
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && glob_takes(pattern, p, name[n], &next)) {
      p = next;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

// Does one of the comma-separated patterns, blanks around them aside, describe the name? Signal-safe.
inline bool any_glob(std::string_view patterns, std::string_view name) noexcept {
  for (;;) {
    const size_t comma = patterns.find(',');
    if (glob(trimmed(patterns.substr(0, comma)), name)) return true;
    if (comma == std::string_view::npos) return false;
    patterns.remove_prefix(comma + 1);
  }
}

}  // namespace substrata
