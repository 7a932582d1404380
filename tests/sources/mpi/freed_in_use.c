/* Every handle that a pending operation uses is freed before the operation ends: it completes all the same. The
   word names the kind of handle. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { kTimes = 50 };
static int rank, ranks, next, last, wrong;

static void expect(int is, int wanted) { wrong += is != wanted; }

static MPI_Comm own_communicator(void) {
  MPI_Comm out;
  MPI_Comm_dup(MPI_COMM_WORLD, &out);
  return out;
}

static void communicator(int from) {
  MPI_Comm comm = own_communicator();
  MPI_Request in, out;
  int got = -1;
  MPI_Irecv(&got, 1, MPI_INT, from, 3, comm, &in);
  MPI_Isend(&rank, 1, MPI_INT, next, 3, comm, &out);
  MPI_Comm_free(&comm);
  MPI_Wait(&in, MPI_STATUS_IGNORE);
  MPI_Wait(&out, MPI_STATUS_IGNORE);
  expect(got, last);
}

static void datatype(void) {
  MPI_Datatype type;
  MPI_Request in, out;
  int got[2] = {-1, -1};
  const int mine[2] = {rank, rank + 1};
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Irecv(got, 1, type, last, 4, MPI_COMM_WORLD, &in);
  MPI_Isend(mine, 1, type, next, 4, MPI_COMM_WORLD, &out);
  MPI_Type_free(&type);
  MPI_Wait(&in, MPI_STATUS_IGNORE);
  MPI_Wait(&out, MPI_STATUS_IGNORE);
  expect(got[1], last + 1);
}

static void persistent(void) {
  MPI_Comm comm = own_communicator();
  MPI_Datatype type;
  MPI_Request both[2];
  int got[2];
  const int mine[2] = {rank, rank + 1};
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Recv_init(got, 1, type, last, 5, comm, &both[0]);
  MPI_Send_init(mine, 1, type, next, 5, comm, &both[1]);
  MPI_Type_free(&type);
  MPI_Comm_free(&comm);
  for (int i = 0; i < 3; ++i) {
    got[1] = -1;
    MPI_Startall(2, both);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    expect(got[1], last + 1);
  }
  MPI_Request_free(&both[0]);
  MPI_Request_free(&both[1]);
}

static void probed(void) {
  MPI_Comm comm = own_communicator();
  MPI_Message message;
  MPI_Request out;
  int got = -1;
  MPI_Isend(&rank, 1, MPI_INT, next, 6, comm, &out);
  MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &message, MPI_STATUS_IGNORE);
  MPI_Comm_free(&comm);
  MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  MPI_Wait(&out, MPI_STATUS_IGNORE);
  expect(got, last);
}

static void request(void) {
  MPI_Request in, out;
  int got = -1;
  MPI_Irecv(&got, 1, MPI_INT, last, 7, MPI_COMM_WORLD, &in);
  MPI_Isend(&rank, 1, MPI_INT, next, 7, MPI_COMM_WORLD, &out);
  MPI_Request_free(&out);
  MPI_Wait(&in, MPI_STATUS_IGNORE);
  expect(got, last);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void window(void) {
  MPI_Comm comm = own_communicator();
  MPI_Group group, one;
  MPI_Win win;
  MPI_Comm of_group;
  MPI_Request in, out;
  int there = -1, got = -1;
  MPI_Win_create(&there, sizeof there, sizeof there, MPI_INFO_NULL, comm, &win);
  MPI_Comm_group(comm, &group);
  MPI_Group_incl(group, 1, &rank, &one);
  MPI_Comm_free(&comm);
  MPI_Win_fence(0, win);
  MPI_Put(&rank, 1, MPI_INT, next, 0, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  expect(there, last);
  MPI_Comm_create(MPI_COMM_WORLD, group, &of_group);
  MPI_Irecv(&got, 1, MPI_INT, last, 8, of_group, &in);
  MPI_Isend(&rank, 1, MPI_INT, next, 8, of_group, &out);
  MPI_Win_free(&win);
  MPI_Group_free(&group);
  MPI_Group_free(&one);
  MPI_Comm_free(&of_group);
  MPI_Wait(&in, MPI_STATUS_IGNORE);
  MPI_Wait(&out, MPI_STATUS_IGNORE);
  expect(got, last);
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  next = (rank + 1) % ranks;
  last = (rank + ranks - 1) % ranks;
  const char* const kind = count > 1 ? words[1] : "";
  for (int i = 0; i < kTimes; ++i) {
    if (strcmp(kind, "communicator") == 0) communicator(last);
    if (strcmp(kind, "any-source") == 0) communicator(MPI_ANY_SOURCE);
    if (strcmp(kind, "datatype") == 0) datatype();
    if (strcmp(kind, "persistent") == 0) persistent();
    if (strcmp(kind, "probed") == 0) probed();
    if (strcmp(kind, "request") == 0) request();
    if (strcmp(kind, "window-and-group") == 0) window();
  }
  if (wrong == 0) printf("whole\n");
  MPI_Finalize();
  return wrong != 0;
}
