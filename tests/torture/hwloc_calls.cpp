// hwloc's functions that allocate or read, as the library calls them: while one of them runs, this file says so.
// hwloc 2.9 ends the program where an allocation of its own fails, and leaves a folder's descriptor open that
// fdopendir refuses; such faults show nothing about this library. Likewise pfm_initialize for system calls: libpfm 4.13
// ends the program where the read fails that begins in the middle of a line of /proc/mounts. Both are loaded at their
// first call, so it is dlsym that gives a function of this file in the place of theirs. And dlopen for short reads, as
// the dynamic linker does not ask for the rest of a file's head.
#include <dlfcn.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <new>

#include "torture.hpp"

namespace substrata::torture {
namespace {

struct State {
  std::atomic<bool> inside{false}, inside_libpfm{false}, inside_linker{false}, tried_too{false};
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

bool left_to_linker() { return state->inside_linker.load(std::memory_order_relaxed); }

std::int64_t faults_left_to_libpfm() { return state->left_out_to_libpfm.exchange(0); }

}  // namespace substrata::torture

// A sanitizer calls dlsym before anything here is ready; no fault is made there.
#ifndef TORTURE_SANITIZED

namespace substrata::torture {
namespace {

// The C library's own.
template <class Function>
Function* real(const char* name) {
  for (const char* const version : {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"})
    if (void* const found = dlvsym(RTLD_NEXT, name, version); found != nullptr)
      return reinterpret_cast<Function*>(found);
  return nullptr;
}

// What stands for a function of a library that is loaded late, and that function.
struct StandIn {
  const char* name;
  void* own;
  void* theirs;
};
template <int kWhich, class Result, class... Arguments>
Result marked(Arguments... arguments);

StandIn stand_ins[] = {
    {"hwloc_topology_init", reinterpret_cast<void*>(marked<0, int, void**>), nullptr},
    {"hwloc_topology_load", reinterpret_cast<void*>(marked<1, int, void*>), nullptr},
    {"hwloc_topology_destroy", reinterpret_cast<void*>(marked<2, void, void*>), nullptr},
    {"pfm_initialize", reinterpret_cast<void*>(marked<3, int>), nullptr},
};
template <int kWhich, class Result, class... Arguments>
Result marked(Arguments... arguments) {
  const Mark mark(kWhich == 3 ? state->inside_libpfm : state->inside);
  return reinterpret_cast<Result (*)(Arguments...)>(stand_ins[kWhich].theirs)(arguments...);
}

}  // namespace
}  // namespace substrata::torture

using namespace substrata::torture;

extern "C" {

// The library asks these for the functions of a library that it loads late.
void* dlsym(void* handle, const char* name) noexcept {
  static auto* const theirs = real<void*(void*, const char*)>("dlsym");
  void* const found = theirs(handle, name);
  if (found == nullptr) return nullptr;
  for (StandIn& one : stand_ins)
    if (std::strcmp(one.name, name) == 0) {
      one.theirs = found;
      return one.own;
    }
  return found;
}
void* dlopen(const char* name, int how) noexcept {
  static auto* const theirs = real<void*(const char*, int)>("dlopen");
  if (state == nullptr) return theirs(name, how);  // before main()
  const Mark mark(state->inside_linker);
  return theirs(name, how);
}

}  // extern "C"
#endif
