/* An MPI program that reads the myrinet counters of its rank by PAPI, counts its own messages, and reduces
 * both over MPI. Rank 0 prints "papi" and "own": packets and bytes sent, packets and bytes received, of all
 * ranks; every rank's counters with and without node= must be the same. Collective operations are kept out of
 * the counting. */
#include <mpi.h>
#include <papi.h>
#include <stdio.h>
#include <stdlib.h>

static void demand(int right, const char* what) {
  if (right) return;
  fprintf(stderr, "%s failed\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int me, size, set = PAPI_NULL;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char own_node[64];
  snprintf(own_node, sizeof own_node, "myrinet:::PACKETS_SENT:node=%d", me);
  demand(PAPI_library_init(PAPI_VER_CURRENT) == PAPI_VER_CURRENT, "PAPI_library_init");
  demand(PAPI_create_eventset(&set) == PAPI_OK, "PAPI_create_eventset");
  const char* names[] = {"myrinet:::PACKETS_SENT", "myrinet:::BYTES_SENT", "myrinet:::PACKETS_RECEIVED",
                         "myrinet:::BYTES_RECEIVED", own_node};
  for (int i = 0; i < 5; i++) demand(PAPI_add_named_event(set, names[i]) == PAPI_OK, names[i]);
  char data[10000] = {0}, in[10000];
  /* All clocks and counters begin behind this; a late rank may still count its messages. */
  MPI_Barrier(MPI_COMM_WORLD);
  demand(PAPI_start(set) == PAPI_OK, "PAPI_start");
  long long own[4] = {0};
  for (int round = 0; round < 20; round++) {
    const int bytes = round * 500;
    MPI_Sendrecv(data, bytes, MPI_BYTE, (me + 1) % size, 1, in, bytes, MPI_BYTE, (me + size - 1) % size, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    own[0] += bytes == 0 ? 1 : (bytes + 4095) / 4096;
    own[1] += bytes;
  }
  own[2] = own[0];
  own[3] = own[1];
  long long counts[5];
  demand(PAPI_stop(set, counts) == PAPI_OK, "PAPI_stop");
  demand(counts[0] == counts[4], "the default of node=");
  long long all[4], all_own[4];
  MPI_Reduce(counts, all, 4, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(own, all_own, 4, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (me == 0) {
    printf("papi %lld %lld %lld %lld\n", all[0], all[1], all[2], all[3]);
    printf("own %lld %lld %lld %lld\n", all_own[0], all_own[1], all_own[2], all_own[3]);
  }
  MPI_Finalize();
  return 0;
}
