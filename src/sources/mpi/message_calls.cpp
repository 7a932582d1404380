// The calls that send, receive and start messages of the program's own.
#include "sources/mpi/messages.hpp"
#include "sources/mpi/requests.hpp"
#include "sources/mpi/wrap.hpp"

using namespace substrata::mpi;

// clang-format off
#define SENDS(name)                                                                                           \
  CALL_AFTER(name, (const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm),          \
             (data, count, type, to, tag, comm),                                                              \
             (called(comm, to, static_cast<size_t>(count), type, tag, site),                                  \
              show_contents(data, comm, to, static_cast<size_t>(count), type, site)))
SENDS(Send)
SENDS(Ssend)
SENDS(Bsend)
SENDS(Rsend)
#define ISENDS(name)                                                                                          \
  CALL_AFTER(name, (const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,           \
                    MPI_Request* request),                                                                    \
             (data, count, type, to, tag, comm, request),                                                     \
             (called(comm, to, static_cast<size_t>(count), type, tag, site),                                  \
              show_contents(data, comm, to, static_cast<size_t>(count), type, site)))
ISENDS(Isend)
ISENDS(Issend)
ISENDS(Ibsend)
ISENDS(Irsend)
#define SEND_INITS(name)                                                                                      \
  CALL(name, (const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,                 \
              MPI_Request* request),                                                                          \
       (data, count, type, to, tag, comm, request), {                                                         \
         const int result = original(data, count, type, to, tag, comm, request);                              \
         if (result == MPI_SUCCESS) persistent_send(*request, comm, to, tag, count, type);                    \
         return result;                                                                                       \
       })
SEND_INITS(Send_init)
SEND_INITS(Ssend_init)
SEND_INITS(Bsend_init)
SEND_INITS(Rsend_init)
CALL(Recv_init, (void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request),
     (data, count, type, from, tag, comm, request), {
       const int result = original(data, count, type, from, tag, comm, request);
       if (result == MPI_SUCCESS) persistent_receive(*request, comm, from, tag);
       return result;
     })
CALL_AFTER(Start, (MPI_Request* request), (request), if (request != nullptr) started(*request, site))
CALL_AFTER(Startall, (int count, MPI_Request requests[]), (count, requests),
           for (int i = 0; requests != nullptr && i < count; ++i) started(requests[i], site))
CALL_AFTER(Request_free, (MPI_Request* request), (request), {
  if (request != nullptr) {
    forget(*request);
    persistent_freed(*request);
  }
})
CALL(Cancel, (MPI_Request* request), (request), {
  const int result = original(request);
  if (result == MPI_SUCCESS) cancelled(*request);
  return result;
})

CALL(Recv, (void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status),
     (data, count, type, from, tag, comm, status), {
       const PostedReceive one = posted(comm, from, tag, site);
       MPI_Status own;
       MPI_Status* const out = status == MPI_STATUS_IGNORE ? &own : status;
       const int result = original(data, count, type, from, tag, comm, out);
       if (result == MPI_SUCCESS) received(one, *out);
       return result;
     })
CALL(Irecv, (void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request),
     (data, count, type, from, tag, comm, request), {
       const PostedReceive one = posted(comm, from, tag, site);
       const int result = original(data, count, type, from, tag, comm, request);
       if (result == MPI_SUCCESS && from != MPI_PROC_NULL) remember(*request, one);
       return result;
     })
CALL(Sendrecv, (const void* data, int count, MPI_Datatype type, int to, int tag, void* in, int in_count,
                MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm, MPI_Status* status),
     (data, count, type, to, tag, in, in_count, in_type, from, in_tag, comm, status), {
       called(comm, to, static_cast<size_t>(count), type, tag, site);
       show_contents(data, comm, to, static_cast<size_t>(count), type, site);
       const PostedReceive one = posted(comm, from, in_tag, site);
       MPI_Status own;
       MPI_Status* const out = status == MPI_STATUS_IGNORE ? &own : status;
       const int result = original(data, count, type, to, tag, in, in_count, in_type, from, in_tag, comm, out);
       if (result == MPI_SUCCESS) received(one, *out);
       return result;
     })
CALL(Sendrecv_replace, (void* data, int count, MPI_Datatype type, int to, int tag, int from, int in_tag,
                        MPI_Comm comm, MPI_Status* status),
     (data, count, type, to, tag, from, in_tag, comm, status), {
       called(comm, to, static_cast<size_t>(count), type, tag, site);
       show_contents(data, comm, to, static_cast<size_t>(count), type, site);
       const PostedReceive one = posted(comm, from, in_tag, site);
       MPI_Status own;
       MPI_Status* const out = status == MPI_STATUS_IGNORE ? &own : status;
       const int result = original(data, count, type, to, tag, from, in_tag, comm, out);
       if (result == MPI_SUCCESS) received(one, *out);
       return result;
     })
// clang-format on
