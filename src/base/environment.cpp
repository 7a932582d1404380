// Settings from the environment.
#include "base/environment.hpp"

#include <cstdlib>

namespace substrata {

const char* environment(const char* name) noexcept { return secure_getenv(name); }

std::vector<std::string> split_list(std::string_view list, std::string_view separators) {
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
