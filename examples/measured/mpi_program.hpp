// The main of an MPI program whose failure ends all ranks.
#pragma once

#include <mpi.h>

#include <exception>
#include <iostream>

namespace measured {

// Runs `run` between MPI_Init and MPI_Finalize and gives its exit status. An exception is printed under the program's
// `name` and ends every rank.
inline int mpi_program(const char* name, int (*run)(int argc, char** argv), int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int status = 1;
  try {
    status = run(argc, argv);
  } catch (const std::exception& error) {
    // One rank that gives up would leave the others waiting for it.
    std::cerr << name << ": " << error.what() << "\n";
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}

}  // namespace measured
