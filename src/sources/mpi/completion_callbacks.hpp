// Receives whose completion Open MPI reports by calling a function, so that no test of them need be looked
// at.
#pragma once

#include "sources/mpi/mpi_library.hpp"

namespace substrata::mpi {

// All three are for one thread.

// The MPI library's requests are laid out as the shim knows them, found out with a message from this rank to
// itself. Other MPI libraries: false.
bool callbacks_work();
// From now on completed_by_callback is called for the receive, in whatever call of the MPI library it ends.
// False when it has ended.
bool add_callback(MPI_Request request);
// Takes that back; false when there was none.
bool remove_callback(MPI_Request request);

}  // namespace substrata::mpi
