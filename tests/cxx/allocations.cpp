// Counts every allocation of the test program, so that a read which allocates is found out. A file of its
// own: where the compiler sees both, it takes malloc behind new for a mistake.
#include "allocations.hpp"

#include <cstdlib>
#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif

#ifdef SANITIZED
// The sanitizers replace the allocation functions themselves.
long allocations() noexcept { return -1; }
long allocated_bytes() noexcept { return -1; }
#else

namespace {
thread_local long count = 0, bytes = 0;
}

long allocations() noexcept { return count; }
long allocated_bytes() noexcept { return bytes; }

void* operator new(std::size_t size) {
  ++count;
  bytes += static_cast<long>(size);
  if (void* memory = std::malloc(size != 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif
