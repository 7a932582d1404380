// Texts in aligned columns, for a terminal.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace substrata::recording {

// Texts from a file must not reach the terminal with control characters.
std::string shown(std::string_view text);

// With spaces up to a width in characters, before it or after it.
std::string padded(const std::string& text, std::size_t width, bool right = false);

// Rows of texts as aligned columns; `right` has an entry a column.
class TextTable {
 public:
  TextTable(std::vector<std::string> head, std::vector<bool> right);
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.size() < 2; }
  void print(std::ostream& out) const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<bool> right_;
};

}  // namespace substrata::recording
