// The two words that libsde looks for in libpapi: a counter was incremented, and a timer is wanted.
#include <cstdint>

extern "C" {

// The sde substrate's side of overflow, in libsubstrata.
void substrata_sde_overflow(uint32_t counter, long long value) noexcept;

__attribute__((visibility("default"))) int papi_sde_check_overflow_status(unsigned int counter,
                                                                          long long value) {
  substrata_sde_overflow(counter, value);
  return 0;
}

// An event that was armed before the program registered it turned out to be one that a timer must look at.
// The timer runs already: such events are armed by it from the start.
__attribute__((visibility("default"))) int papi_sde_set_timer_for_overflow(void) { return 0; }

}  // extern "C"
