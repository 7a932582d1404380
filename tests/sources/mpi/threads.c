/* An MPI program of two threads a rank that send and receive at the same time, each with a tag and a size of
 * its own. Prints "one thread" and sends nothing where the MPI library allows no more. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

enum { kThreads = 2, kMessages = 500 };
static int me, size;

static void* exchange(void* argument) {
  int thread = *(int*)argument, bytes = 40 + 8 * thread;
  char out[64] = {0}, in[64];
  for (int i = 0; i < kMessages; i++) {
    MPI_Request request;
    MPI_Irecv(in, bytes, MPI_CHAR, (me + size - 1) % size, 10 + thread, MPI_COMM_WORLD, &request);
    MPI_Send(out, bytes, MPI_CHAR, (me + 1) % size, 10 + thread, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (provided < MPI_THREAD_MULTIPLE) {
    if (me == 0) printf("one thread\n");
  } else {
    pthread_t threads[kThreads];
    int numbers[kThreads];
    for (int i = 0; i < kThreads; i++) {
      numbers[i] = i;
      pthread_create(&threads[i], NULL, exchange, &numbers[i]);
    }
    for (int i = 0; i < kThreads; i++) pthread_join(threads[i], NULL);
  }
  MPI_Finalize();
  return 0;
}
