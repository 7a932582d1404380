/* The PAPI interface of the 7.3 generation: version, constants, structures and functions.
 *
 * A program built with this header finds libpapi.so.7.3. Built with PAPI_GENERATION_7_0 defined it gets the
 * layouts and enumerators of PAPI 7.0 and 7.1, and belongs to libpapi.so.7.0.
 */
#ifndef _PAPI
#define _PAPI

/* Programs look for the version line by its text. */
/* clang-format off */
#define PAPI_VERSION_NUMBER(maj, min, rev, inc) (((maj) << 24) | ((min) << 16) | ((rev) << 8) | (inc))
#define PAPI_VERSION PAPI_VERSION_NUMBER(7,3,0,0)
/* clang-format on */
#ifdef PAPI_GENERATION_7_0
#include "papi/generation_7_0.h"
#endif
#define PAPI_VERSION_MAJOR(x) (((x) >> 24) & 0xff)
#define PAPI_VERSION_MINOR(x) (((x) >> 16) & 0xff)
#define PAPI_VERSION_REVISION(x) (((x) >> 8) & 0xff)
#define PAPI_VERSION_INCREMENT(x) ((x)&0xff)
#define PAPI_VER_CURRENT (PAPI_VERSION & ~0xffff)

#include <limits.h>
#include <signal.h>
#include <sys/types.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

#include "papi/constants.h"
#include "papi/events.h"
#include "papi/functions.h"

#define IS_NATIVE(EventCode) (((EventCode)&PAPI_NATIVE_MASK) && !((EventCode)&PAPI_PRESET_MASK))
#define IS_PRESET(EventCode) (((EventCode)&PAPI_PRESET_MASK) && !((EventCode)&PAPI_NATIVE_MASK))
#define IS_USER_DEFINED(EventCode) (((EventCode)&PAPI_PRESET_MASK) && ((EventCode)&PAPI_NATIVE_MASK))
#define PAPI_COMPONENT_INDEX(a) PAPI_get_event_component(a)
#define PAPI_descr_error(a) PAPI_strerror(a)

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
