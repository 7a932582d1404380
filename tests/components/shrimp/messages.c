// An MPI program with known messages: each rank sends three of 1000 bytes to its right neighbour and takes
// part in one Alltoall of 65536 bytes to each.
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int me, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char out[1000] = {0}, in[1000];
  for (int i = 0; i < 3; ++i)
    MPI_Sendrecv(out, 1000, MPI_BYTE, (me + 1) % size, 1, in, 1000, MPI_BYTE, (me + size - 1) % size, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  char* const all = calloc((size_t)size, 2 * 65536);
  if (all == NULL) return 1;
  MPI_Alltoall(all, 65536, MPI_BYTE, all + (size_t)size * 65536, 65536, MPI_BYTE, MPI_COMM_WORLD);
  free(all);
  MPI_Finalize();
  return 0;
}
