/* sde_lib.h in strict C99, with everything in it that is more than a declaration. */
#include "sde_lib.h"

papi_handle_t papi_sde_hook_list_events(papi_sde_fptr_struct_t* calls);

papi_handle_t papi_sde_hook_list_events(papi_sde_fptr_struct_t* calls) {
  papi_handle_t library = calls->init("header");
  long long bits = 0;
  SDEDBG("value %g %g\n", GET_DOUBLE_SDE(bits), (double)GET_FLOAT_SDE(bits));
  SDE_ERROR("%s", "nothing is wrong");
  return GET_SDE_RECORDER_ADDRESS(bits, double) == NULL ? library : NULL;
}

void fill(papi_sde_fptr_struct_t* calls);
void fill(papi_sde_fptr_struct_t* calls) { POPULATE_SDE_FPTR_STRUCT((*calls)); }
