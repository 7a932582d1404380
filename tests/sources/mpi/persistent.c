/* An MPI program whose persistent receives are open to any sender, and waited for once more than they are started;
 * after them three receives with one tag are waited for in reverse. Prints for each message "got RANK SOURCE BYTES". */
#include <mpi.h>
#include <stdio.h>

static int me, size;
static char data[1024], in[4][1024];

static void got(MPI_Request* request) {
  MPI_Status status;
  int bytes;
  MPI_Wait(request, &status);
  MPI_Get_count(&status, MPI_CHAR, &bytes);
  if (status.MPI_SOURCE >= 0) printf("got %d %d %d\n", me, status.MPI_SOURCE, bytes);
}

int main(int argc, char** argv) {
  MPI_Request any, requests[3];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int next = (me + 1) % size, before = (me + size - 1) % size;
  MPI_Recv_init(in[0], 1024, MPI_CHAR, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &any);
  for (int i = 0; i < 3; i++) {
    MPI_Start(&any);
    MPI_Send(data, 10 + i, MPI_CHAR, next, 5, MPI_COMM_WORLD);
    got(&any);
    got(&any);
  }
  for (int i = 0; i < 3; i++) MPI_Irecv(in[i], 1024, MPI_CHAR, before, 1, MPI_COMM_WORLD, &requests[i]);
  for (int i = 0; i < 3; i++) MPI_Send(data, 100 + i, MPI_CHAR, next, 1, MPI_COMM_WORLD);
  for (int i = 2; i >= 0; i--) got(&requests[i]);
  MPI_Request_free(&any);
  MPI_Finalize();
  return 0;
}
