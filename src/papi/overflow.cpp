// Overflow: what a client asks for, and which events an overflow vector names.
#include "eventset/overflow.hpp"

#include <algorithm>

#include "eventset/event_set.hpp"
#include "papi/boundary.hpp"

using namespace substrata;
using namespace substrata::capi;

CAPI int PAPI_overflow(int EventSet, int EventCode, int threshold, int flags,
                       PAPI_overflow_handler_t handler) {
  return answered([&] {
    const auto code = static_cast<uint32_t>(EventCode);
    if (threshold == 0) return answer(clear_overflow(EventSet, code));
    constexpr int kKnown = PAPI_OVERFLOW_FORCE_SW | PAPI_OVERFLOW_HARDWARE;
    if ((flags & ~kKnown) != 0 || (flags & kKnown) == kKnown)
      return answer(refuse(Code::kInvalid, "overflow flags 0x%x; one of FORCE_SW, HARDWARE, or 0", flags));
    OverflowBy by = OverflowBy::kEither;
    if ((flags & PAPI_OVERFLOW_FORCE_SW) != 0) by = OverflowBy::kTimer;
    if ((flags & PAPI_OVERFLOW_HARDWARE) != 0) by = OverflowBy::kSubstrate;
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
