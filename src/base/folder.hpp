// What is in a folder.
#pragma once

#include <dirent.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace substrata {

// The names that do not begin with a dot, sorted by their bytes; none, with errno, where it cannot be read.
inline std::optional<std::vector<std::string>> try_names_in(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()),
                                                 [](DIR* one) { return ::closedir(one); });
  if (!open) return std::nullopt;
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(open.get()))
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  std::sort(names.begin(), names.end());
  return names;
}

// The same, and an empty list where it cannot be read.
inline std::vector<std::string> names_in(const std::string& folder) {
  return try_names_in(folder).value_or(std::vector<std::string>());
}

}  // namespace substrata
