/* The plain way to count a program's messages, for comparison: wraps MPI's send functions by its profiling
 * interface and writes at MPI_Finalize "messages bytes" to the file $PMPI_COUNTER.<rank>. Sees no collective
 * operation. mpicc -shared -fPIC, preloaded. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static long messages, bytes;

static void count(int number, MPI_Datatype type, int to) {
  int size;
  if (to == MPI_PROC_NULL) return;
  PMPI_Type_size(type, &size);
  messages++;
  bytes += (long)number * size;
}

#define SEND(name)                                                                                  \
  int MPI_##name(const void* data, int number, MPI_Datatype type, int to, int tag, MPI_Comm comm) { \
    count(number, type, to);                                                                        \
    return PMPI_##name(data, number, type, to, tag, comm);                                          \
  }
#define ISEND(name)                                                                               \
  int MPI_##name(const void* data, int number, MPI_Datatype type, int to, int tag, MPI_Comm comm, \
                 MPI_Request* request) {                                                          \
    count(number, type, to);                                                                      \
    return PMPI_##name(data, number, type, to, tag, comm, request);                               \
  }
SEND(Send)
SEND(Ssend)
SEND(Rsend)
SEND(Bsend)
ISEND(Isend)
ISEND(Issend)
ISEND(Irsend)
ISEND(Ibsend)

int MPI_Sendrecv(const void* data, int number, MPI_Datatype type, int to, int tag, void* in, int in_number,
                 MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm, MPI_Status* status) {
  count(number, type, to);
  return PMPI_Sendrecv(data, number, type, to, tag, in, in_number, in_type, from, in_tag, comm, status);
}

/* One persistent send at a time is enough here. */
static MPI_Request persistent = MPI_REQUEST_NULL;
static int persistent_number, persistent_to;
static MPI_Datatype persistent_type;
int MPI_Send_init(const void* data, int number, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  int result = PMPI_Send_init(data, number, type, to, tag, comm, request);
  persistent = *request;
  persistent_number = number;
  persistent_to = to;
  persistent_type = type;
  return result;
}
int MPI_Start(MPI_Request* request) {
  if (*request == persistent) count(persistent_number, persistent_type, persistent_to);
  return PMPI_Start(request);
}

int MPI_Finalize(void) {
  const char* name = getenv("PMPI_COUNTER");
  if (name != NULL) {
    int rank;
    char path[4096];
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s.%d", name, rank);
    FILE* file = fopen(path, "w");
    if (file != NULL) {
      fprintf(file, "%ld %ld\n", messages, bytes);
      fclose(file);
    }
  }
  return PMPI_Finalize();
}
