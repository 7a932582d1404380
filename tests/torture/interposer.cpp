// A library to preload into a program: its malloc and relatives fail as the file that TORTURE_FAULTS names demands.
// Counted are the allocations that this project's files ask for, directly or through the C and C++ libraries.
#include "interposer.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* block, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
}

namespace substrata::torture {
namespace {

constinit Faults* faults = nullptr;
constinit thread_local bool inside = false;

bool begins(const char* path, const char* with) { return std::strncmp(path, with, std::strlen(with)) == 0; }

// The first caller in a file that is neither this one nor the C or C++ library decides.
struct Walk {
  bool ours = false;
  char* text = nullptr;  // the callers' addresses, as far as there is place
  size_t space = 0;
};

_Unwind_Reason_Code look(_Unwind_Context* context, void* out) {
  Walk* const walk = static_cast<Walk*>(out);
  void* const address = reinterpret_cast<void*>(_Unwind_GetIP(context));  // NOLINT: as it comes
  dl_find_object found{};
  if (_dl_find_object(address, &found) != 0) return _URC_NO_REASON;
  const char* const path = found.dlfo_link_map->l_name;
  const char* const slash = std::strrchr(path, '/');
  const char* const name = slash != nullptr ? slash + 1 : path;
  if (walk->text != nullptr) {
    const int length = std::snprintf(walk->text, walk->space, " %s+0x%zx", name,
                                     reinterpret_cast<size_t>(address) - found.dlfo_link_map->l_addr);
    if (length < 0 || static_cast<size_t>(length) >= walk->space) return _URC_END_OF_STACK;
    walk->text += length;
    walk->space -= static_cast<size_t>(length);
    return _URC_NO_REASON;
  }
  if (begins(name, "libc.so") || begins(name, "libstdc++.so") || begins(name, "libgcc_s.so") ||
      begins(name, "libtorture_faults.so"))
    return _URC_NO_REASON;
  // The access tracer's stand-ins for the program's own allocations pass them on.
  Dl_info symbol{};
  const bool passed_on =
      dladdr(address, &symbol) != 0 && symbol.dli_sname != nullptr && begins(symbol.dli_sname, "__wrap_");
  walk->ours = path[0] == '\0' ? faults->program_too : begins(path, faults->libraries) && !passed_on;
  return _URC_END_OF_STACK;
}

bool asked_for_by_us() {
  Walk walk;
  _Unwind_Backtrace(look, &walk);
  return walk.ours;
}

bool fails() noexcept {
  if (faults == nullptr || inside) return false;
  const int error = errno;
  inside = true;
  bool failing = false;
  if (asked_for_by_us()) {
    const std::int64_t now = faults->allocations.fetch_add(1, std::memory_order_relaxed);
    failing = faults->place >= 0 && (faults->from_then ? now >= faults->place : now == faults->place);
    if (failing && faults->failed.fetch_add(1, std::memory_order_relaxed) == 0) {
      Walk walk{false, faults->callers, sizeof faults->callers};
      _Unwind_Backtrace(look, &walk);
    }
  }
  inside = false;
  errno = failing ? ENOMEM : error;
  return failing;
}

// Of an MPI program's process, as its launcher numbers it; -1 for another.
int own_rank() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"})
    if (const char* const rank = std::getenv(variable); rank != nullptr) return std::atoi(rank);
  return -1;
}

__attribute__((constructor)) void begin() {
  const char* const path = std::getenv(kFaultsVariable);
  if (path == nullptr) return;
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void* const at = mmap(nullptr, sizeof(Faults), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (at == MAP_FAILED) return;
  Faults* const shared = static_cast<Faults*>(at);
  if (std::strcmp(shared->program, program_invocation_short_name) != 0 ||
      (shared->rank >= 0 && shared->rank != own_rank())) {
    munmap(at, sizeof(Faults));
    return;
  }
  unsetenv(kFaultsVariable);
  pthread_atfork(nullptr, nullptr, [] { faults = nullptr; });
  inside = true;
  faults = shared;
  Walk walk;
  _Unwind_Backtrace(look, &walk);  // its first use allocates
  inside = false;
  syscall(SYS_lseek, -1, kMark, SEEK_SET);
}

}  // namespace
}  // namespace substrata::torture

using substrata::torture::fails;

extern "C" {

void* malloc(size_t bytes) noexcept { return fails() ? nullptr : __libc_malloc(bytes); }
void* calloc(size_t count, size_t bytes) noexcept { return fails() ? nullptr : __libc_calloc(count, bytes); }
void* realloc(void* block, size_t bytes) noexcept { return fails() ? nullptr : __libc_realloc(block, bytes); }
void* memalign(size_t alignment, size_t bytes) noexcept {
  return fails() ? nullptr : __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) noexcept { return memalign(alignment, bytes); }
int posix_memalign(void** out, size_t alignment, size_t bytes) noexcept {
  void* const block = memalign(alignment, bytes);
  if (block == nullptr) return ENOMEM;
  *out = block;
  return 0;
}

}  // extern "C"
