// The library brought up and down: PAPI_library_init, PAPI_is_initialized, PAPI_shutdown.
#include "core/eventset/threads.hpp"
#include "papi/boundary.hpp"
#include "papi/high_level/regions.hpp"

using namespace substrata;
using namespace substrata::capi;

constinit Face substrata::capi::face;

namespace {
// At the end of the process, or of this library in it: then what it started ends with it, as by PAPI_shutdown.
__attribute__((destructor)) void let_go() {
  if (face.up_since == 0) return;
  answered([] {
    library().leave(face);
    return PAPI_OK;
  });
}
}  // namespace

CAPI int PAPI_library_init(int version) {
  // The integer is the only sign of the header, hence of the layouts, a client was compiled with (PA-11).
  if (version != PAPI_VER_CURRENT) return answer(Code::kInvalid);
  return answered([&] {
    const Status status = library().initialise(face);
    return status.ok() ? PAPI_VER_CURRENT : answer(status);
  });
}

CAPI int PAPI_is_initialized(void) {
  if (!is_up()) return PAPI_NOT_INITED;
  return PAPI_LOW_LEVEL_INITED | (thread_id_function_set() ? PAPI_THREAD_LEVEL_INITED : 0);
}

CAPI void PAPI_shutdown(void) {
  answered([&] {
    if (!library().shared_beside(face))
      high_level::Regions::instance().finish(high_level::Regions::End::kShutdown);
    library().shutdown(face);
    return PAPI_OK;
  });
}
