// Which programs the Owl paper's claims are judged on, and what each of them is given to do.
#pragma once

#include <string>
#include <vector>

namespace substrata::papers {

// What a program is given, apart from its environment.
struct ProgramTask {
  std::vector<std::string> arguments;
  // What it reads, at most a page; then its standard input stays open, as a terminal's. "": it ends at once.
  std::string input{};
};

struct OwlProgram {
  std::string name;
  std::string paper;    // its row in the paper's table 1, or "": SPLASH-2's
  bool stand_in;        // not that row's program, but one of its kind
  std::string program;  // the file to run, or "": it is not here
  std::string wanted;   // what has to be installed for it
  std::string what;     // "64 KiB of text"
  ProgramTask task;
  ProgramTask idle;  // the same with nothing to do: what it executes then is its start-up
};

// The list of docs/reference/owl.md: a program for each row of table 1, and SPLASH-2's. Inputs are written into
// `folder`, which exists; they are the same on every machine. Throws std::runtime_error when one cannot be
// written.
std::vector<OwlProgram> owl_programs(const std::string& folder);

// Where a program lies: `name` itself if it has a slash, else in one of the folders of PATH; or "".
std::string find_program(const std::string& name);

}  // namespace substrata::papers
