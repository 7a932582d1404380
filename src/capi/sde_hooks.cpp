// What libsde calls in the measuring library when a software-defined counter changes.
#include "capi/boundary.hpp"

#pragma GCC visibility push(default)
extern "C" {
int papi_sde_check_overflow_status(unsigned counter, long long value);
int papi_sde_set_timer_for_overflow(void);
}
#pragma GCC visibility pop

// -1: no eventset here waits for an overflow of that counter. Called on every change of a counter marked by
// sde_ti_set_counter_overflow, possibly before initialisation.
CAPI int papi_sde_check_overflow_status(unsigned, long long) { return -1; }

// -1: no timer was set, the counter is looked at when it changes.
CAPI int papi_sde_set_timer_for_overflow(void) { return -1; }
