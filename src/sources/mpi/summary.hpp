// The summary file of all ranks, which SUBSTRATA_MPI_SUMMARY asks for.
#pragma once

namespace substrata::mpi {

struct Shim;

// Rank 0 decides, and writes the file. Collective.
void write_summary(const Shim& self);

}  // namespace substrata::mpi
