// Texts and numbers as JSON writes them.
#include <charconv>
#include <cmath>

#include "base/json.hpp"
#include "recording/exports.hpp"

namespace substrata::recording {

std::string json_text(std::string_view text) {
  std::string out = json_quoted(text);
  // The text may stand in a script element.
  for (std::size_t at = 0; (at = out.find('<', at)) != std::string::npos;) out.replace(at, 1, "\\u003c");
  return out;
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

}  // namespace substrata::recording
