// hwloc's functions that allocate or read, as the library calls them: while one of them runs, this file says so.
// hwloc 2.9 ends the program where an allocation of its own fails, and leaves a folder's descriptor open that
// fdopendir refuses; such faults show nothing about this library. Likewise pfm_initialize for system calls: libpfm 4.13
// ends the program where the read fails that begins in the middle of a line of /proc/mounts.
#include <dlfcn.h>
#include <sys/mman.h>

#include <atomic>
#include <new>
#include <string_view>

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

int (*real_init)(void**) = nullptr;
int (*real_load)(void*) = nullptr;
void (*real_destroy)(void*) = nullptr;
int (*real_initialize)() = nullptr;

int marked_init(void** topology) { return inside(real_init, topology); }
int marked_load(void* topology) { return inside(real_load, topology); }
void marked_destroy(void* topology) { inside(real_destroy, topology); }
int marked_initialize() {
  const Mark mark(state->inside_libpfm);
  return real_initialize();
}

// The function that marks instead of the library's, which it calls.
template <class Function>
void* instead(void* found, Function*& real, Function* marked) {
  real = reinterpret_cast<Function*>(found);
  return reinterpret_cast<void*>(marked);
}

}  // namespace

void load_what_comes_late() {
  for (const char* library : {"libhwloc.so.15", "libpfm.so.4", "libzstd.so.1"})
    dlopen(library, RTLD_LAZY | RTLD_LOCAL);
}

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

// The library loads hwloc and libpfm4 late, and asks the dynamic linker for their functions.
#ifndef TORTURE_SANITIZED
extern "C" void* dlsym(void* library, const char* name) noexcept {
  using namespace substrata::torture;
  using Find = void*(void*, const char*);
  static Find* const find = [] {
    void* found = nullptr;
    for (const char* version : {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"})
      if (found == nullptr) found = dlvsym(RTLD_NEXT, "dlsym", version);
    return reinterpret_cast<Find*>(found);
  }();
  void* const found = find(library, name);
  if (found == nullptr) return nullptr;
  const std::string_view asked = name;
  if (asked == "hwloc_topology_init") return instead(found, real_init, marked_init);
  if (asked == "hwloc_topology_load") return instead(found, real_load, marked_load);
  if (asked == "hwloc_topology_destroy") return instead(found, real_destroy, marked_destroy);
  if (asked == "pfm_initialize") return instead(found, real_initialize, marked_initialize);
  return found;
}
#endif
