/* Turns papi.h into the interface of PAPI 7.0 and 7.1; included by it when PAPI_GENERATION_7_0 is defined. */
#ifndef PAPI_PAPI_GENERATION_7_0_H
#define PAPI_PAPI_GENERATION_7_0_H

#undef PAPI_VERSION
#define PAPI_VERSION PAPI_VERSION_NUMBER(7, 0, 0, 0)

#endif
