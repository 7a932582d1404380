// Fortran: the library, eventsets and measuring.
#include "papi/fortran/spelling.hpp"

using namespace substrata::capi;

FORTRAN(library_init, LIBRARY_INIT, (int* check)) { *check = PAPI_library_init(*check); }
FORTRAN(is_initialized, IS_INITIALIZED, (int* level)) { *level = PAPI_is_initialized(); }
FORTRAN(shutdown, SHUTDOWN, (void)) { PAPI_shutdown(); }
FORTRAN(set_debug, SET_DEBUG, (int* level, int* check)) { *check = PAPI_set_debug(*level); }
FORTRAN(perror, PERROR, (const char* message, size_t length)) {
  PAPI_perror(from_fortran(message, length).c_str());
}

FORTRAN(create_eventset, CREATE_EVENTSET, (int* set, int* check)) { *check = PAPI_create_eventset(set); }
FORTRAN(destroy_eventset, DESTROY_EVENTSET, (int* set, int* check)) { *check = PAPI_destroy_eventset(set); }
FORTRAN(cleanup_eventset, CLEANUP_EVENTSET, (int* set, int* check)) { *check = PAPI_cleanup_eventset(*set); }
FORTRAN(assign_eventset_component, ASSIGN_EVENTSET_COMPONENT, (int* set, int* component, int* check)) {
  *check = PAPI_assign_eventset_component(*set, *component);
}
FORTRAN(add_event, ADD_EVENT, (int* set, int* event, int* check)) { *check = PAPI_add_event(*set, *event); }
FORTRAN(add_named_event, ADD_NAMED_EVENT, (int* set, const char* name, int* check, size_t length)) {
  *check = PAPI_add_named_event(*set, from_fortran(name, length).c_str());
}
FORTRAN(add_events, ADD_EVENTS, (int* set, int* events, int* number, int* check)) {
  *check = PAPI_add_events(*set, events, *number);
}
FORTRAN(remove_event, REMOVE_EVENT, (int* set, int* event, int* check)) {
  *check = PAPI_remove_event(*set, *event);
}
FORTRAN(remove_named_event, REMOVE_NAMED_EVENT, (int* set, const char* name, int* check, size_t length)) {
  *check = PAPI_remove_named_event(*set, from_fortran(name, length).c_str());
}
FORTRAN(remove_events, REMOVE_EVENTS, (int* set, int* events, int* number, int* check)) {
  *check = PAPI_remove_events(*set, events, *number);
}
FORTRAN(num_events, NUM_EVENTS, (int* set, int* count)) { *count = PAPI_num_events(*set); }
FORTRAN(list_events, LIST_EVENTS, (int* set, int* events, int* number, int* check)) {
  *check = PAPI_list_events(*set, events, number);
}

FORTRAN(start, START, (int* set, int* check)) { *check = PAPI_start(*set); }
FORTRAN(stop, STOP, (int* set, long long* values, int* check)) { *check = PAPI_stop(*set, values); }
FORTRAN(read, READ, (int* set, long long* values, int* check)) { *check = PAPI_read(*set, values); }
FORTRAN(read_ts, READ_TS, (int* set, long long* values, long long* cycles, int* check)) {
  *check = PAPI_read_ts(*set, values, cycles);
}
FORTRAN(accum, ACCUM, (int* set, long long* values, int* check)) { *check = PAPI_accum(*set, values); }
FORTRAN(reset, RESET, (int* set, int* check)) { *check = PAPI_reset(*set); }
FORTRAN(write, WRITE, (int* set, long long* values, int* check)) { *check = PAPI_write(*set, values); }
FORTRAN(state, STATE, (int* set, int* status, int* check)) { *check = PAPI_state(*set, status); }

FORTRAN(flips_rate, FLIPS_RATE,
        (int* event, float* real, float* process, long long* count, float* rate, int* check)) {
  *check = PAPI_flips_rate(*event, real, process, count, rate);
}
FORTRAN(flops_rate, FLOPS_RATE,
        (int* event, float* real, float* process, long long* count, float* rate, int* check)) {
  *check = PAPI_flops_rate(*event, real, process, count, rate);
}
FORTRAN(ipc, IPC, (float* real, float* process, long long* count, float* rate, int* check)) {
  *check = PAPI_ipc(real, process, count, rate);
}
FORTRAN(epc, EPC,
        (int* event, float* real, float* process, long long* reference, long long* core, long long* count,
         float* rate, int* check)) {
  *check = PAPI_epc(*event, real, process, reference, core, count, rate);
}
FORTRAN(rate_stop, RATE_STOP, (int* check)) { *check = PAPI_rate_stop(); }

FORTRAN(hl_region_begin, HL_REGION_BEGIN, (const char* region, int* check, size_t length)) {
  *check = PAPI_hl_region_begin(from_fortran(region, length).c_str());
}
FORTRAN(hl_read, HL_READ, (const char* region, int* check, size_t length)) {
  *check = PAPI_hl_read(from_fortran(region, length).c_str());
}
FORTRAN(hl_region_end, HL_REGION_END, (const char* region, int* check, size_t length)) {
  *check = PAPI_hl_region_end(from_fortran(region, length).c_str());
}
FORTRAN(hl_stop, HL_STOP, (int* check)) { *check = PAPI_hl_stop(); }
