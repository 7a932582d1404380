/* A program that never initialises the world, only a session (MPI 4). */
#include <mpi.h>
#include <stdio.h>

int main(void) {
#if MPI_VERSION >= 4
  MPI_Session session;
  MPI_Group group;
  MPI_Comm all;
  int rank = 0, ranks = 0, sum = 0, got = -1;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "whole", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &all);
  MPI_Group_free(&group);
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &ranks);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all);
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % ranks, 0, &got, 1, MPI_INT, MPI_ANY_SOURCE, 0, all,
               MPI_STATUS_IGNORE);
  MPI_Comm_free(&all);
  MPI_Session_finalize(&session);
  if (sum == ranks * (ranks - 1) / 2 && got == (rank + ranks - 1) % ranks) printf("whole\n");
  return 0;
#else
  return 1;
#endif
}
