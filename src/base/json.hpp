// Texts as JSON writes them.
#pragma once

#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>

namespace substrata {

// Bytes of the UTF-8 sequence at the beginning of a text that is not empty; 0 when it is none (RFC 3629: no
// overlong forms, no surrogates).
inline size_t utf8_sequence(std::string_view text) noexcept {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((at(i) & 0xC0) != 0x80) return 0;
  if (first == 0xE0 && at(1) < 0xA0) return 0;
  if (first == 0xED && at(1) > 0x9F) return 0;
  if (first == 0xF0 && at(1) < 0x90) return 0;
  if (first == 0xF4 && at(1) > 0x8F) return 0;
  return length;
}

// A finite number with so many significant digits, as printf's %g writes it in the C locale, whatever the program's
// is: some have a comma in it.
inline std::string number_text(double number, int digits) {
  char out[32];
  const auto end = std::to_chars(out, out + sizeof out, number, std::chars_format::general, digits).ptr;
  return {out, end};
}

// A text within quotation marks, with JSON's escapes; bytes that are not valid UTF-8 become U+FFFD.
inline std::string json_quoted(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "\"";
  while (!text.empty()) {
    const size_t length = utf8_sequence(text);
    const unsigned char c = static_cast<unsigned char>(text[0]);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c < 0x20 || c == 0x7F) {
      out += "\\u00";
      out += kDigits[c >> 4];
      out += kDigits[c & 15];
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out + '"';
}

}  // namespace substrata
