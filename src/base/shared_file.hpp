// Files that several processes map, with all their pages from the start.
#pragma once

#include <cstdint>

#include "base/visibility.hpp"

// A file that ftruncate made long has no pages yet, and touching one that the file system cannot give any
// more ends the process with SIGBUS; a container's /dev/shm has 64 MB. So what is mapped is reserved first.
namespace substrata {

// Reserves the bytes of an open file from `begin` on, zeroed where they are new; the file becomes longer where it
// has to. 0, or the system's error with the length as it was: ENOSPC, or EFBIG above the process's limit of a file's
// size (no SIGXFSZ comes). Thread-safe.
SUBSTRATA_PRIVATE_API int reserve_file(int file, uint64_t bytes, uint64_t begin = 0) noexcept;
// Makes a file longer without reserving anything: bytes that nobody may touch before they are reserved. As above.
SUBSTRATA_PRIVATE_API int lengthen_file(int file, uint64_t bytes) noexcept;

// A new file of `bytes`, reserved, for this user only, under a name that cannot be guessed: `path` ends in XXXXXX,
// which the call replaces. A descriptor, or -1 and errno. It opens nothing that is there, and leaves nothing
// where it fails. Thread-safe.
SUBSTRATA_PRIVATE_API int make_shared_file(char* path, uint64_t bytes) noexcept;

}  // namespace substrata
