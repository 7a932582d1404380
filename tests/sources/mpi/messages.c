/* An MPI program that counts its own point-to-point messages: a ring by three kinds of send, a persistent
 * one, and two Alltoalls of 64 KiB to each; prints what rank 0 to n-1 sent, one line a rank in order. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int me, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  long messages = 0, bytes = 0;
  double data[1000] = {0}, in[1000];
  /* A communicator whose ranks run backwards, so that ranks must be translated. */
  MPI_Comm backwards;
  MPI_Comm_split(MPI_COMM_WORLD, 0, size - me, &backwards);
  int back;
  MPI_Comm_rank(backwards, &back);

  if (me == 0) {
    fputs("Begin of Ring section.\n", stdout);
    fflush(stdout);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int round = 0; round < 10; round++) {
    MPI_Request request;
    MPI_Irecv(in, 1000, MPI_DOUBLE, (back + size - 1) % size, 1, backwards, &request);
    int count = 100 * (round % 3 + 1);
    if (round % 2)
      MPI_Send(data, count, MPI_DOUBLE, (back + 1) % size, 1, backwards);
    else {
      MPI_Request sending;
      MPI_Isend(data, count, MPI_DOUBLE, (back + 1) % size, 1, backwards, &sending);
      MPI_Wait(&sending, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    messages++;
    bytes += count * 8;
  }
  MPI_Sendrecv(data, 5, MPI_DOUBLE, (me + 1) % size, 2, in, 5, MPI_DOUBLE, (me + size - 1) % size, 2,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  messages++;
  bytes += 40;
  MPI_Send(data, 7, MPI_DOUBLE, MPI_PROC_NULL, 3, MPI_COMM_WORLD); /* goes nowhere */

  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) {
    fputs("Begin of Exchange section.\n", stdout);
    fflush(stdout);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  char* out = calloc((size_t)size, 65536);
  char* all = calloc((size_t)size, 65536);
  for (int i = 0; i < 2; i++) MPI_Alltoall(out, 65536, MPI_BYTE, all, 65536, MPI_BYTE, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) {
    fputs("End of Exchange section.\n", stdout);
    fflush(stdout);
  }
  long mine[2] = {messages, bytes}, *every = calloc((size_t)size * 2, sizeof(long));
  MPI_Gather(mine, 2, MPI_LONG, every, 2, MPI_LONG, 0, MPI_COMM_WORLD);
  if (me == 0)
    for (int i = 0; i < size; i++) printf("sent %ld %ld\n", every[2 * i], every[2 * i + 1]);
  free(out);
  free(all);
  free(every);
  MPI_Comm_free(&backwards);
  MPI_Finalize();
  return 0;
}
