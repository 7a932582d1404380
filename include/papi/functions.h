/* The 89 functions of the interface. Unless said otherwise a function returns PAPI_OK or a negative error.
 * All may be called first from any thread. */
#ifndef PAPI_PAPI_FUNCTIONS_H
#define PAPI_PAPI_FUNCTIONS_H

#include "devices.h"
#include "structures.h"

/* The library. PAPI_library_init takes PAPI_VER_CURRENT and returns it, or an error. */
int PAPI_library_init(int version);
int PAPI_is_initialized(void);
void PAPI_shutdown(void);
char* PAPI_strerror(int code);     /* NULL for a number that is not an error */
void PAPI_perror(const char* msg); /* prints msg and the last error to stderr */
int PAPI_set_debug(int level);

/* Event sets: made empty, bound to the component of their first event, emptied, destroyed. */
int PAPI_create_eventset(int* EventSet);
int PAPI_assign_eventset_component(int EventSet, int cidx);
int PAPI_get_eventset_component(int EventSet);
int PAPI_add_event(int EventSet, int Event);
int PAPI_add_named_event(int EventSet, const char* EventName);
int PAPI_add_events(int EventSet, int* Events, int number); /* may return how many were added */
int PAPI_remove_event(int EventSet, int EventCode);
int PAPI_remove_named_event(int EventSet, const char* EventName);
int PAPI_remove_events(int EventSet, int* Events, int number);
int PAPI_num_events(int EventSet);
int PAPI_list_events(int EventSet, int* Events, int* number);
int PAPI_cleanup_eventset(int EventSet);
int PAPI_destroy_eventset(int* EventSet);

/* Measuring. values has space for one number per event, in the order in which they were added. */
int PAPI_start(int EventSet);
int PAPI_stop(int EventSet, long long* values); /* values may be NULL */
int PAPI_read(int EventSet, long long* values);
int PAPI_read_ts(int EventSet, long long* values, long long* cyc);
int PAPI_accum(int EventSet, long long* values); /* adds to values, then counts from 0 */
int PAPI_reset(int EventSet);
int PAPI_write(int EventSet, long long* values);
int PAPI_state(int EventSet, int* status);

/* Events: names, codes, descriptions, enumeration. out has space for PAPI_MAX_STR_LEN bytes. */
int PAPI_event_code_to_name(int EventCode, char* out);
int PAPI_event_name_to_code(const char* in, int* out);
int PAPI_get_event_info(int EventCode, PAPI_event_info_t* info);
int PAPI_enum_event(int* EventCode, int modifier);
int PAPI_enum_cmp_event(int* EventCode, int modifier, int cidx);
int PAPI_query_event(int EventCode);
int PAPI_query_named_event(const char* EventName);
int PAPI_get_event_component(int EventCode);

/* Components. */
int PAPI_num_components(void);
const PAPI_component_info_t* PAPI_get_component_info(int cidx);
int PAPI_get_component_index(const char* name);
int PAPI_disable_component(int cidx); /* before PAPI_library_init */
int PAPI_disable_component_by_name(const char* name);
int PAPI_num_cmp_hwctrs(int cidx);
int PAPI_num_hwctrs(void);

/* Options. */
int PAPI_get_opt(int option, PAPI_option_t* ptr);
int PAPI_get_cmp_opt(int option, PAPI_option_t* ptr, int cidx);
int PAPI_set_opt(int option, PAPI_option_t* ptr);
int PAPI_set_domain(int domain);
int PAPI_set_cmp_domain(int domain, int cidx);
int PAPI_set_granularity(int granularity);
int PAPI_set_cmp_granularity(int granularity, int cidx);
int PAPI_attach(int EventSet, unsigned long tid);
int PAPI_detach(int EventSet);
int PAPI_multiplex_init(void);
int PAPI_set_multiplex(int EventSet);
int PAPI_get_multiplex(int EventSet);

/* Overflow and profiles. */
int PAPI_overflow(int EventSet, int EventCode, int threshold, int flags, PAPI_overflow_handler_t handler);
int PAPI_get_overflow_event_index(int Eventset, long long overflow_vector, int* array, int* number);
int PAPI_profil(void* buf, unsigned bufsiz, vptr_t offset, unsigned scale, int EventSet, int EventCode,
                int threshold, int flags);
int PAPI_sprofil(PAPI_sprofil_t* prof, int profcnt, int EventSet, int EventCode, int threshold, int flags);

/* Threads. */
int PAPI_thread_init(unsigned long (*id_fn)(void));
unsigned long PAPI_thread_id(void);
int PAPI_register_thread(void);
int PAPI_unregister_thread(void);
int PAPI_list_threads(PAPI_thread_id_t* tids, int* number);
int PAPI_get_thr_specific(int tag, void** ptr);
int PAPI_set_thr_specific(int tag, void* ptr);
int PAPI_lock(int lck);
int PAPI_unlock(int lck);

/* Time: real and of this thread; cycles of the processor's reference clock, ns, us. */
long long PAPI_get_real_cyc(void);
long long PAPI_get_real_nsec(void);
long long PAPI_get_real_usec(void);
long long PAPI_get_virt_cyc(void);
long long PAPI_get_virt_nsec(void);
long long PAPI_get_virt_usec(void);

/* The machine and this process. */
const PAPI_hw_info_t* PAPI_get_hardware_info(void);
const PAPI_exe_info_t* PAPI_get_executable_info(void);
const PAPI_shlib_info_t* PAPI_get_shared_lib_info(void);
int PAPI_get_dmem_info(PAPI_dmem_info_t* dest);
int PAPI_enum_dev_type(int enum_modifier, void** handle);
int PAPI_get_dev_type_attr(void* handle, PAPI_dev_type_attr_e attr, void* val);
int PAPI_get_dev_attr(void* handle, int id, PAPI_dev_attr_e attr, void* val);

/* Rates: the first call starts, each next one gives seconds, counts and the rate since. */
int PAPI_flips_rate(int event, float* rtime, float* ptime, long long* flpins, float* mflips);
int PAPI_flops_rate(int event, float* rtime, float* ptime, long long* flpops, float* mflops);
int PAPI_ipc(float* rtime, float* ptime, long long* ins, float* ipc);
int PAPI_epc(int event, float* rtime, float* ptime, long long* ref, long long* core, long long* evt,
             float* epc);
int PAPI_rate_stop(void);

/* Regions: events come from PAPI_EVENTS, a report is written at exit. */
int PAPI_hl_region_begin(const char* region);
int PAPI_hl_read(const char* region);
int PAPI_hl_region_end(const char* region);
int PAPI_hl_stop(void);

#endif
