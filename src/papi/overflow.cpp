// Overflow: what a client asks for, which events an overflow vector names, and what libsde calls when a
// software-defined counter changes.
#include "core/eventset/overflow.hpp"

#include <algorithm>
#include <cstdint>

#include "core/eventset/event_set.hpp"
#include "papi/boundary.hpp"

#pragma GCC visibility push(default)
extern "C" {
int papi_sde_check_overflow_status(unsigned counter, long long value);
int papi_sde_set_timer_for_overflow(void);
// The sde substrate's ear for increments, in libsubstrata.
void substrata_sde_overflow(uint32_t counter, long long value) noexcept;
}
#pragma GCC visibility pop

using namespace substrata;
using namespace substrata::capi;

CAPI int PAPI_overflow(int EventSet, int EventCode, int threshold, int flags,
                       PAPI_overflow_handler_t handler) {
  return answered([&] {
    const auto code = static_cast<uint32_t>(EventCode);
    if (threshold == 0) return answer(clear_overflow(EventSet, code));
    OverflowBy by = OverflowBy::kEither;  // as in PAPI, other bits mean nothing and FORCE_SW goes first
    if ((flags & PAPI_OVERFLOW_HARDWARE) != 0) by = OverflowBy::kSubstrate;
    if ((flags & PAPI_OVERFLOW_FORCE_SW) != 0) by = OverflowBy::kTimer;
    return answer(set_overflow(EventSet, code, threshold, by, handler));
  });
}

CAPI int PAPI_get_overflow_event_index(int Eventset, long long overflow_vector, int* array, int* number) {
  return answered([&] {
    if (overflow_vector == 0 || array == nullptr || number == nullptr || *number < 1)
      return answer(
          refuse(Code::kInvalid, "an overflow vector and places for event positions were expected"));
    const Result<std::vector<int>> positions =
        events_of_vector(Eventset, static_cast<uint64_t>(overflow_vector));
    if (!positions) return answer(positions.status());
    *number = std::min(*number, static_cast<int>(positions->size()));
    std::copy_n(positions->begin(), *number, array);
    return PAPI_OK;
  });
}

// Called on every change of a counter marked by sde_ti_set_counter_overflow, in the thread that changes it,
// possibly before initialisation. Always 0.
CAPI int papi_sde_check_overflow_status(unsigned counter, long long value) {
  substrata_sde_overflow(counter, value);
  return 0;
}

// An event that was armed before the program registered it turned out to be one that a timer has to look at.
// It was armed with a timer from the start. Always 0.
CAPI int papi_sde_set_timer_for_overflow(void) { return 0; }
