/* An MPI program of pairs of ranks, one of which cancels receives whose tags come again: before others are posted for
 * the same tag, and behind them; reported at once, and after others. Prints for each message "got RANK SOURCE BYTES"
 * in the order in which a rank has them. */
#include <mpi.h>
#include <stdio.h>

static int me, partner, wrong;
static char data[1024], in[8][1024];

static void got(MPI_Request* request) {
  MPI_Status status;
  int bytes, cancelled;
  MPI_Wait(request, &status);
  MPI_Test_cancelled(&status, &cancelled);
  if (cancelled) return;
  MPI_Get_count(&status, MPI_CHAR, &bytes);
  printf("got %d %d %d\n", me, status.MPI_SOURCE, bytes);
}
static void send(int bytes, int tag) { MPI_Send(data, bytes, MPI_CHAR, partner, tag, MPI_COMM_WORLD); }
static void post(int place, MPI_Request* request, int tag) {
  MPI_Irecv(in[place], 1024, MPI_CHAR, partner, tag, MPI_COMM_WORLD, request);
}

int main(int argc, char** argv) {
  MPI_Request requests[4];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  partner = me ^ 1;
  for (int i = 0; i < 3; i++) {
    const int first = 100 * (i + 1);
    if (me % 2 == 0) {
      MPI_Barrier(MPI_COMM_WORLD);
      for (int k = 0; k < 3; k++) send(first + k, 5);
      for (int k = 0; k < 2; k++) send(first + 10 + k, 6);
      MPI_Barrier(MPI_COMM_WORLD);
      send(first + 20, 5);
      continue;
    }
    post(0, &requests[0], 5);
    MPI_Cancel(&requests[0]);
    got(&requests[0]);
    /* Of four, the first two are cancelled; the third and fourth have the messages. */
    for (int k = 0; k < 4; k++) post(k, &requests[k], 6);
    MPI_Cancel(&requests[1]);
    MPI_Cancel(&requests[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    got(&requests[3]);
    got(&requests[2]);
    got(&requests[1]);
    got(&requests[0]);
    for (int k = 0; k < 3; k++) post(k, &requests[k], 5);
    for (int k = 0; k < 3; k++) got(&requests[k]);
    MPI_Barrier(MPI_COMM_WORLD);
    post(0, &requests[0], 5);
    got(&requests[0]);
  }
  MPI_Finalize();
  return wrong;
}
