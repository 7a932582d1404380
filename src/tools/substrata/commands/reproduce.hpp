// Which reproductions there are.
#ifndef SUBSTRATA_TOOL_COMMANDS_REPRODUCE_HPP
#define SUBSTRATA_TOOL_COMMANDS_REPRODUCE_HPP

#include <string>
#include <vector>

namespace substrata::tool {

// Their names, as `substrata reproduce --list` prints them; empty where their program is not installed.
std::vector<std::string> reproduction_ids();

}  // namespace substrata::tool

#endif
