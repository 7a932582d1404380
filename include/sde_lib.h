/* The program's side of software-defined events: a library or code publishes numbers of its own under names,
 * and a tool reads them through PAPI as sde:::LIBRARY::EVENT.
 *
 * Source and binary compatible with the libsde of PAPI 7. Differences are listed in docs/reference/sde.md.
 *
 * Every function may be called from any thread. A null library or counter handle makes a call succeed without
 * effect, so that a code may publish or not by one choice at start. All return SDE_OK or one of the errors
 * below, unless said otherwise. Nothing prints unless PAPI_VERBOSE or PAPI_DEBUG asks for it.
 */
#ifndef PAPI_SDE_LIB_H
#define PAPI_SDE_LIB_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The version of this interface. */
#define PAPI_SDE_VERSION_NUMBER(_maj, _min) (((_maj) << 16) | (_min))
#define PAPI_SDE_VERSION PAPI_SDE_VERSION_NUMBER(1, 0)

/* Mode of a counter: may a tool write it, and is the value or its change since the start reported. One of
 * each, combined with |. */
#define PAPI_SDE_RO 0x00
#define PAPI_SDE_RW 0x01
#define PAPI_SDE_DELTA 0x00
#define PAPI_SDE_INSTANT 0x10

/* Type of a registered counter. A tool gets double and float as the bits of a double. */
#define PAPI_SDE_long_long 0x0
#define PAPI_SDE_int 0x1
#define PAPI_SDE_double 0x2
#define PAPI_SDE_float 0x3

/* What a group makes of its members. */
#define PAPI_SDE_SUM 0x0
#define PAPI_SDE_MAX 0x1
#define PAPI_SDE_MIN 0x2

/* Results; the numbers are those of PAPI. */
#define SDE_OK 0
#define SDE_EINVAL -1
#define SDE_ENOMEM -2
#define SDE_ECMP -4
#define SDE_ENOEVNT -7
#define SDE_EMISC -14

/* Other names of the same calls. */
#define register_fp_counter register_counter_cb
#define papi_sde_register_fp_counter papi_sde_register_counter_cb
#define destroy_counter unregister_counter
#define destroy_counting_set unregister_counter
#define papi_sde_destroy_counter papi_sde_unregister_counter
#define papi_sde_destroy_counting_set papi_sde_unregister_counter

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Not zero: SDE_ERROR and SDEDBG print to standard error. Set from PAPI_VERBOSE and PAPI_DEBUG by
 * papi_sde_init. */
extern int _sde_be_verbose;
extern int _sde_debug;

#define SDEDBG(...)                 \
  {                                 \
    if (_sde_debug) {               \
      fprintf(stderr, __VA_ARGS__); \
    }                               \
  }

/* Reports an error on standard error if _sde_be_verbose is set. */
static inline void SDE_ERROR(const char* format, ...) {
  va_list arguments;
  if (!_sde_be_verbose) return;
  va_start(arguments, format);
  fputs("PAPI SDE Error: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
}

/* The number behind a value that a tool read from a counter of type PAPI_SDE_double or PAPI_SDE_float. */
static inline double papi_sde_double_of(long long value) {
  double number;
  memcpy(&number, &value, sizeof number);
  return number;
}
#define GET_DOUBLE_SDE(x) papi_sde_double_of(x)
#define GET_FLOAT_SDE(x) ((float)papi_sde_double_of(x))

/* The array behind a value that a tool read from a recorder, for example
 *   double *first = GET_SDE_RECORDER_ADDRESS(value, double);
 * Each reading makes a new array, which belongs to the reader, who releases it with free(). */
#define GET_SDE_RECORDER_ADDRESS(x, rcrd_type) ((rcrd_type*)(intptr_t)(x))

/* What a tool gets from a counting set: the address of the first element of a list, or 0 of an empty set. The
 * elements and what ptr points to are new with each reading and belong to the reader: free(ptr), then the
 * element. */
typedef struct cset_list_object_s cset_list_object_t;
struct cset_list_object_s {
  uint32_t count;   /* how often it was inserted, less how often removed */
  uint32_t type_id; /* as given at insertion */
  size_t type_size; /* bytes at ptr */
  void* ptr;        /* a copy of what was inserted */
  cset_list_object_t* next;
};

/* A callback counter's function; for types other than long long it is cast to this type and called as a
 * function returning the type it was registered with. It runs in the thread that reads. */
typedef long long int (*papi_sde_fptr_t)(void*);
typedef int (*papi_sde_cmpr_fptr_t)(void*);
typedef void* papi_handle_t;

/* The calls as a table, for a library that must not link to libsde: its papi_sde_hook_list_events gets one.
 */
typedef struct papi_sde_fptr_struct_s {
  papi_handle_t (*init)(const char* lib_name);
  int (*shutdown)(papi_handle_t handle);
  int (*register_counter)(papi_handle_t handle, const char* event_name, int mode, int type, void* counter);
  int (*register_counter_cb)(papi_handle_t handle, const char* event_name, int mode, int type,
                             papi_sde_fptr_t callback, void* param);
  int (*unregister_counter)(papi_handle_t handle, const char* event_name);
  int (*describe_counter)(papi_handle_t handle, const char* event_name, const char* event_description);
  int (*add_counter_to_group)(papi_handle_t handle, const char* event_name, const char* group_name,
                              uint32_t group_flags);
  int (*create_counter)(papi_handle_t handle, const char* event_name, int cntr_type, void** cntr_handle);
  int (*inc_counter)(papi_handle_t cntr_handle, long long int increment);
  int (*create_recorder)(papi_handle_t handle, const char* event_name, size_t typesize,
                         int (*cmpr_func_ptr)(const void* p1, const void* p2), void** record_handle);
  int (*create_counting_set)(papi_handle_t handle, const char* cset_name, void** cset_handle);
  int (*counting_set_insert)(void* cset_handle, size_t element_size, size_t hashable_size,
                             const void* element, uint32_t type_id);
  int (*counting_set_remove)(void* cset_handle, size_t hashable_size, const void* element, uint32_t type_id);
  int (*record)(void* record_handle, size_t typesize, const void* value);
  int (*reset_recorder)(void* record_handle);
  int (*reset_counter)(void* cntr_handle);
  void* (*get_counter_handle)(papi_handle_t handle, const char* event_name);
} papi_sde_fptr_struct_t;

/* The handle of a library of this name, new or known; null if there is no name or no memory. */
papi_handle_t papi_sde_init(const char* name_of_library);

/* Unregisters every event of the library. */
int papi_sde_shutdown(papi_handle_t handle);

/* Publishes the program's own variable. It must live until it is unregistered. A name that is registered
 * already keeps its first variable. */
int papi_sde_register_counter(papi_handle_t handle, const char* event_name, int cntr_mode, int cntr_type,
                              void* counter);

/* Publishes what callback(param) returns when a tool reads. */
int papi_sde_register_counter_cb(papi_handle_t handle, const char* event_name, int cntr_mode, int cntr_type,
                                 papi_sde_fptr_t callback, void* param);

/* Takes an event of any class back; returns when no reader uses its variable any more. */
int papi_sde_unregister_counter(void* handle, const char* event_name);

/* Gives an event a description for people. */
int papi_sde_describe_counter(papi_handle_t handle, const char* event_name, const char* event_description);

/* Adds an event to a group of the same library, which is made if it is not there. Members are all integers or
 * all floating point; the flags (PAPI_SDE_SUM, MAX or MIN) are the same in every call. */
int papi_sde_add_counter_to_group(papi_handle_t handle, const char* event_name, const char* group_name,
                                  uint32_t group_flags);

/* A counter that libsde keeps, changed by papi_sde_inc_counter (one atomic addition, no lock) and set to 0 by
 * papi_sde_reset_counter; *cntr_handle, if given, gets its handle. Only these can overflow at the very
 * increment. */
int papi_sde_create_counter(papi_handle_t handle, const char* event_name, int cntr_mode, void** cntr_handle);
int papi_sde_inc_counter(void* cntr_handle, long long int increment);
int papi_sde_reset_counter(void* cntr_handle);

/* A recorder keeps every value of typesize bytes given to papi_sde_record. Published are the array NAME, the
 * number of values NAME:CNT and, with a comparison function as of qsort, copies of the values NAME:MIN, :Q1,
 * :MED, :Q3 and :MAX. papi_sde_reset_recorder forgets the values. */
int papi_sde_create_recorder(papi_handle_t handle, const char* event_name, size_t typesize,
                             int (*cmpr_func_ptr)(const void* p1, const void* p2), void** record_handle);
int papi_sde_record(void* record_handle, size_t typesize, const void* value);
int papi_sde_reset_recorder(void* record_handle);

/* A counting set counts how often each distinct element was inserted. Elements are equal if type_id,
 * element_size and all bytes are; the first hashable_size bytes lead to them, and are what
 * papi_sde_counting_set_remove goes by. */
int papi_sde_create_counting_set(papi_handle_t handle, const char* cset_name, void** cset_handle);
int papi_sde_counting_set_insert(void* cset_handle, size_t element_size, size_t hashable_size,
                                 const void* element, uint32_t type_id);
int papi_sde_counting_set_remove(void* cset_handle, size_t hashable_size, const void* element,
                                 uint32_t type_id);

/* The handle of an event that has a name, registered or only asked for; null if there is none. */
void* papi_sde_get_counter_handle(papi_handle_t handle, const char* event_name);

/* Comparison functions for recorders. */
int papi_sde_compare_long_long(const void* p1, const void* p2);
int papi_sde_compare_int(const void* p1, const void* p2);
int papi_sde_compare_double(const void* p1, const void* p2);
int papi_sde_compare_float(const void* p1, const void* p2);

/* Written by the library that publishes, called by tools that list events without running it
 * (papi_native_avail): registers every event with the calls given and returns the library's handle. */
papi_handle_t papi_sde_hook_list_events(papi_sde_fptr_struct_t* fptr_struct);

/* Fills such a table. */
#define POPULATE_SDE_FPTR_STRUCT(_A_)                         \
  do {                                                        \
    _A_.init = papi_sde_init;                                 \
    _A_.shutdown = papi_sde_shutdown;                         \
    _A_.register_counter = papi_sde_register_counter;         \
    _A_.register_counter_cb = papi_sde_register_counter_cb;   \
    _A_.unregister_counter = papi_sde_unregister_counter;     \
    _A_.describe_counter = papi_sde_describe_counter;         \
    _A_.add_counter_to_group = papi_sde_add_counter_to_group; \
    _A_.create_counter = papi_sde_create_counter;             \
    _A_.inc_counter = papi_sde_inc_counter;                   \
    _A_.create_recorder = papi_sde_create_recorder;           \
    _A_.create_counting_set = papi_sde_create_counting_set;   \
    _A_.counting_set_insert = papi_sde_counting_set_insert;   \
    _A_.counting_set_remove = papi_sde_counting_set_remove;   \
    _A_.record = papi_sde_record;                             \
    _A_.reset_recorder = papi_sde_reset_recorder;             \
    _A_.reset_counter = papi_sde_reset_counter;               \
    _A_.get_counter_handle = papi_sde_get_counter_handle;     \
  } while (0)

#ifdef __cplusplus
}
#endif

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif
