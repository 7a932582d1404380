// Walks the lines of /proc/net/dev: "  name: 16 numbers", after two lines of heading.
#include "net/interface_table.hpp"
#include "base/parse.hpp"

#include <system_error>

namespace substrata::net {
namespace {

void skip_blanks(std::string_view* text) noexcept {
  while (!text->empty() && (text->front() == ' ' || text->front() == '\t' || text->front() == '\r')) {
    text->remove_prefix(1);
  }
}

bool take_number(std::string_view* text, uint64_t* value) noexcept {
  skip_blanks(text);
  const size_t length = leading_number(*text, value);
  text->remove_prefix(length);
  return length != 0;
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
