/* Accesses as records of eight bytes: what the access tracer gives to a model that wants every access of the
 * program, instead of transactions of the feed. Private to the library and the access tracer. */
#ifndef SUBSTRATA_ACCESS_TRACER_RECORDS_H
#define SUBSTRATA_ACCESS_TRACER_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A record: what it is in bits 0 to 7, a size less one in bits 8 to 15, an address or number in bits 16
 * to 63. A plain read or write has an address that is a multiple of its size, a power of two up to 16, so
 * that it lies within one line of every cache whose lines have 16 bytes or more. What does not fit into its
 * field comes in a record of its own just before. */
enum substrata_record_what {
  SUBSTRATA_RECORD_READ = 0, /* plain */
  SUBSTRATA_RECORD_WRITE = 1,
  SUBSTRATA_RECORD_ANY_READ = 2, /* not plain */
  SUBSTRATA_RECORD_ANY_WRITE = 3,
  SUBSTRATA_RECORD_FETCH = 4,
  SUBSTRATA_RECORD_COMPUTE = 5, /* number: how many instructions */
  SUBSTRATA_RECORD_BRANCH = 6,
  SUBSTRATA_RECORD_MISPREDICTED = 7,
  SUBSTRATA_RECORD_BARRIER = 8, /* the size before it: how many threads meet there */
  SUBSTRATA_RECORD_PHASE = 9,   /* number: the phase of what follows */
  SUBSTRATA_RECORD_NUMBER = 10, /* of the next: an access's site, or which opening of the barrier */
  SUBSTRATA_RECORD_SIZE = 11,   /* of the next, where it is over 256 or a barrier's */
  SUBSTRATA_RECORD_UPPER = 12   /* bits 48 to 63 of the next one's address or number */
};

static inline uint64_t substrata_record(unsigned what, unsigned size, uint64_t number) {
  return number << 16 | (uint64_t)((size - 1u) & 0xffu) << 8 | what;
}
/* May an access be a plain record? */
static inline int substrata_record_is_plain(uint64_t address, unsigned size) {
  return (address & (UINT64_C(0xffff) << 48 | (size - 1u))) == 0;
}

/* Who gets the records of all threads. take is called by the thread whose records they are, or by one that
 * asks for what there is; for one thread never twice at once. It must not wait for threads of the program. */
struct substrata_access_sink {
  void* owner;
  void (*take)(void* owner, uint32_t thread, const uint64_t* records, size_t count);
};

#pragma GCC visibility push(default)
/* In the access tracer's runtime; found by name in a program that was built with it. From now on the
 * sink, which is copied, gets every access that the filter lets through; null: there is none, and when this
 * returns the sink has got everything and will not be called again. -1: not now, as there is a sink already,
 * or accesses are sampled. */
int substrata_memory_set_sink(const struct substrata_access_sink* sink);
/* The sink gets what the threads have so far. */
void substrata_memory_hand_over(void);
/* The name of the variable, allocation site or stack at an address, and where that begins and how long it is.
 * -1: not to be had now, as another thread is being bound. */
int substrata_memory_name_at(uintptr_t address, char* out, size_t size, uintptr_t* low, uintptr_t* length);
#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
