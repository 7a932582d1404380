// How the shim stands before a function of the MPI library: the macros that define the wrapped functions.
//
// Open MPI's Fortran bindings call the PMPI_ names of the C functions, so there the shim stands before both
// names; MPICH's call the MPI_ names.
#pragma once

#include <atomic>

#include "sources/mpi/call_time.hpp"
#include "sources/mpi/mpi_library.hpp"
#include "sources/mpi/shim.hpp"

namespace substrata::mpi {

// Remembers next_definition of one function. What is not there yet may be loaded later.
template <typename Function>
class Next {
 public:
  explicit constexpr Next(const char* name) : name_(name) {}
  // Null: there is none.
  Function* get(const void* caller) {
    Function* found = found_.load(std::memory_order_acquire);
    if (found == nullptr) [[unlikely]] {
      found = reinterpret_cast<Function*>(next_definition(name_, caller));
      found_.store(found, std::memory_order_release);
    }
    return found;
  }

 private:
  const char* const name_;
  std::atomic<Function*> found_{nullptr};
};

// A call is passed on untouched within another call, and where nothing is counted: before MPI_Init and after
// MPI_Finalize, in programs that use sessions only, and in those of another MPI library.
template <typename Guard>
bool passes_on() {
  return Guard::inside() || !shim().counting;
}
// The call with which counting begins.
class FirstCall : public Call {};
template <>
inline bool passes_on<FirstCall>() {
  return Call::inside();
}

}  // namespace substrata::mpi

// clang-format off
#define EXPORT extern "C" __attribute__((visibility("default")))
#define STAND_BEFORE(symbol, guard_type, parameters, arguments, ...)          \
  EXPORT LOOK_AT(symbol, symbol, guard_type, parameters, arguments, __VA_ARGS__)
#define LOOK_AT(name, symbol, guard_type, parameters, arguments, ...)         \
  int name parameters {                                                       \
    [[maybe_unused]] void* const site = __builtin_return_address(0);          \
    static constinit Next<decltype(symbol)> next_one(#symbol);                \
    auto* const original = next_one.get(site);                                \
    if (original == nullptr) return MPI_ERR_OTHER;                            \
    if (passes_on<guard_type>()) return original arguments;                   \
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
