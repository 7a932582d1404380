/* A module that needs MPI: 10 messages of 80 bytes to the next rank, and all collective kinds of calls that the shim
   itself makes. */
#include <mpi.h>
#include <stdio.h>

int ring(void) {
  int rank = 0, ranks = 0, sum = 0;
  char out[80] = "", in[80];
  MPI_Comm own;
  MPI_Init(NULL, NULL);
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  MPI_Comm_rank(own, &rank);
  MPI_Comm_size(own, &ranks);
  for (int i = 0; i < 10; ++i) {
    MPI_Request request;
    MPI_Irecv(in, sizeof in, MPI_CHAR, MPI_ANY_SOURCE, 7, own, &request);
    MPI_Send(out, sizeof out, MPI_CHAR, (rank + 1) % ranks, 7, own);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, own);
  MPI_Comm_free(&own);
  MPI_Finalize();
  if (sum == ranks * (ranks - 1) / 2) printf("whole\n");
  return 0;
}
