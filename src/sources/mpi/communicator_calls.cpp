// The calls that make and free communicators: all members make them in the same order, which gives them one
// number.
#include "sources/mpi/communicators.hpp"
#include "sources/mpi/wrap.hpp"

using namespace substrata::mpi;

// clang-format off
#define MAKES(name, made, parameters, arguments)                                                              \
  CALL(name, parameters, arguments, {                                                                         \
    this_thread.is_setting_up = true;                                                                         \
    const int result = original arguments;                                                                    \
    if (result == MPI_SUCCESS) communicator_made(*made, *made);                                               \
    return result;                                                                                            \
  })
MAKES(Comm_dup, out, (MPI_Comm comm, MPI_Comm* out), (comm, out))
MAKES(Comm_dup_with_info, out, (MPI_Comm comm, MPI_Info info, MPI_Comm* out), (comm, info, out))
MAKES(Comm_split, out, (MPI_Comm comm, int colour, int key, MPI_Comm* out), (comm, colour, key, out))
MAKES(Comm_split_type, out, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* out),
      (comm, type, key, info, out))
MAKES(Comm_create, out, (MPI_Comm comm, MPI_Group group, MPI_Comm* out), (comm, group, out))
MAKES(Comm_create_group, out, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* out), (comm, group, tag, out))
MAKES(Cart_create, out, (MPI_Comm comm, int dimensions, const int sizes[], const int periods[], int reorder,
                         MPI_Comm* out), (comm, dimensions, sizes, periods, reorder, out))
MAKES(Cart_sub, out, (MPI_Comm comm, const int kept[], MPI_Comm* out), (comm, kept, out))
MAKES(Graph_create, out, (MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder,
                          MPI_Comm* out), (comm, nodes, index, edges, reorder, out))
MAKES(Intercomm_create, out, (MPI_Comm comm, int leader, MPI_Comm peer, int remote, int tag, MPI_Comm* out),
      (comm, leader, peer, remote, tag, out))
MAKES(Intercomm_merge, out, (MPI_Comm comm, int high, MPI_Comm* out), (comm, high, out))
MAKES(Dist_graph_create, out, (MPI_Comm comm, int count, const int sources[], const int degrees[],
                               const int destinations[], const int weights[], MPI_Info info, int reorder,
                               MPI_Comm* out),
      (comm, count, sources, degrees, destinations, weights, info, reorder, out))
MAKES(Dist_graph_create_adjacent, out, (MPI_Comm comm, int in, const int sources[], const int source_weights[],
                                        int degree, const int destinations[], const int weights[], MPI_Info info,
                                        int reorder, MPI_Comm* out),
      (comm, in, sources, source_weights, degree, destinations, weights, info, reorder, out))
// Not usable before its request is complete, but known by its handle and its ranks.
#define DUPLICATES(name, parameters, arguments)                                                               \
  CALL(name, parameters, arguments, {                                                                         \
    this_thread.is_setting_up = true;                                                                         \
    const int result = original arguments;                                                                    \
    if (result == MPI_SUCCESS) communicator_made(*out, comm);                                                 \
    return result;                                                                                            \
  })
DUPLICATES(Comm_idup, (MPI_Comm comm, MPI_Comm* out, MPI_Request* request), (comm, out, request))
#if MPI_VERSION >= 4
DUPLICATES(Comm_idup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm* out, MPI_Request* request),
           (comm, info, out, request))
#endif
CALL_AFTER(Comm_free, (MPI_Comm* comm), (comm), if (comm != nullptr) communicator_given_up(*comm))
CALL_AFTER(Comm_disconnect, (MPI_Comm* comm), (comm), if (comm != nullptr) communicator_given_up(*comm))
// clang-format on
