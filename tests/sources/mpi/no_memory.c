/* An MPI program in which C++ finds no memory from MPI_Init to MPI_Finalize: none of MPI's own is. It sends, receives
 * and makes communicators; prints "whole" at the end. With NO_MEMORY_AT_END rank 1 finds none in MPI_Finalize
 * either. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern void* __libc_malloc(size_t);
static volatile int exhausted, refused;

/* The C++ library's operator new is what calls from libstdc++. */
void* malloc(size_t bytes) {
  if (exhausted) {
    Dl_info caller;
    if (dladdr(__builtin_return_address(0), &caller) && caller.dli_fname &&
        strstr(caller.dli_fname, "libstdc++")) {
      refused = 1;
      return NULL;
    }
  }
  return __libc_malloc(bytes);
}

int main(int argc, char** argv) {
  int me, size, sum = 0;
  static char data[4096], in[40][4096];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int next = (me + 1) % size, before = (me + size - 1) % size;
  exhausted = 1;
  for (int round = 0; round < 3; round++) {
    MPI_Request requests[40], persistent[2];
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    for (int i = 0; i < 40; i++) MPI_Irecv(in[i], 4096, MPI_CHAR, before, 10 + i, copy, &requests[i]);
    for (int i = 0; i < 40; i++) MPI_Send(data, 100 * round + i, MPI_CHAR, next, 10 + i, copy);
    MPI_Waitall(40, requests, MPI_STATUSES_IGNORE);
    MPI_Recv_init(in[0], 4096, MPI_CHAR, MPI_ANY_SOURCE, 4, copy, &persistent[0]);
    MPI_Send_init(data, 50 + round, MPI_CHAR, next, 4, copy, &persistent[1]);
    MPI_Startall(2, persistent);
    MPI_Waitall(2, persistent, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2; i++) MPI_Request_free(&persistent[i]);
    MPI_Message message;
    MPI_Isend(data, 70 + round, MPI_CHAR, next, 6, copy, &requests[0]);
    MPI_Mprobe(before, 6, copy, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(in[0], 4096, MPI_CHAR, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, copy);
    puts("====================\n== A section of it ==\n====================");
    MPI_Comm_free(&copy);
  }
  exhausted = getenv("NO_MEMORY_AT_END") != NULL && me == 1;
  MPI_Finalize();
  exhausted = 0;
  if (sum == size * (size - 1) / 2) printf(refused ? "whole, short of memory\n" : "whole\n");
  return 0;
}
