/* What this library offers beyond PAPI's C interface: value details, group reads, reasons, components'
 * origin. */
#ifndef SUBSTRATA_EXTENSIONS_H
#define SUBSTRATA_EXTENSIONS_H

#include <stddef.h>
#include <stdint.h>
#include <substrata/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Return codes are PAPI's. Eventsets and event codes are PAPI's integers. Every function is thread-safe. */

/* One value and what a careful reader wants to know of it. */
typedef struct substrata_value {
  int64_t value;
  int64_t time_ns;    /* CLOCK_MONOTONIC_RAW when the value was taken */
  int64_t age_ns;     /* how old the number was then */
  int64_t enabled_ns; /* how long the event was enabled, 0 where the substrate does not report it */
  int64_t running_ns; /* how long it was really counting */
  uint32_t flags;     /* SUBSTRATA_VALUE_* */
  uint32_t reserved;
} substrata_value;
#define SUBSTRATA_VALUE_SCALED 1u   /* extrapolated: the counter ran part of the time */
#define SUBSTRATA_VALUE_MODELLED 2u /* from a model, not from hardware or the operating system */
#define SUBSTRATA_VALUE_STALE 4u    /* older than the source's refresh period */
/* Overflows of the event were not delivered, or came so fast that the source may have held the counter back. */
#define SUBSTRATA_VALUE_INCOMPLETE 8u

/* Every value of an eventset with its details; `capacity` entries at `values`, PAPI_EBUF when too few. */
SUBSTRATA_API int substrata_read_values(int eventset, substrata_value* values, unsigned capacity);

/* One time stamp for several sets: every value was taken within time_ns +- skew_ns. */
typedef struct substrata_stamp {
  int64_t time_ns;
  int64_t skew_ns;
} substrata_stamp;
/* Starts all sets or none. */
SUBSTRATA_API int substrata_start_group(const int* eventsets, unsigned count, substrata_stamp* stamp);
/* Reads all sets; their values lie one set after the other. PAPI_EBUF when `capacity` is too small. */
SUBSTRATA_API int substrata_read_group(const int* eventsets, unsigned count, long long* values,
                                       unsigned capacity, substrata_stamp* stamp);
/* Stops all sets; `values` may be null. */
SUBSTRATA_API int substrata_stop_group(const int* eventsets, unsigned count, long long* values,
                                       unsigned capacity, substrata_stamp* stamp);

/* The message of the calling thread's last refusal: what was asked, what refused, what to do. Never null. */
SUBSTRATA_API const char* substrata_last_error(void);

/* What an event is, beyond PAPI_event_info_t. Set struct_size = sizeof(substrata_event) before the call. */
typedef struct substrata_event {
  uint32_t struct_size;
  int32_t component;
  uint32_t kind;       /* 0 count, 1 gauge, 2 bin of a histogram */
  uint32_t type;       /* 0 int64, 1 uint64, 2 double */
  uint32_t width_bits; /* of the counter */
  uint32_t scope;      /* SUBSTRATA_SCOPE_*, 0 unknown */
  uint32_t modelled;   /* 1: comes from a model */
  uint32_t available;  /* 1: opens here */
  char unit[32];
  char why[1024]; /* not available: reason and cure; the last member, cut to fit struct_size */
} substrata_event;
#define SUBSTRATA_SCOPE_THREAD 1u
#define SUBSTRATA_SCOPE_PROCESS 2u
#define SUBSTRATA_SCOPE_CORE 4u
#define SUBSTRATA_SCOPE_PACKAGE 8u
#define SUBSTRATA_SCOPE_NODE 16u
SUBSTRATA_API int substrata_event_info(int code, substrata_event* out);
/* The full name of the index-th of a component's events that are known and do not open here, which enumerations leave
 * out; substrata_event_info says why. Null behind the last, and for a component that is not available. Valid until the
 * calling thread's next call of the library. Thread-safe. */
SUBSTRATA_API const char* substrata_unavailable_event(int component, unsigned index);

/* Where a component comes from: "built-in" or the plug-in's path; null for a bad index. Valid until shutdown.
 */
SUBSTRATA_API const char* substrata_component_origin(int component);

/* The i-th plug-in that was found and refused, as a message; null after the last. Valid until the thread's
   next call. */
SUBSTRATA_API const char* substrata_plugin_refusal(unsigned i);

#ifdef __cplusplus
}
#endif

#endif
