/* An MPI program with so many collective operations: of all ranks, of the even and the odd ones, of a copy of all,
 * blocking and not. Rank 0 prints how many there are in which anything is sent. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int me, size, operations = 0;
  MPI_Comm half, copy;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  double value = me, out = 0, all[64];
  for (int i = 0; i < 5; i++) {
    MPI_Allreduce(&value, &out, 1, MPI_DOUBLE, MPI_SUM, i % 2 ? copy : MPI_COMM_WORLD);
    MPI_Bcast(all, 64, MPI_DOUBLE, i % size, MPI_COMM_WORLD);
    MPI_Barrier(copy);
    operations += 3;
    MPI_Allreduce(&value, &out, 1, MPI_DOUBLE, MPI_MAX, half);
    operations += 2; /* one of each half */
    MPI_Request request[2];
    MPI_Ibcast(all, 64, MPI_DOUBLE, 0, MPI_COMM_WORLD, &request[0]);
    MPI_Iallreduce(&value, &out, 1, MPI_DOUBLE, MPI_SUM, copy, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    operations += 2;
  }
  if (me == 0) printf("operations %d\n", operations);
  MPI_Finalize();
  return 0;
}
