/* Pages of live programs, as transactions of the feed: page faults with their addresses, as the kernel reports
 * them. C99 and C++.
 *
 * Probe point "os.page-faults" (source "os", real time, CLOCK_MONOTONIC_RAW in nanoseconds): kind
 * SUBSTRATA_PAGE_FAULT, address the data address, site the instruction, initiator the thread, target the
 * processor, size a page, detail the process. It costs about half a microsecond per fault.
 *
 * ERRORS: 0, or a negative PAPI error number (-1 invalid argument, -2 no memory, -3 the operating system
 * refused); substrata_feed_error() has the message. THREADS: one handle belongs to one thread at a time.
 */
#ifndef SUBSTRATA_PAGES_H
#define SUBSTRATA_PAGES_H

#include <stdint.h>
#include <substrata/export.h>

#ifdef __cplusplus
extern "C" {
#endif

enum substrata_page_faults_flags {
  SUBSTRATA_PAGE_FAULTS_FROM_EXEC = 1u << 0 /* begin when the process next calls execve */
};

struct substrata_page_faults_options {
  uint32_t struct_size;
  uint32_t flags; /* enum substrata_page_faults_flags */
  /* All its threads and what they start from now on; 0: the calling process. */
  int32_t process;
  /* Of the kernel's buffer for each processor, rounded up to a power of two; 0: 64, enough for 5400 faults. */
  uint32_t ring_pages;
};

struct substrata_page_faults; /* an observation of one process */

/* Begins to observe. options may be null. Needs the kernel's perf events (perf_event_paranoid at most 2 for
 * own processes); a failure says what refused and what to do. */
SUBSTRATA_API int substrata_page_faults_start(const struct substrata_page_faults_options* options,
                                              struct substrata_page_faults** out);
/* Publishes what the kernel has buffered, in the order of time. *lost, unless null: faults so far that did
 * not fit into the buffer before they were collected; they are counted and not published. Publishes nothing
 * while the probe point has no observer; the buffer is emptied all the same. */
SUBSTRATA_API int substrata_page_faults_collect(struct substrata_page_faults* faults, uint64_t* lost);
/* Ends the observation: collects once more, then frees. Null is allowed. */
SUBSTRATA_API void substrata_page_faults_stop(struct substrata_page_faults* faults);

#ifdef __cplusplus
}
#endif

#endif
