/* Four messages from rank 0 to the others: an int, a double, three characters, and every second of four doubles. */
#include <mpi.h>

int main(int argc, char** argv) {
  int me, size, i;
  int number = 1234;
  double half = 0.5, four[4] = {1, 2, 3, 4};
  char text[3] = {'a', 'b', 'c'};
  MPI_Datatype second;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &second);
  MPI_Type_commit(&second);
  if (me == 0) {
    for (i = 1; i < size; ++i) {
      MPI_Send(&number, 1, MPI_INT, i, 1, MPI_COMM_WORLD);
      MPI_Isend(&half, 1, MPI_DOUBLE, i, 2, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Ssend(text, 3, MPI_CHAR, i, 3, MPI_COMM_WORLD);
      MPI_Send(four, 1, second, i, 4, MPI_COMM_WORLD);
      MPI_Send(0, 0, MPI_INT, i, 5, MPI_COMM_WORLD);
    }
  } else {
    MPI_Recv(&number, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(&half, 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(text, 3, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(four, 1, second, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(0, 0, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Type_free(&second);
  MPI_Finalize();
  return 0;
}
