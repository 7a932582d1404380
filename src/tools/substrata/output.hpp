// Where a command writes what it was asked for.
#pragma once

#include <iostream>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/whole_file.hpp"

namespace substrata::tool {

// To a file, or to standard output for "" and "-".
template <typename Write>
void write_to(const std::string& path, Write&& write) {
  if (!path.empty() && path != "-") return write_whole(path, std::forward<Write>(write));
  write(std::cout);
  std::cout.flush();
  if (!std::cout) throw std::runtime_error("standard output cannot be written");
}

}  // namespace substrata::tool
