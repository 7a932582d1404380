/* Preloaded under an MPI program: its ranks are as if another program had spawned them. */
#include <mpi.h>

int PMPI_Comm_get_parent(MPI_Comm* parent) {
  *parent = MPI_COMM_SELF;
  return MPI_SUCCESS;
}
