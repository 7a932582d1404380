/* An MPI program of pairs of ranks, one of which asks for messages and gives some of them up: frees the
 * request of one that still comes, cancels one that never comes, and has too small a buffer for one. Between
 * them it tests in long loops for others, and prints for each of those "got RANK SOURCE BYTES". */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

static int me, partner;
static char data[1024], in[1024];

static void test_for_one(void) {
  MPI_Request request;
  MPI_Status status;
  int bytes;
  MPI_Irecv(in, 1024, MPI_CHAR, partner, 1, MPI_COMM_WORLD, &request);
  for (int flag = 0; !flag;) MPI_Test(&request, &flag, &status);
  MPI_Get_count(&status, MPI_CHAR, &bytes);
  printf("got %d %d %d\n", me, status.MPI_SOURCE, bytes);
}
static void send_one(int bytes) {
  usleep(1000);
  MPI_Send(data, bytes, MPI_CHAR, partner, 1, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  static char unasked[64];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  partner = me ^ 1;
  int wrong = 0;
  for (int i = 0; i < 3; i++) {
    MPI_Request request;
    MPI_Status status;
    int flag = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (me % 2 == 0) {
      send_one(100 + i);
      MPI_Send(data, 64, MPI_CHAR, partner, 2, MPI_COMM_WORLD);
      send_one(200 + i);
      send_one(300 + i);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Send(data, 64, MPI_CHAR, partner, 4, MPI_COMM_WORLD);
      send_one(400 + i);
      continue;
    }
    MPI_Irecv(unasked, 64, MPI_CHAR, partner, 2, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    test_for_one();
    test_for_one();
    MPI_Irecv(in, 64, MPI_CHAR, partner, 3, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    wrong += !flag;
    test_for_one();
    MPI_Irecv(in, 8, MPI_CHAR, partner, 4, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    int result = MPI_SUCCESS;
    for (flag = 0; !flag && result == MPI_SUCCESS;) result = MPI_Test(&request, &flag, &status);
    wrong += result == MPI_SUCCESS;
    test_for_one();
  }
  MPI_Finalize();
  return wrong;
}
