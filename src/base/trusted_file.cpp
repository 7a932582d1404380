// Looks at the owners and modes of a file and of its folder.
#include "base/trusted_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

namespace substrata {
namespace {

std::string objection(const std::string& path, bool folder) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return {};
  if (about.st_uid != 0 && about.st_uid != ::geteuid())
    return path + " belongs to user " + std::to_string(about.st_uid) + "; it must belong to root or to you";
  // In a folder with the sticky bit nobody replaces another's file.
  if (folder && (about.st_mode & S_ISVTX) != 0) return {};
  if ((about.st_mode & S_IWOTH) != 0) return path + " may be written by any user: chmod o-w " + path;
  if ((about.st_mode & S_IWGRP) != 0 && about.st_gid != 0 && about.st_gid != ::getegid())
    return path + " may be written by group " + std::to_string(about.st_gid) + ": chmod g-w " + path;
  return {};
}

}  // namespace

std::string who_else_may_write(const std::string& path) {
  char whole[PATH_MAX];
  if (::realpath(path.c_str(), whole) == nullptr) return {};
  const std::string file = whole;
  const std::string wrong = objection(file, false);
  if (!wrong.empty()) return wrong;
  const std::size_t slash = file.rfind('/');
  return objection(slash == 0 ? "/" : file.substr(0, slash), true);
}

}  // namespace substrata
