// Level 2: the messages of Open MPI's point-to-point layer.
#pragma once

namespace substrata::mpi {

// True when this process runs the series of Open MPI whose table is known, and the table is now ours.
bool hook_layer();
void unhook_layer();

}  // namespace substrata::mpi
