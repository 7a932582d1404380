// A command line that ends in another command: "substrata stat -e EVENTS ./program 1 2".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/arguments/arguments.hpp"

namespace substrata::tool {

// Parses what is before the command, which begins after "--" or with the first word that is no option. The exit
// status, as Arguments::parse; nothing: go on, and *command is the rest, empty where there is none.
inline std::optional<int> parse_before_command(Arguments& arguments, int argc, char** argv,
                                               std::vector<std::string>* command) {
  const int before = arguments.words_before_command(argc, argv);
  int at = before;
  if (at < argc && std::string(argv[at]) == "--") ++at;
  command->assign(argv + at, argv + argc);
  return arguments.parse(before, argv);
}

}  // namespace substrata::tool
