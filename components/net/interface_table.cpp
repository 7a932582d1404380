// Walks the lines of /proc/net/dev: "  name: 16 numbers", after two lines of heading.
#include "interface_table.hpp"

#include <limits>

namespace substrata::net {
namespace {

void skip_blanks(std::string_view* text) noexcept {
  while (!text->empty() && (text->front() == ' ' || text->front() == '\t' || text->front() == '\r')) {
    text->remove_prefix(1);
  }
}

bool take_number(std::string_view* text, uint64_t* value) noexcept {
  skip_blanks(text);
  uint64_t number = 0;
  size_t digits = 0;
  while (digits < text->size() && (*text)[digits] >= '0' && (*text)[digits] <= '9') {
    const uint64_t digit = static_cast<uint64_t>((*text)[digits] - '0');
    if (number > (std::numeric_limits<uint64_t>::max() - digit) / 10) return false;
    number = number * 10 + digit;
    ++digits;
  }
  if (digits == 0) return false;
  text->remove_prefix(digits);
  *value = number;
  return true;
}

}  // namespace

bool next_interface(std::string_view* text, InterfaceLine* line, bool* bad) noexcept {
  while (!text->empty()) {
    const size_t end = text->find('\n');
    std::string_view rest = text->substr(0, end);
    text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
    skip_blanks(&rest);
    if (rest.empty() || rest.find('|') != std::string_view::npos) continue;  // the heading has bars
    // Old aliases ("eth0:1") have a colon of their own: the last one ends the name.
    const size_t colon = rest.rfind(':');
    if (colon == std::string_view::npos || colon == 0) {
      *bad = true;
      continue;
    }
    line->name = rest.substr(0, colon);
    rest.remove_prefix(colon + 1);
    uint32_t column = 0;
    while (column < kColumns && take_number(&rest, &line->counters[column])) ++column;
    skip_blanks(&rest);
    if (column == kColumns && rest.empty()) return true;
    *bad = true;
  }
  return false;
}

}  // namespace substrata::net
