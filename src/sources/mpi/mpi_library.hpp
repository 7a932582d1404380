// The MPI library of this process: its header, and the functions and objects of it that the shim itself uses.
//
// The shim refers to no symbol of an MPI library. It is also preloaded into programs without MPI, and where a module
// that is loaded with a scope of its own (dlopen with RTLD_LOCAL, as Python's are) brings the library along, no such
// reference would ever be bound.
#pragma once

#include <mpi.h>

// clang-format off
#define SUBSTRATA_MPI_FUNCTIONS(one)                                                                          \
  one(Allgather) one(Allreduce) one(Alltoall) one(Barrier) one(Bcast) one(Comm_dup) one(Comm_free)            \
  one(Comm_get_parent) one(Comm_group) one(Comm_rank) one(Comm_remote_group) one(Comm_size)                   \
  one(Comm_test_inter) one(Get_count) one(Get_library_version) one(Group_free) one(Group_size)                \
  one(Group_translate_ranks) one(Irecv) one(Isend) one(Query_thread) one(Recv) one(Recv_init) one(Reduce)     \
  one(Request_free) one(Request_get_status) one(Send) one(Send_init) one(Test_cancelled)           \
  one(Type_get_envelope) one(Type_size) one(Wait)
#ifdef OPEN_MPI
#define SUBSTRATA_MPI_OBJECTS(one)                                                                            \
  one(ompi_mpi_comm_world) one(ompi_mpi_comm_self) one(ompi_mpi_comm_null) one(ompi_message_no_proc)          \
  one(ompi_message_null) one(ompi_mpi_byte) one(ompi_mpi_char) one(ompi_mpi_int) one(ompi_mpi_long)           \
  one(ompi_mpi_unsigned_long) one(ompi_mpi_op_min) one(ompi_mpi_op_sum)
#else
#define SUBSTRATA_MPI_OBJECTS(one)
#endif
// clang-format on

namespace substrata::mpi {

// PMPI_Send is Send, and so on; and the objects whose addresses are constants of Open MPI.
struct Library {
#define SUBSTRATA_ONE(name) decltype(&::PMPI_##name) name = nullptr;
  SUBSTRATA_MPI_FUNCTIONS(SUBSTRATA_ONE)
#undef SUBSTRATA_ONE
#define SUBSTRATA_ONE(name) void* name = nullptr;
  SUBSTRATA_MPI_OBJECTS(SUBSTRATA_ONE)
#undef SUBSTRATA_ONE
};
inline constinit Library found_library;
// Only after find_library() has returned true.
inline const Library& pmpi() { return found_library; }
// False when the process has another MPI library than this shim's, none, or one that lacks a function. Once, before
// anything is counted.
bool find_library() noexcept;

// The next definition of a function after the shim's: another tool's or the library's own. Where that is loaded with a
// scope of its own, the one that `caller` (an address in its code) would find, else that of any loaded object. The
// object then stays loaded. Null: there is none. Thread-safe.
void* next_definition(const char* name, const void* caller) noexcept;
// An object of this shim's MPI library, also of one loaded with a scope of its own; null: there is none.
void* object_of_library(const char* name) noexcept;

}  // namespace substrata::mpi

#ifdef OPEN_MPI
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) (static_cast<type>(::substrata::mpi::pmpi().global))
#endif
