/* Collective operations that the ranks reach one after the other. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int count, char** words) {
  int rank = 0, ranks = 0, sum = 0, payload = 0;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  usleep(200000u * (unsigned)(ranks - 1 - rank));
  if (rank == 0) payload = 4711;
  MPI_Bcast(&payload, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  if (payload == 4711 && sum == ranks * (ranks - 1) / 2) printf("whole\n");
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
