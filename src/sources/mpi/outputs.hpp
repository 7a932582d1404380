// Where a job's files go.
#pragma once

#include <string>

namespace substrata::mpi {

struct Shim;

// Finds out whether another program has spawned this one; collective.
void name_job(Shim& self);
// The path that an environment variable names, "" where it names none. Spawned ranks have inherited their
// parents' environment: their files are called after them, so that they do not replace the parents'.
std::string output_path(const Shim& self, const char* variable);

}  // namespace substrata::mpi
