// Time: real and of the calling thread. All usable before initialisation.
#include "core/system/timers.hpp"

#include "papi/boundary.hpp"

using namespace substrata;

CAPI long long PAPI_get_real_cyc(void) { return real_cycles(); }
CAPI long long PAPI_get_real_nsec(void) { return real_ns(); }
CAPI long long PAPI_get_real_usec(void) { return real_us(); }
CAPI long long PAPI_get_virt_cyc(void) { return virtual_cycles(); }
CAPI long long PAPI_get_virt_nsec(void) { return virtual_ns(); }
CAPI long long PAPI_get_virt_usec(void) { return virtual_us(); }
