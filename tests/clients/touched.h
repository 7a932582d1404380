/* Work of a known count: fresh pages of memory, each touched once, each one page fault. */
#pragma once

#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

static inline int touch_pages(size_t pages) {
  const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
  volatile char* memory =
      (volatile char*)mmap(NULL, pages * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return -1;
  (void)madvise((void*)memory, pages * bytes, MADV_NOHUGEPAGE);
  for (size_t page = 0; page < pages; ++page) memory[page * bytes] = 1;
  return munmap((void*)memory, pages * bytes);
}
