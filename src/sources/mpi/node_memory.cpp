// Rank 0 makes a file, the ranks that can open it map it, and its name goes away again.
#include "node_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "shim.hpp"

namespace substrata::mpi {

void* share_memory(const Shim& self, size_t bytes) {
  char name[64] = "";
  if (self.rank == 0) {
    std::strcpy(name, "/dev/shm/substrata-mpi-XXXXXX");
    const int file = mkstemp(name);
    // Reserved now: a page that cannot be had later would end the program.
    if (file < 0 || posix_fallocate(file, 0, static_cast<off_t>(bytes)) != 0) {
      if (file >= 0) unlink(name);
      name[0] = '\0';
    }
    if (file >= 0) close(file);
  }
  PMPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  void* memory = nullptr;
  if (name[0] != '\0') {
    if (const int file = open(name, O_RDWR | O_CLOEXEC); file >= 0) {
      memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      if (memory == MAP_FAILED) memory = nullptr;
      close(file);
    }
  }
  PMPI_Barrier(MPI_COMM_WORLD);
  if (self.rank == 0 && name[0] != '\0') unlink(name);
  return memory;
}

}  // namespace substrata::mpi
