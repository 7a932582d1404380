/* Two ranks; for each line of its input rank 0 prints what a message of 8 bytes between them takes, in nanoseconds:
   half a round trip, of many. In between both sleep, so that another pair can be measured in turn. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

enum { kRoundTrips = 2500, kGo = 1, kMessage = 2 };

static void exchange(int me, char* data) {
  for (int i = 0; i < kRoundTrips; ++i) {
    if (me == 0) MPI_Send(data, 8, MPI_BYTE, 1, kMessage, MPI_COMM_WORLD);
    MPI_Recv(data, 8, MPI_BYTE, 1 - me, kMessage, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (me == 1) MPI_Send(data, 8, MPI_BYTE, 0, kMessage, MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  char line[16], data[8] = "";
  int me = 0, go = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  while (go) {
    if (me == 0) {
      go = fgets(line, sizeof line, stdin) != NULL;
      MPI_Send(&go, 1, MPI_INT, 1, kGo, MPI_COMM_WORLD);
    } else {
      for (int there = 0; !there; MPI_Iprobe(0, kGo, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE)) usleep(200);
      MPI_Recv(&go, 1, MPI_INT, 0, kGo, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (!go) break;
    exchange(me, data); /* warm */
    const double begin = MPI_Wtime();
    exchange(me, data);
    const double took = MPI_Wtime() - begin;
    if (me == 0) printf("%.1f\n", took / (2 * kRoundTrips) * 1e9);
    fflush(stdout);
  }
  MPI_Finalize();
  return 0;
}
