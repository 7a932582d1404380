// Texts and numbers as JSON writes them.
#include <charconv>
#include <cmath>
#include <cstdio>

#include "recording/exports.hpp"

namespace substrata::record {
namespace {

// Bytes of the UTF-8 sequence at the beginning of `text`; 0 when it is not one (RFC 3629: no overlong forms, no
// surrogates).
std::size_t sequence_length(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((at(i) & 0xC0) != 0x80) return 0;
  if (first == 0xE0 && at(1) < 0xA0) return 0;
  if (first == 0xED && at(1) > 0x9F) return 0;
  if (first == 0xF0 && at(1) < 0x90) return 0;
  if (first == 0xF4 && at(1) > 0x8F) return 0;
  return length;
}

}  // namespace

std::string json_text(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      text.remove_prefix(1);
      continue;
    }
    const unsigned char c = static_cast<unsigned char>(text[0]);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c < 0x20 || c == 0x7F || c == '<') {  // '<': the text may stand in a script element
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
      out += escaped;
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(length);
  }
  return out + '"';
}

std::string json_number(double number) {
  if (!std::isfinite(number)) return "null";
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, number);
  return {text, end.ptr};
}

std::string exact_value(const Series& series, std::size_t row) {
  if (series.type == Type::kDouble) return json_number(series.value_at(row));
  if (series.type == Type::kUint64) return std::to_string(static_cast<std::uint64_t>(series.values[row]));
  return std::to_string(series.values[row]);
}

}  // namespace substrata::record
