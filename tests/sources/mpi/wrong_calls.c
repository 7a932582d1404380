/* An MPI program that calls with null pointers where requests belong, also in a loop of tests: the MPI library refuses
 * each call. Ends with the number of calls that were not refused. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int me, flag, index, count, wrong = 0, indices[2];
  char in[8];
  MPI_Request request;
  MPI_Status status, statuses[2];
  MPI_Request* const none = NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Irecv(in, 8, MPI_CHAR, me, 3, MPI_COMM_WORLD, &request);
  for (int i = 0; i < 200; i++) MPI_Test(&request, &flag, &status);
  wrong += MPI_Test(none, &flag, &status) == MPI_SUCCESS;
  for (int i = 0; i < 200; i++) MPI_Test(&request, &flag, &status);
  wrong += MPI_Testany(1, none, &index, &flag, &status) == MPI_SUCCESS;
  for (int i = 0; i < 200; i++) MPI_Test(&request, &flag, &status);
  wrong += MPI_Testany(2, none, &index, &flag, &status) == MPI_SUCCESS;
  wrong += MPI_Wait(none, &status) == MPI_SUCCESS;
  wrong += MPI_Waitall(2, none, statuses) == MPI_SUCCESS;
  wrong += MPI_Waitany(2, none, &index, &status) == MPI_SUCCESS;
  wrong += MPI_Waitsome(2, none, &count, indices, statuses) == MPI_SUCCESS;
  wrong += MPI_Testall(2, none, &flag, statuses) == MPI_SUCCESS;
  wrong += MPI_Testsome(2, none, &count, indices, statuses) == MPI_SUCCESS;
  wrong += MPI_Start(none) == MPI_SUCCESS;
  wrong += MPI_Startall(2, none) == MPI_SUCCESS;
  wrong += MPI_Request_free(none) == MPI_SUCCESS;
  wrong += MPI_Cancel(none) == MPI_SUCCESS;
  MPI_Send(in, 8, MPI_CHAR, me, 3, MPI_COMM_WORLD);
  MPI_Wait(&request, &status);
  printf("%d calls were not refused\n", wrong);
  MPI_Finalize();
  return wrong;
}
