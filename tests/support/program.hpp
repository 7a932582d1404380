// Runs programs as a shell would, and gives what they printed and their exit status.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include "support/temporary_folder.hpp"

namespace substrata::tests {

struct Ran {
  int status = -1;  // exit status, or -1 when it did not end by itself
  std::string out;
  std::string errors;
};

// `command` is shell text; standard input is empty.
inline Ran shell(const std::string& command) {
  const TemporaryFolder folder;
  const std::string line =
      "{ " + command + "\n} </dev/null >" + folder.file("out") + " 2>" + folder.file("errors");
  const int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(folder.file("out")),
          contents(folder.file("errors"))};
}

// The same with standard error among the standard output, in the order in which they came.
inline Ran run(const std::string& command) { return shell("{ " + command + "\n} 2>&1"); }

// What a command prints that is expected to end well.
inline std::string output_of(const std::string& command) {
  const Ran ran = run(command);
  EXPECT_EQ(ran.status, 0) << command << "\n" << ran.out;
  return ran.out;
}

// What a program that was run has printed, expected to have ended well.
inline std::string printed(const Ran& ran) {
  EXPECT_EQ(ran.status, 0) << ran.errors;
  return ran.out;
}

// A path as one word of a command; for paths without a quote in them.
inline std::string shell_word(const std::string& path) { return "'" + path + "'"; }

inline bool has_tool(const std::string& name) { return run("command -v " + name).status == 0; }

inline std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace substrata::tests
