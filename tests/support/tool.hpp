// The program `substrata` that the build made, for tests of its commands.
#pragma once

#include <string>

#include "support/program.hpp"

#ifndef SUBSTRATA_TOOL
#define SUBSTRATA_TOOL "substrata"  // a target that does not say which takes the one on PATH
#endif

namespace substrata::tests {

inline Ran tool(const std::string& arguments) { return shell(SUBSTRATA_TOOL " " + arguments); }

}  // namespace substrata::tests
