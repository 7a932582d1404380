/* An MPI program that receives in every way there is, each message of another size, and prints for each "got
 * RANK SOURCE BYTES", in the order in which a rank has them: receives waited for against their order, from
 * anybody, tested for once or a thousand times, persistent, probed for, on a second communicator of the same
 * ranks. Ranks sleep only to let others test in vain: what is printed and counted does not hang on how long.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int me, size;
static char data[65536], in[16][65536];

static void got(MPI_Status* status) {
  int bytes;
  MPI_Get_count(status, MPI_CHAR, &bytes);
  if (status->MPI_SOURCE != MPI_PROC_NULL) printf("got %d %d %d\n", me, status->MPI_SOURCE, bytes);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int next = (me + 1) % size, before = (me + size - 1) % size;
  MPI_Status status, statuses[16];
  MPI_Request requests[16], sending[16];
  MPI_Comm second;
  MPI_Comm_dup(MPI_COMM_WORLD, &second);

  /* Three with one tag, waited for in reverse. */
  for (int i = 0; i < 3; i++) MPI_Irecv(in[i], 65536, MPI_CHAR, before, 1, MPI_COMM_WORLD, &requests[i]);
  for (int i = 0; i < 3; i++) MPI_Send(data, 100 + i, MPI_CHAR, next, 1, MPI_COMM_WORLD);
  for (int i = 2; i >= 0; i--) {
    MPI_Wait(&requests[i], &status);
    got(&status);
  }
  /* The same tag on two communicators, received the other way round. */
  MPI_Isend(data, 110, MPI_CHAR, next, 2, MPI_COMM_WORLD, &sending[0]);
  MPI_Isend(data, 111, MPI_CHAR, next, 2, second, &sending[1]);
  MPI_Recv(in[0], 65536, MPI_CHAR, before, 2, second, &status);
  got(&status);
  MPI_Recv(in[0], 65536, MPI_CHAR, before, 2, MPI_COMM_WORLD, &status);
  got(&status);
  MPI_Waitall(2, sending, MPI_STATUSES_IGNORE);
  /* From anybody with any tag, to everybody. */
  for (int i = 0; i < size; i++) MPI_Isend(data, 200 + me, MPI_CHAR, i, 3 + me, MPI_COMM_WORLD, &sending[i]);
  for (int i = 0; i < size; i++) {
    MPI_Recv(in[0], 65536, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    got(&status);
  }
  MPI_Waitall(size, sending, MPI_STATUSES_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  /* Any, some, all; messages whose statuses the program ignores are accounted all the same. */
  for (int i = 0; i < 6; i++) MPI_Irecv(in[i], 65536, MPI_CHAR, before, 20 + i, second, &requests[i]);
  for (int i = 0; i < 6; i++) MPI_Send(data, 300 + i, MPI_CHAR, next, 20 + i, second);
  int index, count, indices[16];
  MPI_Waitany(6, requests, &index, &status);
  got(&status);
  MPI_Waitsome(6, requests, &count, indices, statuses);
  for (int i = 0; i < count; i++) got(&statuses[i]);
  int flag = 0;
  while (!flag) {
    MPI_Testany(6, requests, &index, &flag, &status);
    if (flag && index != MPI_UNDEFINED) got(&status);
  }
  MPI_Waitall(6, requests, statuses);
  for (int i = 0; i < 6; i++)
    if (statuses[i].MPI_SOURCE >= 0 && statuses[i].MPI_TAG >= 20) got(&statuses[i]);
  /* Sendrecv, persistent, and probed. */
  MPI_Sendrecv(data, 400, MPI_CHAR, next, 4, in[0], 65536, MPI_CHAR, before, 4, MPI_COMM_WORLD, &status);
  got(&status);
  MPI_Send_init(data, 401, MPI_CHAR, next, 5, MPI_COMM_WORLD, &sending[0]);
  MPI_Recv_init(in[0], 65536, MPI_CHAR, before, 5, MPI_COMM_WORLD, &requests[0]);
  for (int i = 0; i < 3; i++) {
    MPI_Start(&requests[0]);
    MPI_Start(&sending[0]);
    MPI_Wait(&requests[0], &status);
    got(&status);
    MPI_Wait(&sending[0], MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&sending[0]);
  MPI_Message message;
  MPI_Isend(data, 500, MPI_CHAR, next, 6, MPI_COMM_WORLD, &sending[0]);
  MPI_Mprobe(MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  MPI_Mrecv(in[0], 65536, MPI_CHAR, &message, &status);
  got(&status);
  MPI_Wait(&sending[0], MPI_STATUS_IGNORE);
  MPI_Sendrecv(data, 9, MPI_CHAR, MPI_PROC_NULL, 7, in[0], 1, MPI_CHAR, MPI_PROC_NULL, 7, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  /* Tested for until another rank has slept, in loops of which most tests are not timed; with a status and
   * without. */
  for (int i = 0; i < 16; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    int partner = me ^ 1;
    if (partner >= size) continue;
    if ((me + i) % 2 == 0) {
      usleep(1000);
      MPI_Send(data, 600 + i, MPI_CHAR, partner, 8, MPI_COMM_WORLD);
      continue;
    }
    int wanted = i < 8;
    MPI_Irecv(in[0], 65536, MPI_CHAR, partner, 8, MPI_COMM_WORLD, &requests[0]);
    for (flag = 0; !flag;) {
      if (i % 4 < 2)
        MPI_Test(&requests[0], &flag, wanted ? &status : MPI_STATUS_IGNORE);
      else
        MPI_Testany(1, requests, &index, &flag, wanted ? &status : MPI_STATUS_IGNORE);
    }
    if (wanted)
      got(&status);
    else
      printf("got %d %d %d\n", me, partner, 600 + i);
  }
  /* The first of several to come is not the one that is tested for, or one of a few or many that are. */
  for (int asked = 1; asked <= 6; asked++) {
    for (int turn = 0; turn < 2; turn++) {
      MPI_Barrier(MPI_COMM_WORLD);
      int partner = me ^ 1;
      if (partner >= size) continue;
      if ((me + turn) % 2 == 0) {
        usleep(500);
        for (int i = 6; i >= 0; i--)
          MPI_Send(data, 700 + 10 * asked + i, MPI_CHAR, partner, 30 + i, MPI_COMM_WORLD);
        if (asked % 2 == 0) usleep(1000);
        MPI_Send(data, 780, MPI_CHAR, partner, 40, MPI_COMM_WORLD);
        continue;
      }
      for (int i = 0; i < 7; i++)
        MPI_Irecv(in[i], 65536, MPI_CHAR, partner, 30 + i, MPI_COMM_WORLD, &requests[i]);
      MPI_Irecv(in[7], 65536, MPI_CHAR, partner, 40, MPI_COMM_WORLD, &requests[7]);
      for (flag = 0; !flag;) MPI_Test(&requests[7], &flag, &status);
      got(&status);
      for (int left = 7; left > 0; left--) {
        int from = left < asked ? left : asked;
        for (flag = 0; !flag;) MPI_Testany(from, requests, &index, &flag, &status);
        got(&status);
        for (int i = index; i + 1 < left; i++) requests[i] = requests[i + 1];
      }
    }
  }
  long sum = me, all;
  MPI_Allreduce(&sum, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  MPI_Comm_free(&second);
  MPI_Finalize();
  return all == (long)size * (size - 1) / 2 ? 0 : 1;
}
