// The program `substrata` that the build made, for tests of its commands.
#pragma once

#include <string>

#include "support/program.hpp"

namespace substrata::tests {

inline Ran tool(const std::string& arguments) { return shell(SUBSTRATA_TOOL " " + arguments); }

}  // namespace substrata::tests
