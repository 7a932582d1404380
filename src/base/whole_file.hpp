// Files as a whole: read, or there whole or not at all.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace substrata {

// What the file holds; empty where it cannot be read.
inline std::string contents_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Before work whose result that file is to hold. Throws std::runtime_error where there is no folder for it that may be
// written.
inline void must_be_writable(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  fs::path written = path;
  if (!fs::exists(written, ignored) || fs::is_regular_file(written, ignored)) written = written.parent_path();
  if (written.empty()) written = ".";
  if (::access(written.c_str(), W_OK) != 0)
    throw std::runtime_error("'" + path + "' cannot be written: " + std::generic_category().message(errno));
}

// Calls write(std::ostream&) for a file beside that one, which takes its name only when all of it is written. What is
// not a regular file, such as a pipe or a terminal, is written as it is. Throws std::runtime_error, and what `write`
// throws; then there is no new file, and a former one is as it was.
template <typename Write>
void write_whole(const std::string& path, Write&& write) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::file_status before = fs::symlink_status(path, failed);
  const bool beside = before.type() == fs::file_type::not_found || before.type() == fs::file_type::regular;
  struct Unfinished {
    std::string path;
    ~Unfinished() {
      if (!path.empty())
        ::unlink(path.c_str());  // std::filesystem may want memory, which may be what there is not
    }
  } unfinished{beside ? path + ".part" : std::string()};
  failed.clear();
  errno = 0;
  std::ofstream file(beside ? unfinished.path : path, std::ios::binary);
  if (!file && errno != 0) failed.assign(errno, std::generic_category());
  if (file) std::forward<Write>(write)(static_cast<std::ostream&>(file));
  file.close();
  if (file && beside) {
    if (before.type() == fs::file_type::regular)
      fs::permissions(unfinished.path, before.permissions(), failed);
    if (!failed) fs::rename(unfinished.path, path, failed);
    if (!failed) unfinished.path.clear();
  }
  if (!file || failed)
    throw std::runtime_error("'" + path + "' cannot be written" + (failed ? ": " + failed.message() : ""));
}

}  // namespace substrata
