#include "client.h"

#include <linux/perf_event.h>
#include <papi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double nanoseconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* The block of `call`, which gives 0 when it went well. */
#define BLOCK(name, call)                                      \
  static double name(int calls) {                              \
    int bad = 0;                                               \
    const double begin = nanoseconds(CLOCK_MONOTONIC);         \
    for (int i = 0; i < calls; ++i) bad |= (call);             \
    const double spent = nanoseconds(CLOCK_MONOTONIC) - begin; \
    return bad != 0 ? -1 : spent / calls;                      \
  }

/* The same while `set` counts. */
#define COUNTING_BLOCK(name, set, call)                    \
  BLOCK(name##_alone, call)                                \
  static double name(int calls) {                          \
    if (PAPI_start(set) != PAPI_OK) return -1;             \
    const double spent = name##_alone(calls);              \
    return PAPI_stop(set, values) == PAPI_OK ? spent : -1; \
  }

static const char* const kEvents[] = {"perf::PAGE-FAULTS", "perf::TASK-CLOCK", "perf::CONTEXT-SWITCHES",
                                      "perf::CPU-MIGRATIONS"};
static const uint64_t kConfigs[] = {PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_TASK_CLOCK,
                                    PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_CPU_MIGRATIONS};
enum { kMost = 4 };

static long long values[kMost];
static uint64_t words[3 + kMost];
static int set_of_1 = PAPI_NULL, set_of_2 = PAPI_NULL, set_of_4 = PAPI_NULL, empty_set = PAPI_NULL;
static int group_of_1 = -1, group_of_2 = -1, group_of_4 = -1;
static int code, preset;
static char name[PAPI_MAX_STR_LEN];
static PAPI_event_info_t info;

static int make_set(int* set, int events) {
  if (*set != PAPI_NULL) return 0;
  if (PAPI_create_eventset(set) != PAPI_OK) return -1;
  for (int i = 0; i < events; ++i)
    if (PAPI_add_named_event(*set, kEvents[i]) != PAPI_OK) return -1;
  return 0;
}

/* As the library opens one: with the times, by which a reader knows that a value is whole. */
static int open_event(uint64_t config, int leader, int grouped, int disabled) {
  struct perf_event_attr attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = config;
  attributes.disabled = disabled != 0;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  if (grouped) attributes.read_format |= PERF_FORMAT_GROUP;
  return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
}
static int make_group(int* group, int events) {
  if (*group >= 0) return 0;
  *group = open_event(kConfigs[0], -1, events > 1, 0);
  for (int i = 1; i < events; ++i)
    if (*group < 0 || open_event(kConfigs[i], *group, 1, 0) < 0) return -1;
  return *group < 0;
}

static int make_1(void) { return make_set(&set_of_1, 1); }
static int make_2(void) { return make_set(&set_of_2, 2); }
static int make_4(void) { return make_set(&set_of_4, 4); }
static int make_group_1(void) { return make_group(&group_of_1, 1); }
static int make_group_2(void) { return make_group(&group_of_2, 2); }
static int make_group_4(void) { return make_group(&group_of_4, 4); }
static int make_empty(void) {
  return make_set(&empty_set, 0) != 0 || PAPI_event_name_to_code(kEvents[0], &code) != PAPI_OK;
}
static int make_codes(void) {
  return PAPI_event_name_to_code(kEvents[0], &code) != PAPI_OK ||
         PAPI_event_name_to_code("PAPI_TOT_INS", &preset) != PAPI_OK;
}
static int make_nothing(void) { return 0; }
static int make_region(void) {
  return PAPI_hl_region_begin("r") != PAPI_OK || PAPI_hl_region_end("r") != PAPI_OK;
}

static int open_and_close(void) {
  const int file = open_event(kConfigs[0], -1, 0, 1);
  return file < 0 || close(file) != 0;
}
static int read_group(int group, size_t bytes) { return read(group, words, bytes) != (ssize_t)bytes; }

BLOCK(bare_read_1, read_group(group_of_1, 24))
BLOCK(bare_read_2, read_group(group_of_2, 40))
BLOCK(bare_read_4, read_group(group_of_4, 56))
BLOCK(bare_open, open_and_close())
COUNTING_BLOCK(read_1, set_of_1, PAPI_read(set_of_1, values))
COUNTING_BLOCK(read_2, set_of_2, PAPI_read(set_of_2, values))
COUNTING_BLOCK(read_4, set_of_4, PAPI_read(set_of_4, values))
COUNTING_BLOCK(accum_1, set_of_1, PAPI_accum(set_of_1, values))
COUNTING_BLOCK(accum_2, set_of_2, PAPI_accum(set_of_2, values))
COUNTING_BLOCK(reset_1, set_of_1, PAPI_reset(set_of_1))
COUNTING_BLOCK(reset_2, set_of_2, PAPI_reset(set_of_2))
BLOCK(start_stop_1, PAPI_start(set_of_1) != PAPI_OK || PAPI_stop(set_of_1, values) != PAPI_OK)
BLOCK(start_stop_2, PAPI_start(set_of_2) != PAPI_OK || PAPI_stop(set_of_2, values) != PAPI_OK)
BLOCK(add_remove, PAPI_add_event(empty_set, code) != PAPI_OK || PAPI_remove_event(empty_set, code) != PAPI_OK)
BLOCK(name_to_code, PAPI_event_name_to_code(kEvents[0], &code))
BLOCK(preset_to_code, PAPI_event_name_to_code("PAPI_TOT_INS", &preset))
BLOCK(code_to_name, PAPI_event_code_to_name(code, name))
BLOCK(event_info, PAPI_get_event_info(code, &info))
BLOCK(real_nsec, PAPI_get_real_nsec() == 0)
BLOCK(region, PAPI_hl_region_begin("r") != PAPI_OK || PAPI_hl_region_end("r") != PAPI_OK)

/* The region comes last: from then on the high-level interface has the thread's counters. */
const struct measure measures[] = {
    {"bare read of 1", NULL, 1000, make_group_1, bare_read_1},
    {"bare read of 2", NULL, 1000, make_group_2, bare_read_2},
    {"bare read of 4", NULL, 1000, make_group_4, bare_read_4},
    {"bare open and close", NULL, 100, make_nothing, bare_open},
    {"read of 1", "bare read of 1", 1000, make_1, read_1},
    {"read of 2", "bare read of 2", 1000, make_2, read_2},
    {"read of 4", "bare read of 4", 1000, make_4, read_4},
    {"accum of 1", "bare read of 1", 1000, make_1, accum_1},
    {"accum of 2", "bare read of 2", 1000, make_2, accum_2},
    {"reset of 1", "bare read of 1", 1000, make_1, reset_1},
    {"reset of 2", "bare read of 2", 1000, make_2, reset_2},
    {"start and stop of 1", NULL, 300, make_1, start_stop_1},
    {"start and stop of 2", NULL, 300, make_2, start_stop_2},
    {"add and remove", "bare open and close", 100, make_empty, add_remove},
    {"name to code, native", NULL, 10000, make_codes, name_to_code},
    {"name to code, preset", NULL, 10000, make_codes, preset_to_code},
    {"code to name", NULL, 10000, make_codes, code_to_name},
    {"event info", NULL, 5000, make_codes, event_info},
    {"real_nsec", NULL, 10000, make_nothing, real_nsec},
    {"region of 1", "bare read of 1", 300, make_region, region},
    {NULL, NULL, 0, NULL, NULL},
};

int serve(void) {
  static int made[sizeof measures / sizeof *measures]; /* 1: ready, -1: cannot be measured here */
  const double before = nanoseconds(CLOCK_PROCESS_CPUTIME_ID);
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) return 1;
  printf("%.0f\n", nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - before);
  fflush(stdout);
  int number;
  while (scanf("%d", &number) == 1) {
    if (number < 0 || number >= (int)(sizeof measures / sizeof *measures) - 1) return 1;
    const struct measure* const one = &measures[number];
    if (made[number] == 0) made[number] = one->make() == 0 ? 1 : -1;
    printf("%.3f\n", made[number] < 0 ? -1.0 : one->block(one->calls));
    fflush(stdout);
  }
  return 0;
}
