// A text as its lines.
#pragma once

#include <sstream>
#include <string>
#include <vector>

namespace substrata::tests {

// Without the empty ones.
inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) lines.push_back(line);
  return lines;
}

}  // namespace substrata::tests
