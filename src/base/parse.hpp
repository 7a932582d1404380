// Numbers, sizes and lists as people and kernels write them. Headers only, for libraries that stand without
// libsubstrata too.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

namespace substrata {

// The number at the beginning of a text: how many characters it has; 0, and *out untouched, where there is none or it
// does not fit. A signed Number may have a '-', a floating one a '.' and an exponent, whatever the locale. `base` is of
// integers. Signal-safe.
template <typename Number>
size_t leading_number(std::string_view text, Number* out, int base = 10) noexcept {
  const char* const end = text.data() + text.size();
  Number number{};
  std::from_chars_result read{};
  if constexpr (std::is_floating_point_v<Number>)
    read = std::from_chars(text.data(), end, number);
  else
    read = std::from_chars(text.data(), end, number, base);
  if (read.ec != std::errc()) return 0;
  if constexpr (std::is_floating_point_v<Number>)
    if (!std::isfinite(number)) return 0;
  *out = number;
  return static_cast<size_t>(read.ptr - text.data());
}

// The whole text is a number, decimal or, for integers, 0x hexadecimal; as leading_number. False, and *out untouched,
// for anything else and for what does not fit. Signal-safe.
template <typename Number>
bool parse_number(std::string_view text, Number* out) noexcept {
  int base = 10;
  if (!std::is_floating_point_v<Number> && text.size() > 2 && text[0] == '0' &&
      (text[1] == 'x' || text[1] == 'X')) {
    base = 16;
    text.remove_prefix(2);
    if (text.front() == '-') return false;
  }
  Number number{};
  if (text.empty() || leading_number(text, &number, base) != text.size()) return false;
  *out = number;
  return true;
}

// As parse_number, with an optional k, m or g in either case: 2^10, 2^20, 2^30. Signal-safe.
inline bool parse_size(std::string_view text, uint64_t* out) noexcept {
  unsigned shift = 0;
  if (!text.empty()) {
    const char last = text.back();
    shift = last == 'k' || last == 'K'   ? 10
            : last == 'm' || last == 'M' ? 20
            : last == 'g' || last == 'G' ? 30
                                         : 0;
    if (shift != 0) text.remove_suffix(1);
  }
  uint64_t value = 0;
  if (!parse_number(text, &value) || value > std::numeric_limits<uint64_t>::max() >> shift) return false;
  *out = value << shift;
  return true;
}

// One number in decimal, as the kernel writes it: optional sign, digits, then nothing but white space. False,
// and *value untouched, for anything else and for what does not fit. Signal-safe.
inline bool parse_integer(std::string_view text, int64_t* value) noexcept {
  while (!text.empty() && (text.back() == ' ' || (text.back() >= '\t' && text.back() <= '\r')))
    text.remove_suffix(1);
  if (!text.empty() && text.front() == '+') {
    text.remove_prefix(1);
    if (!text.empty() && text.front() == '-') return false;
  }
  int64_t number = 0;
  if (text.empty() || leading_number(text, &number) != text.size()) return false;
  *value = number;
  return true;
}

// Without the blanks and ends of lines on both sides.
inline std::string_view trimmed(std::string_view text) noexcept {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

// What stands behind the colon of the first line "key<blanks>: value", as in /proc/cpuinfo and /proc/self/status; empty
// where there is none. Signal-safe.
inline std::string_view value_of_key(std::string_view text, std::string_view key) noexcept {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() == text.size() ? line.size() : line.size() + 1);
    if (!line.starts_with(key)) continue;
    line = trimmed(line.substr(key.size()));
    if (line.starts_with(':')) return trimmed(line.substr(1));
  }
  return {};
}

// The number at the beginning of that, `missing` where there is none: "VmRSS:   1234 kB". Signal-safe.
inline int64_t number_of_key(std::string_view text, std::string_view key, int64_t missing) noexcept {
  leading_number(value_of_key(text, key), &missing);
  return missing;
}

// Cut at every `separator`; empty pieces are kept, so that there is always one.
inline std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  for (;;) {
    const size_t at = text.find(separator);
    pieces.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return pieces;
    text.remove_prefix(at + 1);
  }
}

// The non-empty pieces of a list, separated by any character of `separators`.
inline std::vector<std::string> split_list(std::string_view list, std::string_view separators) {
  std::vector<std::string> pieces;
  while (!list.empty()) {
    const size_t end = list.find_first_of(separators);
    const std::string_view piece = list.substr(0, end);
    if (!piece.empty()) pieces.emplace_back(piece);
    if (end == std::string_view::npos) break;
    list.remove_prefix(end + 1);
  }
  return pieces;
}

}  // namespace substrata
