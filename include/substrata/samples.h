/* Where the processors of a live program are: samples of its instructions as transactions of the feed. C99
 * and C++.
 *
 * Probe point "os.processor-samples" (source "os", real time, CLOCK_MONOTONIC_RAW in nanoseconds): kind
 * SUBSTRATA_SAMPLE, site the instruction, address 0 (the data address is not known), initiator the thread,
 * target the processor, detail the process.
 *
 * Samples come with cycles that a hardware counter has counted; where there is none (most virtual machines)
 * with processor time that the kernel's task clock has measured. Both are measured; the clock's instruction
 * may lie a few behind the one that took the time. Data addresses of loads and stores are not sampled.
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
  SUBSTRATA_SAMPLES_BY_CLOCK = 1u << 1   /* by the kernel's clock even where a hardware counter exists */
};

enum substrata_samples_clock { SUBSTRATA_SAMPLES_CYCLES = 1, SUBSTRATA_SAMPLES_TASK_CLOCK = 2 };

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
