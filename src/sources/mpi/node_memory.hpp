// Memory that the ranks of one node share.
#ifndef SUBSTRATA_MPI_NODE_MEMORY_HPP
#define SUBSTRATA_MPI_NODE_MEMORY_HPP

#include <cstddef>

namespace substrata::mpi {

struct Shim;

// So many zeroed bytes, mapped until the process ends; null where rank 0's file cannot be opened, as on
// another node, or has no space. Collective.
void* share_memory(const Shim& self, size_t bytes);

}  // namespace substrata::mpi

#endif
