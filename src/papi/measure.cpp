// Measuring: start, stop, read, read_ts, accum, reset, write, state. One call deep into the layer.
#include "core/eventset/measure.hpp"

#include "core/eventset/event_set.hpp"
#include "papi/boundary.hpp"

using namespace substrata;
using namespace substrata::capi;

CAPI int PAPI_start(int EventSet) {
  return answered_quickly([&] { return answer(start_set(EventSet)); });
}

CAPI int PAPI_stop(int EventSet, long long* values) {
  return answered_quickly([&] { return answer(stop_set(EventSet, values_of(values))); });
}

CAPI int PAPI_read(int EventSet, long long* values) { return read_set(EventSet, values_of(values), refused); }

CAPI int PAPI_read_ts(int EventSet, long long* values, long long* cyc) {
  return answered_quickly([&] { return answer(read_set_ts(EventSet, values_of(values), values_of(cyc))); });
}

CAPI int PAPI_accum(int EventSet, long long* values) {
  return answered_quickly([&] { return answer(accumulate_set(EventSet, values_of(values))); });
}

CAPI int PAPI_reset(int EventSet) {
  return answered_quickly([&] { return answer(reset_set(EventSet)); });
}

CAPI int PAPI_write(int EventSet, long long* values) {
  return answered_quickly([&] { return answer(write_set(EventSet, values_of(values))); });
}

CAPI int PAPI_state(int EventSet, int* status) {
  return answered_quickly([&] {
    const Result<uint32_t> state = state_of(EventSet);
    if (!state) return answer(state.status());
    if (status == nullptr) return answer(Code::kInvalid);
    *status = static_cast<int>(*state);
    return PAPI_OK;
  });
}
