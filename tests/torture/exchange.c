/* An MPI program of any number of ranks: messages to and fro, a collective, a communicator. Prints what it found. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int me = -1, ranks = 0, sum = 0;
  static char out[5000], in[5000];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
  int received = 0;
  for (int i = 0; i < 20; ++i) {
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Irecv(in, sizeof in, MPI_CHAR, before, i, copy, &requests[0]);
    MPI_Isend(out, 200 * i, MPI_CHAR, next, i, copy, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    int count = 0;
    MPI_Get_count(&statuses[0], MPI_CHAR, &count);
    received += count;
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, copy);
    MPI_Comm_free(&copy);
  }
  if (me == 0) printf("%d ranks, %d bytes, sum %d\n", ranks, received, sum);
  MPI_Finalize();
  return me == 0 ? 3 : 0;
}
