// Runs a shell command for a test: without input, with what it prints and how it ends.
#ifndef SUBSTRATA_TESTS_SHELL_COMMAND_HPP
#define SUBSTRATA_TESTS_SHELL_COMMAND_HPP

#include <sys/wait.h>

#include <cstdio>
#include <string>

namespace substrata::shell {

struct Outcome {
  int status = -1;  // the exit status, 128 when it did not exit by itself, -1 when it was not run
  std::string text;
};

// Standard output and standard error of `command` together.
inline Outcome run(const std::string& command) {
  Outcome outcome;
  FILE* process = popen(("( " + command + " ) 2>&1 < /dev/null").c_str(), "r");
  if (process == nullptr) return outcome;
  char piece[4096];
  for (size_t n; (n = std::fread(piece, 1, sizeof(piece), process)) > 0;) outcome.text.append(piece, n);
  const int status = pclose(process);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return outcome;
}

// A path as one word of a command; for paths without a quote in them.
inline std::string shell_word(const std::string& path) { return "'" + path + "'"; }

inline bool has_tool(const std::string& name) { return run("command -v " + name).status == 0; }

}  // namespace substrata::shell

#endif
