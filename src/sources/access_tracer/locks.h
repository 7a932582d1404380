/* What the wrappers of the program's locks share. Private to the access tracer's part in the program. */
#pragma once

#include "sources/access_tracer/interface.h"

#define PC ((uintptr_t)__builtin_return_address(0))

/* This thread's table; null: not now, or nothing observes it. */
struct substrata_memory_thread* substrata_memory_watched(void);

/* It gives the mutex back and begins to wait for a condition. */
static inline void substrata_memory_waits(struct substrata_memory_thread* thread, uintptr_t pc,
                                          const void* condition, const void* mutex) {
  substrata_memory_publish(thread, (uintptr_t)condition, SUBSTRATA_MEMORY_ATOMIC,
                           SUBSTRATA_MEMORY_LOCK_BYTES);
  substrata_memory_unlocks(thread, pc, mutex);
  substrata_memory_asks(thread, pc, condition);
}
