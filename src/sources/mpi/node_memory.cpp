// Rank 0 makes a file, the ranks that can open it map it, and its name goes away again.
#include "sources/mpi/node_memory.hpp"

#include <unistd.h>

#include "sources/mpi/shim.hpp"

namespace substrata::mpi {

NodeMemory share_memory(const Shim& self, size_t common, size_t each) {
  const NodeFileLayout layout{common, each, self.ranks};
  char name[kNodeFileName] = "";
  if (self.rank == 0 && !make_node_file(layout, name)) name[0] = '\0';
  pmpi().Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  NodeMemory memory;
  if (name[0] != '\0') memory = map_node_file(name, layout, self.rank);
  pmpi().Barrier(MPI_COMM_WORLD);
  if (self.rank == 0 && name[0] != '\0') unlink(name);
  return memory;
}

}  // namespace substrata::mpi
