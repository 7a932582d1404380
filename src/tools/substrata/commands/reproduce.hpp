// Which reproductions there are.
#pragma once

#include <string>
#include <vector>

namespace substrata::tool {

// Their names, as `substrata reproduce --list` prints them; empty where their program is not installed.
std::vector<std::string> reproduction_ids();

}  // namespace substrata::tool
