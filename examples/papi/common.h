/* What the examples share: an event that counts nearly everywhere, and an end with a reason. */
#pragma once

#include <papi.h>
#include <stdio.h>
#include <stdlib.h>

#define TASK_CLOCK "perf::TASK-CLOCK"
#define PAGE_FAULTS "perf::PAGE-FAULTS"

static inline void must(int code, const char* what) {
  if (code == PAPI_OK) return;
  fprintf(stderr, "%s: %s\n", what, PAPI_strerror(code));
  exit(1);
}

static inline void begin(void) {
  const int version = PAPI_library_init(PAPI_VER_CURRENT);
  if (version != PAPI_VER_CURRENT) {
    fprintf(stderr, "PAPI does not start: %s\n", PAPI_strerror(version));
    exit(1);
  }
  if (PAPI_query_named_event(TASK_CLOCK) == PAPI_OK) return;
  puts("the task clock does not count here: see papi_component_avail for the reason");
  exit(77);
}

static inline double compute(int steps) {
  volatile double sum = 0;
  for (int i = 1; i <= steps; ++i) sum = sum + 1.0 / i;
  return sum;
}
