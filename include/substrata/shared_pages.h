/* Shared virtual memory between live processes of one machine, by page protection: home-based lazy release
 * consistency with twins and diffs (Zhou, Iftode and Li, "Performance Evaluation of Two Home-Based Lazy
 * Release Consistency Protocols for Shared Virtual Memory Systems", OSDI 1996). Real programs thereby make
 * the page fetches and diffs that the shared virtual memory of workloads models. C99 and C++.
 *
 * Every process has its own copy of the memory. The first access to a page after it became invalid fetches
 * it from its home, the first store makes a twin; a lock, an unlock or a barrier sends what differs from the
 * twin to the home, and a lock or a barrier makes pages invalid that others have changed. Programs that
 * share only under locks and barriers see what sequential memory would give. Pages have their home by block:
 * page p of P belongs to process p * processes / P, whose own accesses need no copy.
 *
 * Probe point "shared-pages.process<i>" (source "shared-pages", real time, CLOCK_MONOTONIC_RAW in
 * nanoseconds), published at each lock, unlock, barrier and close: kinds SUBSTRATA_PAGE_FETCH,
 * SUBSTRATA_TWIN, SUBSTRATA_DIFF, SUBSTRATA_INVALIDATE (address: offset of the page in the memory; initiator:
 * the process; target: the home; size: bytes moved, of a diff the changed words and 4 bytes per run of them;
 * start and time enclose the work), SUBSTRATA_LOCK, SUBSTRATA_UNLOCK, SUBSTRATA_BARRIER (detail: number;
 * start to time: the wait).
 *
 * COST: a fault is a signal, a copied page and one or two changes of protection, some microseconds
 * (bench_pages says how many here); substrata_shared_pages_count gives what a program spent. Protection is
 * per page, so a system call that is given memory in an invalid page fails with EFAULT: touch it before.
 *
 * SIGNALS: SIGSEGV is taken while a memory is open and handed on when it is not about such a page; the last
 * close puts back what was there. THREADS: the memory may be used by all threads of a process; the functions
 * may be called by any thread, one at a time. A child made by fork does not take part and has no such memory.
 *
 * ERRORS: 0, or a negative PAPI error number (-1 invalid argument, -2 no memory, -3 the operating system or
 * the other processes, -8 the place is taken); substrata_feed_error() has the message.
 */
#ifndef SUBSTRATA_SHARED_PAGES_H
#define SUBSTRATA_SHARED_PAGES_H

#include <stdint.h>
#include <substrata/export.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SUBSTRATA_SHARED_PAGES_MOST 16384u    /* pages in one memory */
#define SUBSTRATA_SHARED_PAGES_PROCESSES 256u /* in one memory */
#define SUBSTRATA_SHARED_PAGES_LOCKS 256u     /* numbered from 0 */

struct substrata_shared_pages_options {
  uint32_t struct_size;
  uint32_t processes;  /* that share, 1 to SUBSTRATA_SHARED_PAGES_PROCESSES */
  uint32_t process;    /* which of them this one is, from 0 */
  uint32_t page_bytes; /* a multiple of the system's page; 0: the system's */
  uint64_t bytes;      /* rounded up to whole pages, at most SUBSTRATA_SHARED_PAGES_MOST of them */
  const char* name;    /* that all of them use: letters, digits, '.', '_', '-', at most 64 */
  uint32_t wait_ms;    /* for the others to come; 0: a minute */
};

struct substrata_shared_pages; /* one process's part of one memory */

/* Called by every process, with the same options except process; returns when all have come. The memory is
 * zero then. What a program that was killed left behind under this name is cleared away. */
SUBSTRATA_API int substrata_shared_pages_open(const struct substrata_shared_pages_options* options,
                                              struct substrata_shared_pages** out);
/* This process's view; its address differs between processes, so keep offsets in it, not pointers. */
SUBSTRATA_API void* substrata_shared_pages_memory(const struct substrata_shared_pages* pages);

/* Waits for the lock and sees what its holders before have changed. A process that has it already is refused;
 * -3: another process ended while it held the lock, or is gone from a barrier; the memory is then of no use
 * and every later call says so. */
SUBSTRATA_API int substrata_shared_pages_lock(struct substrata_shared_pages* pages, uint32_t lock);
SUBSTRATA_API int substrata_shared_pages_unlock(struct substrata_shared_pages* pages, uint32_t lock);
/* Waits for all processes; after it each sees what all changed before it. */
SUBSTRATA_API int substrata_shared_pages_barrier(struct substrata_shared_pages* pages);

/* Since opening, of this process. */
struct substrata_shared_pages_counts {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t faults;        /* signals served */
  uint64_t fetches;       /* pages copied from their homes */
  uint64_t twins;         /* pages copied before the first store */
  uint64_t home_writes;   /* intervals in which a page was stored to at its home */
  uint64_t diffs;         /* pages that differed from their twin */
  uint64_t diff_bytes;    /* changed words and 4 bytes per run of them */
  uint64_t invalidations; /* copies that others had outdated */
  uint64_t lock_acquires;
  uint64_t barriers;
  uint64_t fault_ns;   /* in the signal handler: fetches and twins */
  uint64_t release_ns; /* finding and sending diffs */
  uint64_t acquire_ns; /* finding and invalidating outdated copies */
  uint64_t wait_ns;    /* for locks and at barriers */
};
SUBSTRATA_API int substrata_shared_pages_count(struct substrata_shared_pages* pages,
                                               struct substrata_shared_pages_counts* out);

/* Sends what is not sent yet and leaves; the others go on without a barrier's help. Null is allowed. */
SUBSTRATA_API void substrata_shared_pages_close(struct substrata_shared_pages* pages);

#ifdef __cplusplus
}
#endif

#endif
