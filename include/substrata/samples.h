/* Where the processors of a live program are, and what they load and store: samples as transactions of the feed.
 * C99 and C++.
 *
 * Probe point "os.processor-samples" (source "os", real time, CLOCK_MONOTONIC_RAW in nanoseconds): kind
 * SUBSTRATA_SAMPLE, site the instruction, address 0 (the data address is not known), initiator the thread,
 * target the processor, detail the process.
 *
 * Samples come with cycles that a hardware counter has counted; where there is none (most virtual machines)
 * with processor time that the kernel's task clock has measured. Both are measured; the clock's instruction
 * may lie a few behind the one that took the time.
 *
 * With SUBSTRATA_SAMPLES_MEMORY, instead at probe point "os.memory-samples": loads and stores as the processor
 * samples them, kind SUBSTRATA_READ, SUBSTRATA_WRITE or SUBSTRATA_ATOMIC (a locked one), address the data
 * address, site the instruction, state SUBSTRATA_HIT or SUBSTRATA_MISS in the first level of cache,
 * SUBSTRATA_MODIFIED where another cache held the line modified, detail where the data were found (enum
 * substrata_samples_source), initiator the thread, target the processor, size 0 (not known). What is sampled are
 * loads on Intel (mem-loads, of at least the latency that the kernel's event asks for), any operation on AMD (IBS,
 * of which those without a data address are left out). Elsewhere, and on most virtual machines, that is refused.
 *
 * ERRORS: 0, or a negative PAPI error number (-1 invalid argument, -2 no memory, -3 the operating system
 * refused); substrata_feed_error() has the message. THREADS: one handle belongs to one thread at a time.
 */
#ifndef SUBSTRATA_SAMPLES_H
#define SUBSTRATA_SAMPLES_H

#include <stdint.h>
#include <substrata/export.h>

#ifdef __cplusplus
extern "C" {
#endif

enum substrata_samples_flags {
  SUBSTRATA_SAMPLES_FROM_EXEC = 1u << 0, /* begin when the process next calls execve */
  SUBSTRATA_SAMPLES_BY_CLOCK = 1u << 1,  /* by the kernel's clock even where a hardware counter exists */
  SUBSTRATA_SAMPLES_MEMORY = 1u << 2     /* loads and stores with their data addresses */
};

enum substrata_samples_clock {
  SUBSTRATA_SAMPLES_CYCLES = 1,
  SUBSTRATA_SAMPLES_TASK_CLOCK = 2,
  SUBSTRATA_SAMPLES_LOADS = 3,     /* Intel's mem-loads */
  SUBSTRATA_SAMPLES_OPERATIONS = 4 /* AMD's IBS of dispatched operations */
};

/* Where a sampled load or store found its data. */
enum substrata_samples_source {
  SUBSTRATA_SAMPLES_FROM_UNKNOWN = 0,
  SUBSTRATA_SAMPLES_FROM_L1 = 1,
  SUBSTRATA_SAMPLES_FROM_FILL_BUFFER = 2, /* a line that was on its way already */
  SUBSTRATA_SAMPLES_FROM_L2 = 3,
  SUBSTRATA_SAMPLES_FROM_L3 = 4,
  SUBSTRATA_SAMPLES_FROM_MEMORY = 5, /* of the processor's own node, or of a node that is not known */
  SUBSTRATA_SAMPLES_FROM_REMOTE_CACHE = 6,
  SUBSTRATA_SAMPLES_FROM_REMOTE_MEMORY = 7,
  SUBSTRATA_SAMPLES_FROM_OTHER = 8 /* devices, uncached or persistent memory */
};

struct substrata_samples_options {
  uint32_t struct_size;
  uint32_t flags; /* enum substrata_samples_flags */
  /* All its threads and what they start from now on; 0: the calling process. */
  int32_t process;
  uint32_t frequency;  /* samples a second of processor time, 1 to 100000; 0: 1000 */
  uint32_t ring_pages; /* of the kernel's buffer for each processor, rounded up to a power of two; 0: 64 */
  uint32_t reserved;
};

struct substrata_samples; /* an observation of one process */

/* Begins to sample. options may be null. Needs the kernel's perf events (perf_event_paranoid at most 2 for
 * own processes); a failure says what refused and what to do. */
SUBSTRATA_API int substrata_samples_start(const struct substrata_samples_options* options,
                                          struct substrata_samples** out);
/* What the samples come with: enum substrata_samples_clock. */
SUBSTRATA_API int substrata_samples_by(const struct substrata_samples* samples);
/* Publishes what the kernel has buffered, in the order of time. *lost, unless null: samples so far that did
 * not fit into the buffer before they were collected. Publishes nothing while the probe point has no observer;
 * the buffer is emptied all the same. */
SUBSTRATA_API int substrata_samples_collect(struct substrata_samples* samples, uint64_t* lost);
/* Ends the observation: collects once more, then frees. Null is allowed. */
SUBSTRATA_API void substrata_samples_stop(struct substrata_samples* samples);

#ifdef __cplusplus
}
#endif

#endif
