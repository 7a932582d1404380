// The MPI library's header, for a library that is also preloaded into programs without MPI.
#pragma once

#include <mpi.h>

#ifdef OPEN_MPI
// The constants are addresses of the library's objects. Weak, so that preloading into a program without MPI
// does no harm.
#pragma weak ompi_mpi_comm_world
#pragma weak ompi_mpi_comm_self
#pragma weak ompi_mpi_byte
#pragma weak ompi_mpi_char
#pragma weak ompi_mpi_int
#pragma weak ompi_mpi_unsigned_long
#pragma weak ompi_mpi_long
#pragma weak ompi_mpi_comm_null
#pragma weak ompi_message_no_proc
#pragma weak ompi_message_null
#pragma weak ompi_mpi_op_min
#pragma weak ompi_mpi_op_sum
#endif
