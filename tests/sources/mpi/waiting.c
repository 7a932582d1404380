/* Rank 0 computes for 300 ms of processor time; the others wait for it. */
#include <mpi.h>
#include <time.h>

int main(int argc, char** argv) {
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  const clock_t begin = clock();
  while (rank == 0 && clock() - begin < CLOCKS_PER_SEC * 3 / 10) continue;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
