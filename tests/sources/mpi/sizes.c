/* An MPI program whose ranks send messages of 8,000 sizes, so that what is known of a rank is long. */
#include <mpi.h>

enum { kSizes = 8000, kAtOnce = 250 };

int main(int argc, char** argv) {
  int me, size;
  static char data[kSizes + 1], in[kAtOnce][kSizes + 1];
  MPI_Request requests[2 * kAtOnce];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int next = (me + 1) % size, before = (me + size - 1) % size;
  for (int first = 1; first <= kSizes; first += kAtOnce) {
    for (int i = 0; i < kAtOnce; i++)
      MPI_Irecv(in[i], kSizes, MPI_CHAR, before, 1, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < kAtOnce; i++)
      MPI_Isend(data, first + i, MPI_CHAR, next, 1, MPI_COMM_WORLD, &requests[kAtOnce + i]);
    MPI_Waitall(2 * kAtOnce, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
