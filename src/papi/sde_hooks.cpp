// What libsde calls in the measuring library when a software-defined counter changes.
#include <cstdint>

#include "papi/boundary.hpp"

#pragma GCC visibility push(default)
extern "C" {
int papi_sde_check_overflow_status(unsigned counter, long long value);
int papi_sde_set_timer_for_overflow(void);
// The sde substrate's ear for increments, in libsubstrata.
void substrata_sde_overflow(uint32_t counter, long long value) noexcept;
}
#pragma GCC visibility pop

// Called on every change of a counter marked by sde_ti_set_counter_overflow, in the thread that changes it,
// possibly before initialisation. Always 0.
CAPI int papi_sde_check_overflow_status(unsigned counter, long long value) {
  substrata_sde_overflow(counter, value);
  return 0;
}

// An event that was armed before the program registered it turned out to be one that a timer has to look at.
// It was armed with a timer from the start. Always 0.
CAPI int papi_sde_set_timer_for_overflow(void) { return 0; }
