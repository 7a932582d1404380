// What a compiler's calls at memory accesses (-fsanitize=thread) lead to: the loads of one thread, at addresses that do
// not depend on the process.
#pragma once

#include <stdint.h>

// [from, from + bytes) is heard of as [as, as + bytes).
struct load_region {
  uintptr_t from;
  uintptr_t bytes;
  uint64_t as;
};

// Until the next call. Loads in no region are not given.
void substrata_hear_loads(const struct load_region* regions, int count,
                          void (*load)(void* owner, uint64_t address), void* owner);
