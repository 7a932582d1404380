// Where a program is that is started by its name.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "base/environment.hpp"

namespace substrata {

// As a shell looks for it: a name with a '/' is the file, any other is looked for in the folders of PATH, of which an
// empty one is the present folder. The first file for which runs(file) holds; empty where there is none.
template <typename Runs>
std::string search_path(const std::string& name, const Runs& runs) {
  if (name.empty()) return {};
  if (name.find('/') != std::string::npos) return runs(name) ? name : std::string();
  const char* const setting = environment("PATH");
  const std::string path = setting != nullptr ? setting : "/usr/bin:/bin";
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string folder = path.substr(begin, end - begin);
    if (const std::string file = (folder.empty() ? "." : folder) + "/" + name; runs(file)) return file;
    begin = end + 1;
  }
  return {};
}

}  // namespace substrata
