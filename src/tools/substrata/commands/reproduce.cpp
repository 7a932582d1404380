// substrata reproduce: hands the command line to the program of the reproductions.
#include "tools/substrata/commands/reproduce.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "base/command_output.hpp"
#include "base/parse.hpp"
#include "tools/arguments/arguments.hpp"
#include "tools/substrata/commands.hpp"

namespace substrata::tool {
namespace {

namespace fs = std::filesystem;

fs::path reproductions_program() {
  const fs::path self = fs::read_symlink("/proc/self/exe");
  return self.parent_path() / SUBSTRATA_LIBEXEC_FROM_BIN / "substrata" / "substrata-reproduce";
}

}  // namespace

std::vector<std::string> reproduction_ids() {
  std::vector<std::string> ids;
  const std::string list = command_output("'" + reproductions_program().string() + "' --list");
  for (const std::string& line : split_list(list, "\n")) ids.push_back(line.substr(0, line.find(' ')));
  return ids;
}

int reproduce(int argc, char** argv) {
  // As the program takes them, for the completion of command lines.
  if (Arguments::describe({{{}, true, false, Arguments::Value::kReproduction},
                           {{"-h", "--help"}, false},
                           {{"--list"}, false},
                           {{"--full"}, false},
                           {{"--json"}, false},
                           {{"--out"}, true, false, Arguments::Value::kFolder},
                           {{"--figures"}, true, false, Arguments::Value::kFolder},
                           {{"--record"}, true, false, Arguments::Value::kFolder}}))
    return 0;
  if (argc < 2) {
    std::fprintf(stderr, "substrata reproduce: name a figure or claim (ID, `all`), or --list:\n");
    for (const std::string& id : reproduction_ids()) std::fprintf(stderr, "  %s\n", id.c_str());
    return 2;
  }
  const std::string program = reproductions_program();
  execv(program.c_str(), argv);
  throw std::runtime_error("'" + program + "' cannot be started: " + std::strerror(errno) +
                           "; it is installed with the program substrata");
}

}  // namespace substrata::tool
