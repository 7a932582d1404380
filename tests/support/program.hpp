// Runs a built program as a shell would, and gives what it printed and its exit status.
#ifndef SUBSTRATA_TESTS_TOOL_PROGRAM_HPP
#define SUBSTRATA_TESTS_TOOL_PROGRAM_HPP

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace substrata::tests {

struct Ran {
  int status = -1;  // exit status, or -1 when it did not end by itself
  std::string out;
  std::string errors;
};

// A folder of its own that goes with the object.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "substrata-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// `command` is shell text; standard input is empty.
inline Ran shell(const std::string& command) {
  const Folder folder;
  const std::string line =
      "{ " + command + "\n} </dev/null >" + folder.file("out") + " 2>" + folder.file("errors");
  const int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(folder.file("out")),
          contents(folder.file("errors"))};
}

inline std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace substrata::tests

#endif
