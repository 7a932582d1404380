// The program's own allocations, which arrive here through the linker's --wrap, so that heap objects are
// named by their site.
#include <malloc.h>

#include <cstdlib>
#include <new>

#include "runtime.hpp"

namespace {

substrata::access_tracer::Runtime& runtime() { return substrata::access_tracer::Runtime::instance(); }

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

#define SITE reinterpret_cast<uintptr_t>(__builtin_return_address(0))
void* __wrap_malloc(size_t size) {
  void* memory = malloc(size);
  runtime().allocated(memory, size, SITE);
  return memory;
}
void* __wrap_calloc(size_t count, size_t size) {
  void* memory = calloc(count, size);
  runtime().allocated(memory, count * size, SITE);
  return memory;
}
void* __wrap_realloc(void* old, size_t size) {
  runtime().freed(old);
  const size_t before = old != nullptr ? malloc_usable_size(old) : 0;
  void* memory = realloc(old, size);
  if (memory != nullptr) {
    runtime().allocated(memory, size, SITE);
  } else if (size != 0) {
    runtime().allocated(old, before, SITE);  // refused: the old block is still there
  }
  return memory;
}
void __wrap_free(void* memory) {
  runtime().freed(memory);
  free(memory);
}
void* __wrap_aligned_alloc(size_t alignment, size_t size) {
  void* memory = aligned_alloc(alignment, size);
  runtime().allocated(memory, size, SITE);
  return memory;
}
int __wrap_posix_memalign(void** out, size_t alignment, size_t size) {
  const int error = posix_memalign(out, alignment, size);
  if (error == 0) runtime().allocated(*out, size, SITE);
  return error;
}
// operator new and delete of C++ programs, by their mangled names.
void* __wrap__Znwm(size_t size) {
  void* memory = ::operator new(size);
  runtime().allocated(memory, size, SITE);
  return memory;
}
void* __wrap__Znam(size_t size) {
  void* memory = ::operator new[](size);
  runtime().allocated(memory, size, SITE);
  return memory;
}
void __wrap__ZdlPv(void* memory) {
  runtime().freed(memory);
  ::operator delete(memory);
}
void __wrap__ZdlPvm(void* memory, size_t) {
  runtime().freed(memory);
  ::operator delete(memory);
}
void __wrap__ZdaPv(void* memory) {
  runtime().freed(memory);
  ::operator delete[](memory);
}
}
#pragma GCC visibility pop
