// The program's own allocations, which arrive here through the linker's --wrap, so that heap objects are
// named by their site. The allocator runs inside an entry: a signal handler that interrupts it must not
// allocate in the runtime.
#include <malloc.h>

#include <cstdlib>
#include <new>

#include "sources/access_tracer/entry.hpp"
#include "sources/access_tracer/runtime.hpp"

namespace {

using substrata::access_tracer::Entry;

void note_allocated(const Entry& entry, void* memory, size_t size, uintptr_t site) {
  if (memory == nullptr) return;
  entry.run([&] { substrata::access_tracer::Runtime::instance().allocated(memory, size, site); });
}
void note_freed(const Entry& entry, void* memory) {
  if (memory == nullptr) return;
  entry.run([&] {
    auto& runtime = substrata::access_tracer::Runtime::instance();
    runtime.before_free();
    runtime.freed(memory);
  });
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

#define SITE reinterpret_cast<uintptr_t>(__builtin_return_address(0))
void* __wrap_malloc(size_t size) {
  const Entry entry;
  void* memory = malloc(size);
  note_allocated(entry, memory, size, SITE);
  return memory;
}
void* __wrap_calloc(size_t count, size_t size) {
  const Entry entry;
  void* memory = calloc(count, size);
  note_allocated(entry, memory, count * size, SITE);
  return memory;
}
void* __wrap_realloc(void* old, size_t size) {
  const Entry entry;
  note_freed(entry, old);
  const size_t before = old != nullptr ? malloc_usable_size(old) : 0;
  void* memory = realloc(old, size);
  if (memory != nullptr) {
    note_allocated(entry, memory, size, SITE);
  } else if (size != 0) {
    note_allocated(entry, old, before, SITE);  // refused: the old block is still there
  }
  return memory;
}
void __wrap_free(void* memory) {
  const Entry entry;
  note_freed(entry, memory);
  free(memory);
}
void* __wrap_aligned_alloc(size_t alignment, size_t size) {
  const Entry entry;
  void* memory = aligned_alloc(alignment, size);
  note_allocated(entry, memory, size, SITE);
  return memory;
}
int __wrap_posix_memalign(void** out, size_t alignment, size_t size) {
  const Entry entry;
  const int error = posix_memalign(out, alignment, size);
  if (error == 0) note_allocated(entry, *out, size, SITE);
  return error;
}
// operator new and delete of C++ programs, by their mangled names.
void* __wrap__Znwm(size_t size) {
  const Entry entry;
  void* memory = ::operator new(size);
  note_allocated(entry, memory, size, SITE);
  return memory;
}
void* __wrap__Znam(size_t size) {
  const Entry entry;
  void* memory = ::operator new[](size);
  note_allocated(entry, memory, size, SITE);
  return memory;
}
void __wrap__ZdlPv(void* memory) {
  const Entry entry;
  note_freed(entry, memory);
  ::operator delete(memory);
}
void __wrap__ZdlPvm(void* memory, size_t) {
  const Entry entry;
  note_freed(entry, memory);
  ::operator delete(memory);
}
void __wrap__ZdaPv(void* memory) {
  const Entry entry;
  note_freed(entry, memory);
  ::operator delete[](memory);
}
}
#pragma GCC visibility pop
