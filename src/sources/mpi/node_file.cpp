// Each rank reserves its own part, so that the file takes no more than the ranks of its node need.
#include "sources/mpi/node_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "base/shared_file.hpp"

namespace substrata::mpi {

bool make_node_file(const NodeFileLayout& layout, char (&name)[kNodeFileName]) {
  std::strcpy(name, "/dev/shm/substrata-mpi-XXXXXX");
  const int file = make_shared_file(name, layout.common);
  if (file < 0) return false;
  const bool made = lengthen_file(file, layout.bytes()) == 0;
  if (!made) unlink(name);
  close(file);
  return made;
}

NodeMemory map_node_file(const char* name, const NodeFileLayout& layout, int rank) {
  NodeMemory out;
  const int file = open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return out;
  void* const memory =
      mmap(nullptr, layout.bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (memory != MAP_FAILED) {
    out.at = memory;
    out.has_own =
        reserve_file(file, layout.each, layout.common + layout.each * static_cast<size_t>(rank)) == 0;
  }
  close(file);
  return out;
}

}  // namespace substrata::mpi
