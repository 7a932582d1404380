/* A library that publishes software-defined events when a tool asks for them, as papi_native_avail -sde does.
 */
#include <sde_lib.h>

static long long solved, iterations;

papi_handle_t papi_sde_hook_list_events(papi_sde_fptr_struct_t* calls) {
  papi_handle_t handle = calls->init("Solver");
  calls->register_counter(handle, "SOLVED", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long, &solved);
  calls->describe_counter(handle, "SOLVED", "systems solved");
  calls->register_counter(handle, "ITERATIONS", PAPI_SDE_RO | PAPI_SDE_DELTA, PAPI_SDE_long_long,
                          &iterations);
  return handle;
}
