// Widths in characters, not bytes.
#include "recording/text_table.hpp"

#include <algorithm>
#include <ostream>

namespace substrata::recording {
namespace {

std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  for (const char c : text) width += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return width;
}

}  // namespace

std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
  return out;
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::size_t has = width_of(text);
  if (has >= width) return text;
  const std::string space(width - has, ' ');
  return right ? space + text : text + space;
}

TextTable::TextTable(std::vector<std::string> head, std::vector<bool> right) : right_(std::move(right)) {
  rows_.push_back(std::move(head));
}

void TextTable::print(std::ostream& out) const {
  std::vector<std::size_t> widths(right_.size());
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  for (const auto& row : rows_) {
    std::string line = " ";
    for (std::size_t i = 0; i < row.size(); ++i) line += " " + padded(row[i], widths[i], right_[i]);
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out << line << "\n";
  }
}

}  // namespace substrata::recording
