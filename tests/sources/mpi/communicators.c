/* An MPI program that sends with one tag on communicators of the same ranks, however they were made, and receives in
 * the reverse order. Prints for each message "got RANK SOURCE BYTES". */
#include <mpi.h>
#include <stdio.h>

enum { kMost = 4 };

int main(int argc, char** argv) {
  int me, size, bytes;
  static char data[1024];
  MPI_Comm all[kMost];
  MPI_Request idup, sending[kMost];
  MPI_Status status;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int next = (me + 1) % size, before = (me + size - 1) % size, one = 1;
  all[0] = MPI_COMM_WORLD;
  MPI_Comm_idup(MPI_COMM_WORLD, &all[1], &idup);
  MPI_Wait(&idup, MPI_STATUS_IGNORE);
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &me, &one, &next, &one, MPI_INFO_NULL, 0, &all[2]);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, &one, 1, &next, &one, MPI_INFO_NULL, 0, &all[3]);
  for (int i = 0; i < kMost; i++) MPI_Isend(data, 100 + i, MPI_CHAR, next, 2, all[i], &sending[i]);
  for (int i = kMost - 1; i >= 0; i--) {
    MPI_Recv(data, 1024, MPI_CHAR, before, 2, all[i], &status);
    MPI_Get_count(&status, MPI_CHAR, &bytes);
    printf("got %d %d %d\n", me, status.MPI_SOURCE, bytes);
  }
  MPI_Waitall(kMost, sending, MPI_STATUSES_IGNORE);
  for (int i = 1; i < kMost; i++) MPI_Comm_free(&all[i]);
  MPI_Finalize();
  return 0;
}
