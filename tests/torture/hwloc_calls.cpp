// hwloc's functions that allocate or read, as the library calls them: while one of them runs, this file says so.
// hwloc 2.9 ends the program where an allocation of its own fails, and leaves a folder's descriptor open that
// fdopendir refuses; such faults show nothing about this library. Likewise pfm_initialize for system calls: libpfm 4.13
// ends the program where the read fails that begins in the middle of a line of /proc/mounts.
#include <dlfcn.h>
#include <sys/mman.h>

#include <atomic>
#include <new>

#include "torture.hpp"

namespace substrata::torture {
namespace {

struct State {
  std::atomic<bool> inside{false}, inside_libpfm{false}, tried_too{false};
  std::atomic<std::int64_t> left_out{0}, left_out_to_libpfm{0};
};

// Shared with processes forked later: the one that makes a system call fail is another than the one that calls hwloc.
State* const state =
    new (mmap(nullptr, sizeof(State), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) State;

struct Mark {
  explicit Mark(std::atomic<bool>& flag) : marked(flag) { marked = true; }
  ~Mark() { marked = false; }
  std::atomic<bool>& marked;
};

template <class Result, class... Arguments>
Result inside(Result (*function)(Arguments...), Arguments... arguments) {
  const Mark mark(state->inside);
  return function(arguments...);
}

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// Found before main(), while nothing fails.
int (*const real_init)(void**) = real<int(void**)>("hwloc_topology_init");
int (*const real_load)(void*) = real<int(void*)>("hwloc_topology_load");
void (*const real_destroy)(void*) = real<void(void*)>("hwloc_topology_destroy");
int (*const real_initialize)() = real<int()>("pfm_initialize");

}  // namespace

void try_hwloc_too() { state->tried_too = true; }

bool left_to_hwloc() {
  if (!state->inside.load(std::memory_order_relaxed) || state->tried_too) return false;
  ++state->left_out;
  return true;
}

std::int64_t faults_left_to_hwloc() { return state->left_out.exchange(0); }

bool left_to_libpfm() {
  if (!state->inside_libpfm.load(std::memory_order_relaxed) || state->tried_too) return false;
  ++state->left_out_to_libpfm;
  return true;
}

std::int64_t faults_left_to_libpfm() { return state->left_out_to_libpfm.exchange(0); }

}  // namespace substrata::torture

using namespace substrata::torture;

extern "C" {

int hwloc_topology_init(void** topology) { return inside(real_init, topology); }
int hwloc_topology_load(void* topology) { return inside(real_load, topology); }
void hwloc_topology_destroy(void* topology) { inside(real_destroy, topology); }
int pfm_initialize() {
  const Mark mark(state->inside_libpfm);
  return real_initialize();
}

}  // extern "C"
