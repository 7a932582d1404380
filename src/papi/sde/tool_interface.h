/* The tool's side of libsde: what PAPI's sde component finds by name in a process (sde_ti_*), and calls
 * of our own that let several readers measure one counter without disturbing each other. Installed nowhere:
 * tools look the names up with dlsym. Events are known by a number that never changes and is never given to
 * another name. Thread-safe. */
#pragma once

#include <stdint.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* How many event numbers were given away. */
int sde_ti_get_num_reg_events(void);
/* "LIBRARY::EVENT" and its description; null for a number never given or an event that was unregistered. */
char* sde_ti_get_event_name(int event_id);
char* sde_ti_get_event_description(int event_id);
/* Finds an event, or keeps a number for a name the program may register later. SDE_ENOEVNT unless
 * "LIBRARY::EVENT". */
int sde_ti_name_to_code(const char* event_name, uint32_t* event_code);
/* The value less the value at the last sde_ti_reset_counter (delta mode), the value (instant mode), or the
 * address of a copy (recorders, counting sets). -1 for an event not registered yet. */
int sde_ti_read_counter(uint32_t counter_id, long long* value);
int sde_ti_write_counter(uint32_t counter_id, long long value);
int sde_ti_reset_counter(uint32_t counter_id);
/* 1: a variable of the program (or a recorder's count); 0: any other event. */
int sde_ti_is_simple_counter(uint32_t counter_id);
/* 1: asked to overflow before the program registered it, so that its class is not known yet. */
int sde_ti_is_counter_set_to_overflow(uint32_t counter_id);
/* SDE_OK: increments will call papi_sde_check_overflow_status; 0xFF: the tool must look by a timer;
 * SDE_EINVAL. */
int sde_ti_set_counter_overflow(uint32_t counter_id, int threshold);
int sde_ti_shutdown(void);

/* Of our libsde only. What an event is: its class, type and mode. */
enum {
  SUBSTRATA_SDE_WAITING = 0, /* asked for by name, not registered yet */
  SUBSTRATA_SDE_VARIABLE = 1,
  SUBSTRATA_SDE_CALLBACK = 2,
  SUBSTRATA_SDE_CREATED = 3,
  SUBSTRATA_SDE_GROUP = 4,
  SUBSTRATA_SDE_RECORDER = 5,
  SUBSTRATA_SDE_QUARTILE = 6,
  SUBSTRATA_SDE_RECORDER_COUNT = 7,
  SUBSTRATA_SDE_COUNTING_SET = 8,
  SUBSTRATA_SDE_GONE = 9 /* unregistered */
};
typedef struct substrata_sde_nature {
  int32_t event_class;
  int32_t type; /* PAPI_SDE_long_long, PAPI_SDE_int, PAPI_SDE_double, PAPI_SDE_float */
  int32_t mode; /* PAPI_SDE_RO or RW, PAPI_SDE_DELTA or INSTANT */
} substrata_sde_nature;
/* SDE_EINVAL for a number never given. */
int substrata_sde_nature_of(uint32_t counter_id, substrata_sde_nature* nature);
/* As sde_ti_read_counter, but never less a former value; *nature states what was read. SDE_ENOEVNT when
 * unregistered. */
int substrata_sde_read(uint32_t counter_id, long long* value, substrata_sde_nature* nature);
/* Where the delta counters that a group is made of stand now; to be freed. Null with an error. */
typedef struct substrata_sde_start substrata_sde_start;
int substrata_sde_mark_start(uint32_t group_id, substrata_sde_start** start);
void substrata_sde_free_start(substrata_sde_start* start);
/* As substrata_sde_read, but a group's delta counters are counted from `start` (null: as there). */
int substrata_sde_read_from(uint32_t counter_id, const substrata_sde_start* start, long long* value,
                            substrata_sde_nature* nature);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
