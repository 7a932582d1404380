// Programs in which something fails: how they are run, and what is made of how they end.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "torture.hpp"

namespace substrata::torture {

struct Program {
  std::string name;                  // how a failure names it
  std::vector<std::string> command;  // run in an empty folder
  std::vector<std::pair<std::string, std::string>> environment = {};
  // What is measured is a program of others: what it prints and its status stay as without a fault. Otherwise
  // the program is a tool: it ends well with a right result, or says what it could not do.
  bool guest = false;
  std::string file = {};                 // what it writes; "" nothing
  std::vector<std::string> reader = {};  // shows the file, or refuses it
  std::string where = {};                // the program in which something fails; "" the command itself
  int rank = -1;                         // of that program's processes
};

// Tries faults of each kind in each program: allocations (one; all from one on) and system calls (errors; short and
// interrupted transfers) that this project's files make.
Outcome fail_within(const Options& options, const std::vector<Program>& programs);

}  // namespace substrata::torture
