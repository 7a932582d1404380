// Overflow and profiles: what they are asked for is checked here; which events overflowed is told.
#include <algorithm>

#include "capi/boundary.hpp"
#include "core/event_set.hpp"

using namespace substrata;
using namespace substrata::capi;

namespace {

// The checks that come before any arming, in PAPI's order of answers.
Status check_overflow(int set, int event, int threshold, bool has_receiver) {
  const Result<uint32_t> state = state_of(set);
  if (!state) return state.status();
  if ((*state & kSetRunning) != 0)
    return refuse(Code::kRunning, "overflow is changed while eventset %d runs", set);
  const Result<std::vector<uint32_t>> events = events_of(set);
  if (!events) return events.status();
  if (std::find(events->begin(), events->end(), static_cast<uint32_t>(event)) == events->end())
    return refuse(Code::kNoEvent, "event 0x%x is not in eventset %d", static_cast<unsigned>(event), set);
  if (threshold < 0) return refuse(Code::kInvalid, "a threshold of %d", threshold);
  if (threshold > 0 && !has_receiver) return refuse(Code::kInvalid, "nobody to tell of an overflow");
  if (threshold == 0) return refuse(Code::kInvalid, "no overflow was set on eventset %d", set);
  return refuse(Code::kNoSupport, "the component of eventset %d does not overflow", set);
}

}  // namespace

CAPI int PAPI_overflow(int EventSet, int EventCode, int threshold, int, PAPI_overflow_handler_t handler) {
  return guarded([&] { return answer(check_overflow(EventSet, EventCode, threshold, handler != nullptr)); });
}

CAPI int PAPI_get_overflow_event_index(int Eventset, long long overflow_vector, int* array, int* number) {
  return guarded([&] {
    if (overflow_vector == 0 || array == nullptr || number == nullptr || *number < 1)
      return answer(refuse(Code::kInvalid, "an overflow vector and room for event positions"));
    const Result<std::vector<int>> positions =
        events_of_vector(Eventset, static_cast<uint64_t>(overflow_vector));
    if (!positions) return answer(positions.status());
    *number = std::min(*number, static_cast<int>(positions->size()));
    std::copy_n(positions->begin(), *number, array);
    return PAPI_OK;
  });
}

CAPI int PAPI_profil(void* buf, unsigned, vptr_t, unsigned, int EventSet, int EventCode, int threshold,
                     int flags) {
  return guarded([&] {
    constexpr int kKnown = PAPI_PROFIL_RANDOM | PAPI_PROFIL_WEIGHTED | PAPI_PROFIL_COMPRESS |
                           PAPI_PROFIL_BUCKETS | PAPI_PROFIL_FORCE_SW | PAPI_PROFIL_DATA_EAR |
                           PAPI_PROFIL_INST_EAR;
    if ((flags & ~kKnown) != 0)
      return answer(refuse(Code::kInvalid, "unknown profile flags 0x%x", flags & ~kKnown));
    return answer(check_overflow(EventSet, EventCode, threshold, buf != nullptr));
  });
}

CAPI int PAPI_sprofil(PAPI_sprofil_t* prof, int profcnt, int EventSet, int EventCode, int threshold, int) {
  return guarded(
      [&] { return answer(check_overflow(EventSet, EventCode, threshold, prof != nullptr && profcnt > 0)); });
}
