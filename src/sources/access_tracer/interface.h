/* What the hooks (linked into the traced program) and the runtime (a shared library) share: a thread's table
 * of access sites, and the calls from one to the other. Private to the access tracer. */
#ifndef SUBSTRATA_ACCESS_TRACER_INTERFACE_H
#define SUBSTRATA_ACCESS_TRACER_INTERFACE_H

#include <stddef.h>
#include <stdint.h>
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
  struct substrata_publisher* direct; /* where the hooks publish themselves; null: through the runtime */
  const uint16_t* const* phase;       /* of this thread, by substrata_phase_place */
  uint64_t sequence;                  /* of the newest transaction */
  uint32_t number;                    /* the thread's */
  uint32_t taken_phase;               /* of the newest record */
  /* Where the hooks put the next record for a sink (records.h), and where they put none any more but ask the
   * runtime; null: there is no sink. */
  uint64_t* next;
  uint64_t* last;
  struct substrata_memory_site sites[SUBSTRATA_MEMORY_SITES] __attribute__((aligned(64)));
};

/* The next transaction of the thread, in a slot that holds an old one. */
static inline void substrata_memory_fill(struct substrata_transaction* slot,
                                         struct substrata_memory_thread* thread, uintptr_t pc,
                                         uintptr_t address, unsigned kind, uint32_t size) {
  const uint64_t kinds =
      SUBSTRATA_READ | (uint64_t)SUBSTRATA_WRITE << 16 | (uint64_t)SUBSTRATA_ATOMIC << 32; /* by kind */
  slot->time = ++thread->sequence;
  slot->start = 0;
  slot->address = address;
  slot->site = pc;
  slot->detail = 0;
  slot->initiator = thread->number;
  slot->target = 0;
  slot->size = size;
  slot->kind = (uint16_t)(kinds >> 16 * kind);
  slot->state = 0;
  slot->program = 0;
  slot->phase = __atomic_load_n(*thread->phase, __ATOMIC_RELAXED);
  slot->flags = 0;
}

#pragma GCC visibility push(default)
/* In the runtime. begin is called once, before any access; bind when a site does not match; publish for an
 * access whose site is watched and that the hooks do not put into a record or ring themselves; range for
 * block operations of any length. */
void substrata_memory_begin(volatile uint64_t* salt, struct substrata_memory_thread* first);
struct substrata_memory_thread* substrata_memory_attach(void);
void substrata_memory_bind(struct substrata_memory_thread* thread, uintptr_t pc, uintptr_t address,
                           unsigned kind, unsigned size);
void substrata_memory_publish(struct substrata_memory_thread* thread, uintptr_t address, unsigned kind,
                              unsigned size);
void substrata_memory_range(struct substrata_memory_thread* thread, uintptr_t pc, uintptr_t address,
                            unsigned kind, uint64_t size);
/* A barrier was made for so many threads; this thread is about to wait at it. */
void substrata_memory_barrier_made(const void* barrier, unsigned threads);
void substrata_memory_barrier(struct substrata_memory_thread* thread, uintptr_t pc, const void* barrier);
#pragma GCC visibility pop

/* Sites of 8 KiB of code do not meet. */
static inline uint32_t substrata_memory_slot(uintptr_t pc) {
  return (uint32_t)pc & (SUBSTRATA_MEMORY_SITES - 1u);
}

#ifdef __cplusplus
}
#endif

#endif
