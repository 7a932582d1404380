// How the shim stands before a function of the MPI library: the macros that define the wrapped functions.
//
// Open MPI's Fortran bindings call the PMPI_ names of the C functions, so there the shim stands before both
// names; MPICH's call the MPI_ names. A call within a call is passed on untouched.
#pragma once

#include <dlfcn.h>

#include "sources/mpi/call_time.hpp"
#include "sources/mpi/mpi_library.hpp"
#include "sources/mpi/shim.hpp"

namespace substrata::mpi {

// The next definition of a function after ours: another tool's, or the library's own.
template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace substrata::mpi

// clang-format off
#define EXPORT extern "C" __attribute__((visibility("default")))
#define STAND_BEFORE(symbol, guard_type, parameters, arguments, ...)          \
  EXPORT LOOK_AT(symbol, symbol, guard_type, parameters, arguments, __VA_ARGS__)
#define LOOK_AT(name, symbol, guard_type, parameters, arguments, ...)         \
  int name parameters {                                                       \
    static auto* const original = next<decltype(symbol)>(#symbol);            \
    if (Call::inside()) return original arguments;                            \
    [[maybe_unused]] void* const site = __builtin_return_address(0);          \
    [[maybe_unused]] const guard_type guard;                                  \
    __VA_ARGS__                                                               \
  }
#ifdef OPEN_MPI
#define BOTH_NAMES(stand, name, ...) stand(MPI_##name, __VA_ARGS__) stand(PMPI_##name, __VA_ARGS__)
#else
#define BOTH_NAMES(stand, name, ...) stand(MPI_##name, __VA_ARGS__)
#endif
#define EACH(name, guard_type, parameters, arguments, ...)                    \
  BOTH_NAMES(STAND_BEFORE, name, guard_type, parameters, arguments, __VA_ARGS__)
#define CALL(name, parameters, arguments, ...) EACH(name, Call, parameters, arguments, __VA_ARGS__)
#define POLL(name, parameters, arguments, ...) EACH(name, Poll, parameters, arguments, __VA_ARGS__)
// Something is done before, and the call passed on.
#define CALL_AFTER(name, parameters, arguments, before)                       \
  CALL(name, parameters, arguments, unharmed([&] { before; }); return original arguments;)
// clang-format on
