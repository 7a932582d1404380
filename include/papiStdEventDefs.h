/* The preset events under the header name that older programs include by itself. */
#ifndef PAPI_STD_EVENT_DEFS_H
#define PAPI_STD_EVENT_DEFS_H

#include "papi/events.h"

#endif
