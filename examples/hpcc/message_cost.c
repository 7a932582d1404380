/* What a small message takes, in nanoseconds: round trips between two ranks, an exchange with the neighbours
 * in a ring by one call and by requests, and a sum over all ranks. Each is measured in many short stretches;
 * rank 0 prints the least and the median of each. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kStretches = 60, kMessages = 5000, kKinds = 4 };
static int me, size;

static void round_trips(char* data) {
  for (int i = 0; me < 2 && i < kMessages / 2; i++) {
    if (me == 0) MPI_Send(data, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    MPI_Recv(data, 8, MPI_BYTE, 1 - me, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (me == 1) MPI_Send(data, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
  }
}
static void exchanges(char* data) {
  for (int i = 0; i < kMessages; i++)
    MPI_Sendrecv(data, 8, MPI_BYTE, (me + 1) % size, 2, data + 8, 8, MPI_BYTE, (me + size - 1) % size, 2,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void requests(char* data) {
  for (int i = 0; i < kMessages / 2; i++) {
    MPI_Request all[4];
    MPI_Irecv(data + 8, 8, MPI_BYTE, (me + size - 1) % size, 3, MPI_COMM_WORLD, &all[0]);
    MPI_Irecv(data + 16, 8, MPI_BYTE, (me + 1) % size, 4, MPI_COMM_WORLD, &all[1]);
    MPI_Isend(data, 8, MPI_BYTE, (me + 1) % size, 3, MPI_COMM_WORLD, &all[2]);
    MPI_Isend(data, 8, MPI_BYTE, (me + size - 1) % size, 4, MPI_COMM_WORLD, &all[3]);
    MPI_Waitall(4, all, MPI_STATUSES_IGNORE);
  }
}
static void sums(char* data) {
  double one = 1, sum = 0;
  for (int i = 0; i < kMessages; i++) MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  data[0] = (char)sum;
}
static int ascending(const void* a, const void* b) {
  double left = *(const double*)a, right = *(const double*)b;
  return left < right ? -1 : left > right;
}

int main(int argc, char** argv) {
  static double took[kKinds][kStretches];
  static char data[64];
  const char* names[kKinds] = {"send", "sendrecv", "isend", "allreduce"};
  void (*kinds[kKinds])(char*) = {round_trips, exchanges, requests, sums};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; size > 1 && i < kStretches; i++)
    for (int kind = 0; kind < kKinds; kind++) {
      MPI_Barrier(MPI_COMM_WORLD);
      double began = MPI_Wtime();
      kinds[kind](data);
      took[kind][i] = (MPI_Wtime() - began) / kMessages * 1e9;
    }
  for (int kind = 0; me == 0 && kind < kKinds; kind++) {
    qsort(took[kind], kStretches, sizeof took[kind][0], ascending);
    printf("%s %.1f %.1f\n", names[kind], took[kind][0], took[kind][kStretches / 2]);
  }
  MPI_Finalize();
  return 0;
}
