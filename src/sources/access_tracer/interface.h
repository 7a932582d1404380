/* What the hooks (linked into the traced program) and the runtime (a shared library) share: a thread's table
 * of access sites, and the calls from one to the other. Private to the access tracer. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <substrata/compact.h>
#include <substrata/feed.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SUBSTRATA_MEMORY_SITES 8192u /* per thread, a power of two */

enum substrata_memory_kind {
  SUBSTRATA_MEMORY_READ = 0,
  SUBSTRATA_MEMORY_WRITE = 1,
  SUBSTRATA_MEMORY_ATOMIC = 2,
  SUBSTRATA_MEMORY_CALL = 3 /* a function was entered; the address is the function's caller */
};

/* One instruction of the program that accesses memory, with the object it accessed last: as long as it stays
 * in [low, low + length), an access costs two comparisons and one increment. */
struct substrata_memory_site {
  uint64_t
      key; /* the return address and the salt when it was bound: a free, or a new observer, makes it stale */
  uintptr_t low;
  uintptr_t length; /* 0: unbound, or watched */
  uint64_t count;
  uintptr_t extent; /* of the object; with length 0 every access to it is published */
  uintptr_t pc;
  uint32_t object; /* the runtime's number of the object */
  uint8_t kind;
  uint8_t size;
  uint8_t reserved[2];
  uint64_t padding; /* one site a cache line */
};

struct substrata_memory_thread {
  void* runtime; /* the runtime's own state of this thread; null in the table every thread begins with */
  const uint16_t* const* phase;            /* of this thread, by substrata_phase_place */
  struct substrata_compact_cursor records; /* where the hooks put accesses that are observed */
  /* While the salt is this, nothing asks for the thread's accesses, and its hooks do nothing. Null: they know of no
   * such word. */
  uint64_t* idle;
  struct substrata_memory_site sites[SUBSTRATA_MEMORY_SITES] __attribute__((aligned(64)));
};

#pragma GCC visibility push(default)
/* In the runtime. begin is called once, before any access; bind_slot when a site does not match; publish for an
 * access whose site is watched and that the hooks do not put into a record themselves; range for block
 * operations of any length. attach gives the thread a table, which *place has until the thread ends and then
 * `first` again. Null: not now (a signal handler interrupted it, there is no memory, or the thread is over),
 * and the access is counted as skipped. None of them waits for what the interrupted thread itself holds. */
void substrata_memory_begin(volatile uint64_t* salt, struct substrata_memory_thread* first);
struct substrata_memory_thread* substrata_memory_attach(struct substrata_memory_thread** place);
void substrata_memory_bind_slot(struct substrata_memory_thread* thread, unsigned slot, uintptr_t pc,
                                uintptr_t address, unsigned kind, unsigned size);
/* The same in the slot of a hook that is called, for programs whose hooks know no other. */
void substrata_memory_bind(struct substrata_memory_thread* thread, uintptr_t pc, uintptr_t address,
                           unsigned kind, unsigned size);
void substrata_memory_publish(struct substrata_memory_thread* thread, uintptr_t address, unsigned kind,
                              unsigned size);
/* The same, and the code that accesses. */
void substrata_memory_publish_at(struct substrata_memory_thread* thread, uintptr_t pc, uintptr_t address,
                                 unsigned kind, unsigned size);
void substrata_memory_range(struct substrata_memory_thread* thread, uintptr_t pc, uintptr_t address,
                            unsigned kind, uint64_t size);
/* A branch of the thread, which is observed, led to this basic block. */
void substrata_memory_branched(struct substrata_memory_thread* thread, uintptr_t block);
/* Whether the hooks are to take the time of functions; and one that this thread has left, by an address within it,
 * after so many nanoseconds. */
int substrata_memory_takes_times(void);
void substrata_memory_ran(struct substrata_memory_thread* thread, uintptr_t pc, uint64_t ns);
/* A barrier was made for so many threads; this thread is about to wait at it. */
void substrata_memory_barrier_made(const void* barrier, unsigned threads);
void substrata_memory_barrier(struct substrata_memory_thread* thread, uintptr_t pc, const void* barrier);
/* Whether anything observes the thread. The rest of these are for a thread that is observed. It asks for a lock that
 * another has, or for a condition, or does not any more; it has the lock, alone or shared with others; it is about to
 * give it back. The lock's word is accessed by the last two. */
int substrata_memory_is_observed(struct substrata_memory_thread* thread);
void substrata_memory_asks(struct substrata_memory_thread* thread, uintptr_t pc, const void* lock);
void substrata_memory_gives_up(struct substrata_memory_thread* thread, uintptr_t pc, const void* lock);
void substrata_memory_locked(struct substrata_memory_thread* thread, uintptr_t pc, const void* lock,
                             int shared);
void substrata_memory_unlocks(struct substrata_memory_thread* thread, uintptr_t pc, const void* lock);
/* It is about to wait at this opening of a barrier, one of so many threads. */
void substrata_memory_meets(struct substrata_memory_thread* thread, uintptr_t pc, uintptr_t barrier,
                            uint64_t opening, unsigned threads);
#pragma GCC visibility pop

#define SUBSTRATA_MEMORY_LOCK_BYTES 4u /* of a lock, its first: what is accessed to take it */

/* Of a hook that is called: those of 8 KiB of code do not meet. */
static inline uint32_t substrata_memory_slot(uintptr_t pc) {
  return (uint32_t)pc & (SUBSTRATA_MEMORY_SITES - 1u);
}

#ifdef __cplusplus
}
#endif
