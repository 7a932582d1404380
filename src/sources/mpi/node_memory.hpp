// Memory that the ranks of one node share.
#pragma once

#include <cstddef>

#include "sources/mpi/node_file.hpp"

namespace substrata::mpi {

struct Shim;

// `common` bytes for all, and `each` for each rank of the world. None where rank 0's file cannot be opened, as on
// another node, or has no space. Collective.
NodeMemory share_memory(const Shim& self, size_t common, size_t each = 0);

}  // namespace substrata::mpi
