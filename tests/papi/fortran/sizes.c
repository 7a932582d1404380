/* What C says of the structures that the Fortran module declares again. */
#include <papi.h>
#include <stddef.h>

size_t c_size_of(int which) {
  const size_t sizes[] = {
      sizeof(PAPI_component_info_t), sizeof(PAPI_event_info_t),   sizeof(PAPI_hw_info_t),
      sizeof(PAPI_mh_info_t),        sizeof(PAPI_exe_info_t),     sizeof(PAPI_address_map_t),
      sizeof(PAPI_dmem_info_t),      sizeof(PAPI_sprofil_t),      sizeof(PAPI_shlib_info_t),
      sizeof(PAPI_all_thr_spec_t),   sizeof(PAPI_preload_info_t), sizeof(PAPI_multiplex_option_t)};
  return sizes[which - 1];
}
