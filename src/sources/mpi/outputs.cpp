// A spawned job is named by the process number of its rank 0.
#include "sources/mpi/outputs.hpp"

#include <unistd.h>

#include <cstdlib>

#include "base/environment.hpp"
#include "sources/mpi/shim.hpp"

namespace substrata::mpi {

void name_job(Shim& self) {
  MPI_Comm parent = MPI_COMM_NULL;
  pmpi().Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL) return;
  self.spawned_as = getpid();
  if (self.together) pmpi().Bcast(&self.spawned_as, 1, MPI_LONG, 0, MPI_COMM_WORLD);
}

std::string output_path(const Shim& self, const char* variable) {
  const char* const path = environment(variable);
  std::string out = path != nullptr ? path : "";
  if (!out.empty() && self.spawned_as != 0) out += ".spawned-" + std::to_string(self.spawned_as);
  return out;
}

}  // namespace substrata::mpi
