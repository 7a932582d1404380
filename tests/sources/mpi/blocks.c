/* An MPI program whose collective calls have a block of its own size for each rank, blocking and not; prints
 * the messages and bytes that each rank sends in them by the algorithms that the shim documents: one message
 * a block that is not empty, allgatherv by a ring, scan by a chain. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST 8
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int me, size, counts[MOST], places[MOST], to[MOST], from[MOST], to_at[MOST], from_at[MOST];
  static char out[100000], in[100000];
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > MOST) return 2;
  long messages = 0, bytes = 0;
  int total = 0;
  for (int i = 0; i < size; i++) {
    counts[i] = i == 1 ? 0 : 10 * (i + 1); /* rank 1 has nothing */
    places[i] = total;
    total += counts[i];
  }
  MPI_Gatherv(out, counts[me], MPI_CHAR, in, counts, places, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (me != 0 && counts[me] > 0) messages++, bytes += counts[me];
  MPI_Scatterv(out, counts, places, MPI_CHAR, in, counts[me], MPI_CHAR, size - 1, MPI_COMM_WORLD);
  if (me == size - 1)
    for (int i = 0; i < size - 1; i++)
      if (counts[i] > 0) messages++, bytes += counts[i];
  MPI_Allgatherv(out, counts[me], MPI_CHAR, in, counts, places, MPI_CHAR, MPI_COMM_WORLD);
  for (int i = 0; i < size; i++)
    if (i != (me + 1) % size && counts[i] > 0) messages++, bytes += counts[i];
  int to_total = 0, from_total = 0;
  for (int i = 0; i < size; i++) {
    to[i] = me * 3 + i; /* rank 0 sends itself nothing */
    from[i] = i * 3 + me;
    to_at[i] = to_total;
    from_at[i] = from_total;
    to_total += to[i];
    from_total += from[i];
  }
  MPI_Alltoallv(out, to, to_at, MPI_CHAR, in, from, from_at, MPI_CHAR, MPI_COMM_WORLD);
  MPI_Request request;
  MPI_Ialltoallv(out, to, to_at, MPI_CHAR, in, from, from_at, MPI_CHAR, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < size; i++)
    if (i != me && to[i] > 0) messages += 2, bytes += 2 * to[i];
  MPI_Reduce_scatter(out, in, counts, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD);
  for (int i = 0; i < size; i++)
    if (i != me && counts[i] > 0) messages++, bytes += counts[i];
  double value = me, sum;
  MPI_Scan(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (me + 1 < size) messages++, bytes += 8;
  MPI_Datatype types[MOST];
  for (int i = 0; i < size; i++) types[i] = MPI_CHAR;
  MPI_Alltoallw(out, to, to_at, types, in, from, from_at, types, MPI_COMM_WORLD);
  for (int i = 0; i < size; i++)
    if (i != me && to[i] > 0) messages++, bytes += to[i];
  MPI_Finalize();
  printf("sent %d %ld %ld\n", me, messages, bytes);
  return sum == (double)me * (me + 1) / 2 ? 0 : 1;
}
