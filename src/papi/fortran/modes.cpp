// Fortran: domains, granularities, multiplexing, inheritance, threads and locks.
#include "papi/fortran/spelling.hpp"

FORTRAN(set_domain, SET_DOMAIN, (int* domain, int* check)) { *check = PAPI_set_domain(*domain); }
FORTRAN(set_cmp_domain, SET_CMP_DOMAIN, (int* domain, int* component, int* check)) {
  *check = PAPI_set_cmp_domain(*domain, *component);
}
FORTRAN(set_event_domain, SET_EVENT_DOMAIN, (int* set, int* domain, int* check)) {
  PAPI_option_t option{};
  option.domain.eventset = *set;
  option.domain.domain = *domain;
  *check = PAPI_set_opt(PAPI_DOMAIN, &option);
}
// The eventset's setting, or with the mode `default_mode` the default, which is PAPI_get_opt's result.
static int get_setting(int mode, int default_mode, PAPI_option_t* option, const int* of_set, int* out) {
  const int answer = PAPI_get_opt(mode, option);
  const bool is_default = mode == default_mode && answer > 0;
  if (!is_default && answer != PAPI_OK) return answer;
  *out = is_default ? answer : *of_set;
  return PAPI_OK;
}
FORTRAN(get_domain, GET_DOMAIN, (int* set, int* domain, int* mode, int* check)) {
  PAPI_option_t option{};
  option.domain.eventset = *set;
  *check = get_setting(*mode, PAPI_DEFDOM, &option, &option.domain.domain, domain);
}
FORTRAN(set_granularity, SET_GRANULARITY, (int* granularity, int* check)) {
  *check = PAPI_set_granularity(*granularity);
}
FORTRAN(set_cmp_granularity, SET_CMP_GRANULARITY, (int* granularity, int* component, int* check)) {
  *check = PAPI_set_cmp_granularity(*granularity, *component);
}
FORTRAN(get_granularity, GET_GRANULARITY, (int* set, int* granularity, int* mode, int* check)) {
  PAPI_option_t option{};
  option.granularity.eventset = *set;
  *check = get_setting(*mode, PAPI_DEFGRN, &option, &option.granularity.granularity, granularity);
}
// The procedure names no eventset, so there is none to change: PAPI reads an eventset from uninitialised
// memory here.
FORTRAN(set_inherit, SET_INHERIT, (int* inherit, int* check)) {
  PAPI_option_t option{};
  option.inherit.eventset = PAPI_NULL;
  option.inherit.inherit = *inherit;
  *check = PAPI_set_opt(PAPI_INHERIT, &option);
}
FORTRAN(multiplex_init, MULTIPLEX_INIT, (int* check)) { *check = PAPI_multiplex_init(); }
FORTRAN(set_multiplex, SET_MULTIPLEX, (int* set, int* check)) { *check = PAPI_set_multiplex(*set); }
FORTRAN(get_multiplex, GET_MULTIPLEX, (int* set, int* check)) { *check = PAPI_get_multiplex(*set); }

FORTRAN(thread_init, THREAD_INIT, (unsigned long (*id)(void), int* check)) { *check = PAPI_thread_init(id); }
FORTRAN(thread_id, THREAD_ID, (unsigned long* id)) { *id = PAPI_thread_id(); }
FORTRAN(register_thread, REGISTER_THREAD, (int* check)) { *check = PAPI_register_thread(); }
FORTRAN(unregister_thread, UNREGISTER_THREAD, (int* check)) { *check = PAPI_unregister_thread(); }
// The spelling of older PAPIs, kept by PAPI.
FORTRAN(unregster_thread, UNREGSTER_THREAD, (int* check)) { *check = PAPI_unregister_thread(); }
FORTRAN(lock, LOCK, (int* number, int* check)) { *check = PAPI_lock(*number); }
FORTRAN(unlock, unlock, (int* number, int* check)) { *check = PAPI_unlock(*number); }
