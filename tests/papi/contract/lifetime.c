/* Questions before the library is initialised, and about its start, end and forked children. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "questions.h"

void before_initialisation(void) {
  int set = PAPI_NULL, number = 4, code = PAPI_TOT_CYC, list[4];
  unsigned long ids[4];
  void* pointer = NULL;
  char name[PAPI_HUGE_STR_LEN];
  static PAPI_event_info_t info;
  static PAPI_option_t option;
  PAPI_dmem_info_t memory;
  const char* const none = "not initialised";
  chapter = "uninitialised";
  ASK_ASIDE("PAPI_is_initialized", none, PAPI_is_initialized());
  ASK_ASIDE("PAPI_create_eventset", none, PAPI_create_eventset(&set));
  ASK_ASIDE("PAPI_destroy_eventset", none, PAPI_destroy_eventset(&set));
  ASK_ASIDE("PAPI_cleanup_eventset", none, PAPI_cleanup_eventset(0));
  ASK_ASIDE("PAPI_assign_eventset_component", none, PAPI_assign_eventset_component(0, 0));
  ASK_ASIDE("PAPI_get_eventset_component", none, PAPI_get_eventset_component(0));
  ASK_ASIDE("PAPI_add_event", none, PAPI_add_event(0, code));
  ASK_ASIDE("PAPI_add_named_event", none, PAPI_add_named_event(0, kClock));
  ASK_ASIDE("PAPI_add_events", none, PAPI_add_events(0, &code, 1));
  ASK_ASIDE("PAPI_remove_event", none, PAPI_remove_event(0, code));
  ASK_ASIDE("PAPI_num_events", none, PAPI_num_events(0));
  ASK_ASIDE("PAPI_list_events", none, PAPI_list_events(0, list, &number));
  ASK_ASIDE("PAPI_start", none, PAPI_start(0));
  ASK_ASIDE("PAPI_stop", none, PAPI_stop(0, values));
  ASK_ASIDE("PAPI_read", none, PAPI_read(0, values));
  ASK_ASIDE("PAPI_read_ts", none, PAPI_read_ts(0, values, &cycles));
  ASK_ASIDE("PAPI_accum", none, PAPI_accum(0, values));
  ASK_ASIDE("PAPI_reset", none, PAPI_reset(0));
  ASK_ASIDE("PAPI_write", none, PAPI_write(0, values));
  ASK_ASIDE("PAPI_state", none, PAPI_state(0, &number));
  ASK_ASIDE("PAPI_query_event", none, PAPI_query_event(code));
  ASK_ASIDE("PAPI_query_named_event", none, PAPI_query_named_event(kClock));
  ASK_ASIDE("PAPI_event_name_to_code", none, PAPI_event_name_to_code("PAPI_TOT_CYC", &code));
  ASK_ASIDE("PAPI_event_code_to_name", none, PAPI_event_code_to_name(code, name));
  ASK_ASIDE("PAPI_get_event_info", none, PAPI_get_event_info(code, &info));
  ASK_ASIDE("PAPI_enum_event", none, PAPI_enum_event(&code, PAPI_ENUM_FIRST));
  ASK_ASIDE("PAPI_num_components > 0", none, PAPI_num_components() > 0);
  ASK_ASIDE("PAPI_get_component_info(0) there", none, PAPI_get_component_info(0) != NULL);
  ASK_ASIDE("PAPI_get_component_index(perf_event)", none, PAPI_get_component_index("perf_event"));
  ASK_ASIDE("PAPI_get_event_component", none, PAPI_get_event_component(code));
  ASK_ASIDE("PAPI_num_cmp_hwctrs", none, PAPI_num_cmp_hwctrs(0));
  ASK_ASIDE("PAPI_num_hwctrs", none, PAPI_num_hwctrs());
  ASK_ASIDE("PAPI_get_hardware_info there", none, PAPI_get_hardware_info() != NULL);
  ASK_ASIDE("PAPI_get_executable_info there", none, PAPI_get_executable_info() != NULL);
  ASK_ASIDE("PAPI_get_shared_lib_info there", none, PAPI_get_shared_lib_info() != NULL);
  ASK_ASIDE("PAPI_get_dmem_info", none, PAPI_get_dmem_info(&memory));
  ASK_ASIDE("PAPI_get_opt(LIB_VERSION)", none, PAPI_get_opt(PAPI_LIB_VERSION, NULL));
  ASK_ASIDE("PAPI_get_opt(CLOCKRATE)", none, PAPI_get_opt(PAPI_CLOCKRATE, NULL));
  ASK_ASIDE("PAPI_get_opt(MAX_CPUS)", none, PAPI_get_opt(PAPI_MAX_CPUS, NULL));
  ASK_ASIDE("PAPI_set_opt(DEFDOM)", none, PAPI_set_opt(PAPI_DEFDOM, &option));
  ASK_ASIDE("PAPI_set_domain", none, PAPI_set_domain(PAPI_DOM_USER));
  ASK_ASIDE("PAPI_set_cmp_domain", none, PAPI_set_cmp_domain(PAPI_DOM_USER, 0));
  ASK_ASIDE("PAPI_set_granularity", none, PAPI_set_granularity(PAPI_GRN_THR));
  ASK_ASIDE("PAPI_set_debug(QUIET)", none, PAPI_set_debug(PAPI_QUIET));
  ASK_ASIDE("PAPI_get_real_usec > 0", none, PAPI_get_real_usec() > 0);
  ASK_ASIDE("PAPI_get_real_nsec > 0", none, PAPI_get_real_nsec() > 0);
  ASK_ASIDE("PAPI_get_real_cyc > 0", none, PAPI_get_real_cyc() > 0);
  ASK_ASIDE("PAPI_get_virt_nsec > 0", none, PAPI_get_virt_nsec() > 0);
  ASK_ASIDE("PAPI_get_virt_cyc > 0", none, PAPI_get_virt_cyc() > 0);
  ASK_ASIDE("PAPI_thread_init", none, PAPI_thread_init(by_pthread));
  ASK_ASIDE("PAPI_thread_id", none, PAPI_thread_id());
  ASK_ASIDE("PAPI_register_thread", none, PAPI_register_thread());
  ASK_ASIDE("PAPI_unregister_thread", none, PAPI_unregister_thread());
  ASK_ASIDE("PAPI_list_threads", none, PAPI_list_threads(ids, &number));
  ASK_ASIDE("PAPI_get_thr_specific", none, PAPI_get_thr_specific(PAPI_USR1_TLS, &pointer));
  ASK_ASIDE("PAPI_set_thr_specific", none, PAPI_set_thr_specific(PAPI_USR1_TLS, pointer));
  ASK_ASIDE("PAPI_lock", none, PAPI_lock(PAPI_USR1_LOCK));
  ASK_ASIDE("PAPI_multiplex_init", none, PAPI_multiplex_init());
  ASK_ASIDE("PAPI_set_multiplex", none, PAPI_set_multiplex(0));
  ASK_ASIDE("PAPI_get_multiplex", none, PAPI_get_multiplex(0));
  ASK_ASIDE("PAPI_overflow", none, PAPI_overflow(0, code, 1000, 0, on_overflow));
  ASK_ASIDE("PAPI_attach", none, PAPI_attach(0, 1));
  ASK_ASIDE("PAPI_detach", none, PAPI_detach(0));
  ASK_ASIDE("PAPI_strerror(-1) there", none, PAPI_strerror(-1) != NULL);
  ASK_ASIDE("PAPI_strerror(-999) there", none, PAPI_strerror(-999) != NULL);
  ASK_ASIDE("PAPI_disable_component", none, PAPI_disable_component(0));
  ASK_ASIDE("PAPI_disable_component_by_name", "no such name", PAPI_disable_component_by_name("nosuch"));
  ASK_ASIDE("PAPI_shutdown", none, (PAPI_shutdown(), 0));
  ASK_ASIDE("PAPI_hl_read", none, PAPI_hl_read("r"));
  ASK_ASIDE("PAPI_hl_region_end", none, PAPI_hl_region_end("r"));
  ASK_ASIDE("PAPI_hl_stop", none, PAPI_hl_stop());
  ASK_ASIDE("PAPI_rate_stop", none, PAPI_rate_stop());
}

static unsigned long always_seven(void) { return 7; }
static int twice(int with_threads) {
  int first = up();
  if (with_threads) PAPI_thread_init(by_pthread);
  PAPI_shutdown();
  if (!first || PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) return -1000;
  const int set = clock_set();
  const int started = PAPI_start(set);
  return started == PAPI_OK ? PAPI_stop(set, values) : started;
}
static int in_child(int again) {
  up();
  int set = clock_set(), status = 0;
  PAPI_start(set);
  const pid_t child = fork();
  if (child == 0) {
    if (again) {
      if (!up()) _exit(100);
      set = clock_set();
      const int started = PAPI_start(set);
      if (started != PAPI_OK) _exit(-started);
    }
    _exit(-PAPI_stop(set, values));
  }
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? -WEXITSTATUS(status) : -1000 - WTERMSIG(status);
}
static int without_perf(int ask_state) {
  int code = 0;
  PAPI_disable_component_by_name("perf_event");
  PAPI_library_init(PAPI_VER_CURRENT);
  return ask_state ? PAPI_get_component_info(0)->disabled : PAPI_event_name_to_code((char*)kClock, &code);
}

void life_of_the_library(void) {
  chapter = "library";
  const int versions[] = {0,
                          -1,
                          1,
                          PAPI_VERSION_NUMBER(6, 0, 0, 0),
                          PAPI_VERSION_NUMBER(7, 0, 0, 0),
                          PAPI_VERSION_NUMBER(7, 0, 1, 0),
                          PAPI_VERSION_NUMBER(7, 1, 0, 0),
                          PAPI_VERSION_NUMBER(7, 3, 0, 0),
                          PAPI_VER_CURRENT};
  for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
    char situation[64];
    snprintf(situation, sizeof situation, "version 0x%x", (unsigned)versions[i]);
    ASK_ASIDE("PAPI_library_init", situation, PAPI_library_init(versions[i]));
  }
  ASK_ASIDE("PAPI_library_init", "again after shutdown", twice(0));
  ASK_ASIDE("PAPI_library_init", "again after thread_init and shutdown", twice(1));
  ASK_ASIDE("PAPI_stop", "parent's running set, in a forked child", in_child(0));
  ASK_ASIDE("PAPI_stop", "own set in a forked child that initialised again", in_child(1));
  ASK_ASIDE("PAPI_get_component_info(0)->disabled", "disabled by name", without_perf(1));
  ASK_ASIDE("PAPI_event_name_to_code", "component disabled by name", without_perf(0));
  ASK("up", "first", up());
  ASK("PAPI_library_init", "second", PAPI_library_init(PAPI_VER_CURRENT));
  ASK("PAPI_library_init", "second, wrong version", PAPI_library_init(1));
  ASK("PAPI_is_initialized", "after init", PAPI_is_initialized());
  ASK("PAPI_disable_component", "after init", PAPI_disable_component(0));
  ASK_ASIDE("PAPI_thread_init", "NULL", PAPI_thread_init(NULL));
  ASK_ASIDE("PAPI_is_initialized", "after thread_init",
            (PAPI_thread_init(by_pthread), PAPI_is_initialized()));
  ASK_ASIDE("PAPI_thread_init", "another function",
            (PAPI_thread_init(by_pthread), PAPI_thread_init(always_seven)));
  ASK_ASIDE("PAPI_is_initialized", "after shutdown", (PAPI_shutdown(), PAPI_is_initialized()));
  ASK_ASIDE("PAPI_shutdown", "twice", (PAPI_shutdown(), PAPI_shutdown(), 0));
  for (int code = 1; code >= -27; code--) {
    char situation[16];
    snprintf(situation, sizeof situation, "%d", code);
    report_text("PAPI_strerror", situation, PAPI_strerror(code));
  }
  ASK("PAPI_set_debug", "99", PAPI_set_debug(99));
  ASK("PAPI_set_debug", "QUIET", PAPI_set_debug(PAPI_QUIET));
}
