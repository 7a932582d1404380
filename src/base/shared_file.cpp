// Makes files and reserves their pages.
#include "base/shared_file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace substrata {
namespace {

// A signal interrupts tmpfs's reservation, which then takes back what it has: in pieces it comes to an end.
constexpr uint64_t kPiece = 4 << 20;

bool may_be_as_long(uint64_t bytes) noexcept {
  rlimit limit{};
  return bytes <= INT64_MAX && (getrlimit(RLIMIT_FSIZE, &limit) != 0 || bytes <= limit.rlim_cur);
}

// The reserved file's descriptor; else the file is closed and removed.
int reserved(int file, const char* path, uint64_t bytes) noexcept {
  if (file < 0) return -1;
  const int error = reserve_file(file, bytes);
  if (error == 0) return file;
  unlink(path);
  close(file);
  errno = error;
  return -1;
}

}  // namespace

int reserve_file(int file, uint64_t bytes, uint64_t begin) noexcept {
  struct stat before {};
  if (fstat(file, &before) != 0) return errno;
  if (begin > INT64_MAX || !may_be_as_long(begin + bytes)) return EFBIG;
  // Asked first, so that a refusal does not take the last page from all others for a while. The file
  // system of memory without a name has no such number.
  const uint64_t present = begin == 0 ? static_cast<uint64_t>(before.st_blocks) * 512 : 0;
  struct statfs system {};
  if (bytes > present && fstatfs(file, &system) == 0 && system.f_blocks != 0 &&
      (bytes - present) / static_cast<uint64_t>(system.f_bsize) > system.f_bavail)
    return ENOSPC;
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t piece = std::min(kPiece, bytes - done);
    const int error = posix_fallocate(file, static_cast<off_t>(begin + done), static_cast<off_t>(piece));
    if (error == EINTR) continue;
    if (error != 0) return ftruncate(file, before.st_size) == 0 ? error : errno;
    done += piece;
  }
  return 0;
}

int lengthen_file(int file, uint64_t bytes) noexcept {
  struct stat before {};
  if (fstat(file, &before) != 0) return errno;
  if (!may_be_as_long(bytes)) return EFBIG;
  if (static_cast<uint64_t>(before.st_size) >= bytes) return 0;
  return ftruncate(file, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
}

int make_shared_file(char* path, uint64_t bytes) noexcept {
  return reserved(mkostemp(path, O_NOFOLLOW | O_CLOEXEC), path, bytes);
}

}  // namespace substrata
