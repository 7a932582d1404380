// Sets the function that Open MPI calls when a request is complete, in whatever call that happens.
#include "sources/mpi/completion_callbacks.hpp"

#include <cstddef>

#include "sources/mpi/mpi_library.hpp"
#include "sources/mpi/requests.hpp"

namespace substrata::mpi {

#ifdef OPEN_MPI
namespace {

// The beginning of a request, as Open MPI 4.1's ompi/request/request.h lays it out.
struct RequestLayout {
  enum { kActive = 2 };
  void* links[7];
  int type;
  MPI_Status status;
  void* volatile complete;  // null while it is not
  volatile int state;
  bool persistent;
  int fortran_index;
  void* start;
  void* free;
  void* cancel;
  int (*when_complete)(MPI_Request);  // called once, null from then on; returns 0
  void* of_its_owner;
  MPI_Comm comm;
};
static_assert(sizeof(void*) != 8 || offsetof(RequestLayout, comm) == 152);
RequestLayout& laid_out(MPI_Request request) { return *reinterpret_cast<RequestLayout*>(request); }

bool call_when_complete(MPI_Request request, int (*function)(MPI_Request)) {
  RequestLayout& one = laid_out(request);
  const bool open =
      one.complete == nullptr && one.state == RequestLayout::kActive && one.when_complete == nullptr;
  if (open) one.when_complete = function;
  return open;
}
int on_completion(MPI_Request request) {
  completed_by_callback(request, laid_out(request).status);
  return 0;
}

constexpr int kTag = 4711;
MPI_Request tried = nullptr;
int on_trial(MPI_Request request) {
  if (laid_out(request).status.MPI_TAG == kTag) tried = request;
  return 0;
}

}  // namespace

bool callbacks_work() {
  MPI_Request request = nullptr;
  if (pmpi().Irecv(nullptr, 0, MPI_BYTE, 0, kTag, MPI_COMM_SELF, &request) != MPI_SUCCESS) return false;
  MPI_Request const asked = request;
  const bool known = laid_out(asked).comm == MPI_COMM_SELF && call_when_complete(asked, on_trial);
  pmpi().Send(nullptr, 0, MPI_BYTE, 0, kTag, MPI_COMM_SELF);
  pmpi().Wait(&request, MPI_STATUS_IGNORE);
  return known && tried == asked;
}
bool add_callback(MPI_Request request) { return call_when_complete(request, on_completion); }
bool remove_callback(MPI_Request request) {
  RequestLayout& one = laid_out(request);
  if (one.when_complete != on_completion) return false;
  one.when_complete = nullptr;
  return true;
}
#else
bool callbacks_work() { return false; }
bool add_callback(MPI_Request) { return false; }
bool remove_callback(MPI_Request) { return false; }
#endif

}  // namespace substrata::mpi
