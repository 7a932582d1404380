/* Reading the recordings that `substrata record` writes (docs/guide/recording.md). In libsubstrata_recording.so, which
 * needs neither the measuring library nor a compiler on the reader's side: every argument is a plain number,
 * text or pointer. */
#ifndef SUBSTRATA_RECORDING_H
#define SUBSTRATA_RECORDING_H

#include <stddef.h>
#include <stdint.h>
#include <substrata/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Records of several nodes, or of one, on one clock. What a function gives stays valid until the recording is
 * closed. Different threads may read the same recording. */
typedef struct substrata_recording substrata_recording;

/* Opens files as one recording; null with a message in `why` (of `capacity` bytes, may be null) when they cannot
 * be read or are not records. What is cut off or damaged is left out, see substrata_recording_problem(). */
SUBSTRATA_API substrata_recording* substrata_recording_open(const char* const* paths, size_t count, char* why,
                                                            size_t capacity);
SUBSTRATA_API void substrata_recording_close(substrata_recording* recording);

/* From the start to the last thing recorded, and the time of day of the start in nanoseconds since 1970. */
SUBSTRATA_API double substrata_recording_seconds(const substrata_recording* recording);
SUBSTRATA_API int64_t substrata_recording_start(const substrata_recording* recording);
/* A message for each thing that is cut off or damaged; null beyond the last. */
SUBSTRATA_API const char* substrata_recording_problem(const substrata_recording* recording, size_t index);
/* What the recording itself cost, in words; empty when it is not known. */
SUBSTRATA_API const char* substrata_recording_overhead(const substrata_recording* recording);

/* Processes that wrote, and what they say of themselves ("host", "command", "mpi.rank", "exit", ...); null
 * when a writer says nothing by that name, or there is no such writer. */
SUBSTRATA_API size_t substrata_recording_writers(const substrata_recording* recording);
SUBSTRATA_API const char* substrata_recording_property(const substrata_recording* recording, size_t writer,
                                                       const char* name);

/* One series of one writer. Texts are UTF-8 by intent. */
typedef struct substrata_recording_series {
  size_t struct_size; /* set by the caller: sizeof of this */
  const char* name;
  const char* unit;
  const char* text;
  const char* component;
  const char* scope;
  size_t writer;
  size_t samples;
  int32_t kind;     /* 0 count, since the start; 1 gauge; 2 count in a bin of a histogram */
  int32_t modelled; /* 1: from a model, not from hardware or the operating system */
  int32_t scaled;   /* 1: some values are extrapolated, the counter ran part of the time */
  int32_t rank;     /* of MPI; -1 outside of it */
} substrata_recording_series;

SUBSTRATA_API size_t substrata_recording_series_count(const substrata_recording* recording);
/* 0, or -1 when there is no such series or struct_size is unknown. */
SUBSTRATA_API int substrata_recording_series_at(const substrata_recording* recording, size_t index,
                                                substrata_recording_series* series);
/* Copies at most `capacity` samples: seconds since the start, not falling, and values (either may be null). Gives
 * how many there are. */
SUBSTRATA_API size_t substrata_recording_samples(const substrata_recording* recording, size_t index,
                                                 double* seconds, double* values, size_t capacity);

typedef struct substrata_recording_region {
  size_t struct_size; /* set by the caller: sizeof of this */
  const char* name;
  double begin; /* seconds since the start */
  double end;
  size_t writer;
  int32_t rank;  /* -1: of all */
  int32_t depth; /* in how many regions of the same writer and rank it lies */
  int32_t open;  /* 1: its end is not in the recording */
  int32_t reserved;
} substrata_recording_region;

/* In the order of their begins. */
SUBSTRATA_API size_t substrata_recording_region_count(const substrata_recording* recording);
SUBSTRATA_API int substrata_recording_region_at(const substrata_recording* recording, size_t index,
                                                substrata_recording_region* region);

#ifdef __cplusplus
}
#endif

#endif
