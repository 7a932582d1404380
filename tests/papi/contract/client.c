/* Asks a PAPI library for its answers: every function in ordinary and in wrong situations. Prints one line an
 * answer, "chapter <tab> call <tab> situation <tab> answer". Compiled once, run on PAPI's library and on
 * ours. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <papi.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asking.h"

const char* chapter = "";

static const char kClock[] = "perf::TASK-CLOCK", kFaults[] = "perf::PAGE-FAULTS",
                  kMajorFaults[] = "perf::MAJOR-FAULTS";
static long long values[16], cycles;
static int clock_code, faults_code, major_code;
enum { kUnused = 4711, kBadPreset = (int)0x80007fff, kBadNative = (int)0x43ffffff };

static unsigned long by_pthread(void) { return (unsigned long)pthread_self(); }
static unsigned long always_seven(void) { return 7; }
static void on_overflow(int set, void* address, long long vector, void* context) {
  (void)set, (void)address, (void)vector, (void)context;
}

static int up(void) {
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) return 0;
  return PAPI_event_name_to_code((char*)kClock, &clock_code) == PAPI_OK &&
         PAPI_event_name_to_code((char*)kFaults, &faults_code) == PAPI_OK &&
         PAPI_event_name_to_code((char*)kMajorFaults, &major_code) == PAPI_OK;
}
static int empty_set(void) {
  int set = PAPI_NULL;
  PAPI_create_eventset(&set);
  return set;
}
static int bound_set(void) {
  const int set = empty_set();
  PAPI_assign_eventset_component(set, 0);
  return set;
}
static int clock_set(void) {
  const int set = empty_set();
  PAPI_add_event(set, clock_code);
  return set;
}
static int state(int set) {
  int bits = -1;
  PAPI_state(set, &bits);
  return bits;
}

static void before_initialisation(void) {
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

static void life_of_the_library(void) {
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
    tell_text("PAPI_strerror", situation, PAPI_strerror(code));
  }
  ASK("PAPI_set_debug", "99", PAPI_set_debug(99));
  ASK("PAPI_set_debug", "QUIET", PAPI_set_debug(PAPI_QUIET));
}

/* Each call that takes an eventset, with a handle nobody was given. */
static void unknown_handle(const char* situation, int set) {
  int number = 4, code = 0, handle = set;
  ASK("PAPI_add_event", situation, PAPI_add_event(set, clock_code));
  ASK("PAPI_add_named_event", situation, PAPI_add_named_event(set, kClock));
  ASK("PAPI_add_events", situation, PAPI_add_events(set, &clock_code, 1));
  ASK("PAPI_remove_event", situation, PAPI_remove_event(set, clock_code));
  ASK("PAPI_start", situation, PAPI_start(set));
  ASK("PAPI_stop", situation, PAPI_stop(set, values));
  ASK("PAPI_read", situation, PAPI_read(set, values));
  ASK("PAPI_read_ts", situation, PAPI_read_ts(set, values, &cycles));
  ASK("PAPI_accum", situation, PAPI_accum(set, values));
  ASK("PAPI_reset", situation, PAPI_reset(set));
  ASK("PAPI_write", situation, PAPI_write(set, values));
  ASK("PAPI_state", situation, PAPI_state(set, &number));
  ASK("PAPI_num_events", situation, PAPI_num_events(set));
  ASK("PAPI_list_events", situation, PAPI_list_events(set, &code, &number));
  ASK("PAPI_cleanup_eventset", situation, PAPI_cleanup_eventset(set));
  ASK("PAPI_destroy_eventset", situation, PAPI_destroy_eventset(&handle));
  ASK("PAPI_assign_eventset_component", situation, PAPI_assign_eventset_component(set, 0));
  ASK("PAPI_get_eventset_component", situation, PAPI_get_eventset_component(set));
  ASK("PAPI_set_multiplex", situation, PAPI_set_multiplex(set));
  ASK("PAPI_get_multiplex", situation, PAPI_get_multiplex(set));
  ASK("PAPI_attach", situation, PAPI_attach(set, (unsigned long)getpid()));
  ASK("PAPI_overflow", situation, PAPI_overflow(set, clock_code, 1000, 0, on_overflow));
}

static void eventsets(void) {
  int set = 3, other = PAPI_NULL, number, list[8], handle;
  chapter = "eventsets";
  ASK_ASIDE("PAPI_create_eventset", "NULL", PAPI_create_eventset(NULL));
  ASK("PAPI_create_eventset", "handle is not PAPI_NULL", PAPI_create_eventset(&set));
  set = PAPI_NULL;
  ASK("PAPI_create_eventset", "good", PAPI_create_eventset(&set));
  ASK("handle", "the first", set);
  unknown_handle("handle never given", kUnused);
  unknown_handle("handle PAPI_NULL", PAPI_NULL);
  unknown_handle("handle -7", -7);
  ASK_ASIDE("PAPI_destroy_eventset", "NULL", PAPI_destroy_eventset(NULL));

  ASK("PAPI_start", "empty", PAPI_start(set));
  ASK("PAPI_stop", "empty", PAPI_stop(set, values));
  ASK("PAPI_read", "empty", PAPI_read(set, values));
  ASK("PAPI_reset", "empty", PAPI_reset(set));
  ASK("PAPI_accum", "empty", PAPI_accum(set, values));
  ASK("PAPI_cleanup_eventset", "empty", PAPI_cleanup_eventset(set));
  ASK("PAPI_num_events", "empty", PAPI_num_events(set));
  ASK("state", "empty", state(set));
  ASK("PAPI_get_eventset_component", "empty", PAPI_get_eventset_component(set));
  ASK_ASIDE("PAPI_remove_event", "empty", PAPI_remove_event(set, clock_code));
  ASK("PAPI_set_multiplex", "empty", PAPI_set_multiplex(set));
  ASK("PAPI_assign_eventset_component", "component 99", PAPI_assign_eventset_component(set, 99));
  ASK("PAPI_assign_eventset_component", "component -1", PAPI_assign_eventset_component(set, -1));
  ASK("PAPI_assign_eventset_component", "component 0", PAPI_assign_eventset_component(set, 0));
  ASK("PAPI_assign_eventset_component", "a second time", PAPI_assign_eventset_component(set, 0));
  ASK("PAPI_start", "assigned, empty", PAPI_start(set));

  ASK("PAPI_add_event", "code 0", PAPI_add_event(set, 0));
  ASK("PAPI_add_event", "no such preset", PAPI_add_event(set, kBadPreset));
  ASK("PAPI_add_event", "no such native event", PAPI_add_event(set, kBadNative));
  /* Which error 7.0 gives depends on the component it asked last. */
  ASK("PAPI_add_named_event is refused", "no such name", PAPI_add_named_event(set, "NO_SUCH_EVENT") < 0);
  ASK("PAPI_add_named_event is refused", "empty name", PAPI_add_named_event(set, "") < 0);
  ASK_ASIDE("PAPI_add_named_event", "NULL", PAPI_add_named_event(set, NULL));
  ASK("PAPI_add_named_event", "PMU known, event not", PAPI_add_named_event(set, "perf::NOPE"));
  ASK_ASIDE("PAPI_add_events", "NULL", PAPI_add_events(set, NULL, 1));
  ASK("PAPI_add_events", "none", PAPI_add_events(set, &clock_code, 0));
  ASK("PAPI_add_events", "minus one", PAPI_add_events(set, &clock_code, -1));
  ASK("PAPI_add_event", "good", PAPI_add_event(set, clock_code));
  ASK("PAPI_add_event", "the same again", PAPI_add_event(set, clock_code));
  ASK("PAPI_add_event", "a second", PAPI_add_event(set, faults_code));
  const int three[] = {major_code, kBadNative, clock_code};
  ASK("PAPI_add_events", "the second of three impossible", PAPI_add_events(set, (int*)three, 3));
  ASK("PAPI_num_events", "three", PAPI_num_events(set));
  ASK("PAPI_get_eventset_component", "three", PAPI_get_eventset_component(set));
  ASK("PAPI_assign_eventset_component", "three", PAPI_assign_eventset_component(set, 0));

  ASK("PAPI_stop", "not running", PAPI_stop(set, values));
  values[0] = values[1] = values[2] = -5;
  ASK("PAPI_read", "never started", PAPI_read(set, values));
  ASK("value", "never started", values[0]);
  ASK("PAPI_read_ts", "never started", PAPI_read_ts(set, values, &cycles));
  ASK("PAPI_accum", "never started", PAPI_accum(set, values));
  ASK("PAPI_reset", "never started", PAPI_reset(set));
  ASK("PAPI_write", "never started", PAPI_write(set, values));
  handle = set;
  ASK("PAPI_destroy_eventset", "not empty", PAPI_destroy_eventset(&handle));
  ASK("PAPI_remove_event", "not in the set", PAPI_remove_event(set, kBadNative - 1));
  ASK("PAPI_remove_named_event", "not in the set", PAPI_remove_named_event(set, "perf::MINOR-FAULTS"));
  ASK("PAPI_remove_named_event", "no such name", PAPI_remove_named_event(set, "NOPE"));
  ASK("PAPI_remove_events", "none", PAPI_remove_events(set, &clock_code, 0));

  ASK("PAPI_create_eventset", "a second set", PAPI_create_eventset(&other));
  ASK("PAPI_add_event", "same event in another set", PAPI_add_event(other, clock_code));
  ASK("PAPI_start", "good", PAPI_start(set));
  ASK("PAPI_start", "already running", PAPI_start(set));
  ASK("state", "running", state(set));
  ASK("PAPI_start", "another set of the same component", PAPI_start(other));
  ASK("PAPI_read", "running", PAPI_read(set, values));
  ASK("PAPI_add_event", "running", PAPI_add_event(set, clock_code));
  ASK("PAPI_add_named_event", "running", PAPI_add_named_event(set, "perf::MINOR-FAULTS"));
  ASK("PAPI_add_events", "running", PAPI_add_events(set, &clock_code, 1));
  ASK("PAPI_remove_event", "running", PAPI_remove_event(set, faults_code));
  ASK("PAPI_remove_named_event", "running", PAPI_remove_named_event(set, kFaults));
  ASK("PAPI_remove_events", "running", PAPI_remove_events(set, &faults_code, 1));
  ASK("PAPI_cleanup_eventset", "running", PAPI_cleanup_eventset(set));
  handle = set;
  ASK("PAPI_destroy_eventset", "running", PAPI_destroy_eventset(&handle));
  ASK("PAPI_write", "running", PAPI_write(set, values));
  ASK("PAPI_reset", "running", PAPI_reset(set));
  ASK("PAPI_accum", "running", PAPI_accum(set, values));
  ASK("PAPI_set_multiplex", "running", PAPI_set_multiplex(set));
  ASK("PAPI_attach", "running", PAPI_attach(set, (unsigned long)getpid()));
  ASK_ASIDE("PAPI_read", "NULL", PAPI_read(set, NULL));
  ASK_ASIDE("PAPI_read_ts", "NULL values", PAPI_read_ts(set, NULL, &cycles));
  ASK_ASIDE("PAPI_read_ts", "NULL cycles", PAPI_read_ts(set, values, NULL));
  ASK_ASIDE("PAPI_accum", "NULL", PAPI_accum(set, NULL));
  ASK_ASIDE("PAPI_write", "NULL", PAPI_write(set, NULL));
  ASK_ASIDE("PAPI_state", "NULL", PAPI_state(set, NULL));
  ASK_ASIDE("PAPI_list_events", "NULL number", PAPI_list_events(set, list, NULL));
  number = 3;
  ASK_ASIDE("PAPI_list_events", "NULL list", PAPI_list_events(set, NULL, &number));
  number = 1;
  ASK("PAPI_list_events", "room for one of three", PAPI_list_events(set, list, &number));
  ASK("number", "room for one of three", number);
  number = 0;
  ASK("PAPI_list_events", "how many?", PAPI_list_events(set, NULL, &number));
  ASK("number", "how many?", number);
  number = 8;
  ASK("PAPI_list_events", "all", PAPI_list_events(set, list, &number));
  ASK("order", "all", list[0] == clock_code && list[1] == faults_code && list[2] == major_code);
  ASK("PAPI_stop", "good", PAPI_stop(set, values));
  ASK("value > 0", "after stop", values[0] > 0);
  ASK("PAPI_stop", "twice", PAPI_stop(set, values));
  ASK("PAPI_read", "after stop", PAPI_read(set, values + 8));
  ASK("value", "as the stop gave it", values[0] == values[8]);
  ASK("PAPI_start", "again", PAPI_start(set));
  ASK("PAPI_stop", "NULL", PAPI_stop(set, NULL));
  ASK("PAPI_start", "the other set, now alone", PAPI_start(other));
  ASK("PAPI_stop", "the other set", PAPI_stop(other, values));
  ASK("PAPI_remove_event", "good", PAPI_remove_event(set, faults_code));
  ASK("PAPI_remove_event", "again", PAPI_remove_event(set, faults_code));
  ASK("PAPI_num_events", "two", PAPI_num_events(set));
  ASK("PAPI_cleanup_eventset", "good", PAPI_cleanup_eventset(set));
  ASK("PAPI_cleanup_eventset", "again", PAPI_cleanup_eventset(set));
  ASK("PAPI_get_eventset_component", "after cleanup", PAPI_get_eventset_component(set));
  handle = set;
  ASK("PAPI_destroy_eventset", "good", PAPI_destroy_eventset(&set));
  ASK("handle", "destroyed", set);
  ASK("PAPI_start", "destroyed", PAPI_start(handle));
  set = PAPI_NULL;
  PAPI_create_eventset(&set);
  ASK("handle", "used again at once", set == handle);
  PAPI_destroy_eventset(&set);
  PAPI_cleanup_eventset(other);
  PAPI_destroy_eventset(&other);
}

static int main_set;
static void* stranger(void* nothing) {
  int number = 8, room = 8;
  unsigned long ids[8];
  void* pointer = &number;
  (void)nothing;
  ASK("PAPI_read", "set of another thread", PAPI_read(main_set, values));
  ASK("PAPI_stop", "set of another thread", PAPI_stop(main_set, values));
  ASK("PAPI_start", "set of another thread", PAPI_start(main_set));
  const int own = clock_set();
  ASK("PAPI_start", "own set beside another thread's", PAPI_start(own));
  ASK("state", "own set", state(own));
  ASK("PAPI_stop", "own set", PAPI_stop(own, values));
  ASK("PAPI_register_thread", "registered by use", PAPI_register_thread());
  ASK("PAPI_get_thr_specific", "never set", PAPI_get_thr_specific(PAPI_USR1_TLS, &pointer));
  ASK("pointer is NULL", "never set", pointer == NULL);
  ASK("PAPI_set_thr_specific", "good", PAPI_set_thr_specific(PAPI_USR1_TLS, &number));
  ASK("PAPI_get_thr_specific", "set", PAPI_get_thr_specific(PAPI_USR1_TLS, &pointer));
  ASK("pointer is the one set", "set", pointer == &number);
  ASK("PAPI_set_thr_specific", "tag 99", PAPI_set_thr_specific(99, &number));
  ASK("PAPI_get_thr_specific", "tag 99", PAPI_get_thr_specific(99, &pointer));
  ASK("PAPI_get_thr_specific", "tag -1", PAPI_get_thr_specific(-1, &pointer));
  ASK("PAPI_list_threads", "two", PAPI_list_threads(ids, &room));
  ASK("number", "two threads", room);
  ASK("PAPI_list_threads", "NULL list", PAPI_list_threads(NULL, &number));
  ASK("number", "NULL list", number);
  ASK_ASIDE("PAPI_list_threads", "NULL number", PAPI_list_threads(ids, NULL));
  ASK("PAPI_unregister_thread", "good", PAPI_unregister_thread());
  ASK("PAPI_unregister_thread", "twice", PAPI_unregister_thread());
  return NULL;
}

static void threads(void) {
  pthread_t thread;
  chapter = "threads";
  ASK("PAPI_thread_id", "before thread_init", PAPI_thread_id());
  ASK("PAPI_register_thread", "before thread_init", PAPI_register_thread());
  ASK("PAPI_thread_init", "good", PAPI_thread_init(by_pthread));
  ASK("PAPI_thread_id is pthread_self", "after thread_init", PAPI_thread_id() == by_pthread());
  main_set = clock_set();
  ASK("PAPI_start", "main thread", PAPI_start(main_set));
  pthread_create(&thread, NULL, stranger, NULL);
  pthread_join(thread, NULL);
  ASK("PAPI_stop", "main thread", PAPI_stop(main_set, values));
  PAPI_cleanup_eventset(main_set);
  PAPI_destroy_eventset(&main_set);
  ASK_ASIDE("PAPI_lock", "99", PAPI_lock(99));
  ASK_ASIDE("PAPI_unlock", "-1", PAPI_unlock(-1));
  ASK("PAPI_lock", "good", PAPI_lock(PAPI_USR2_LOCK));
  ASK("PAPI_unlock", "good", PAPI_unlock(PAPI_USR2_LOCK));
}

static int set_set_option(int option, int set, int value) {
  static PAPI_option_t ask;
  memset(&ask, 0, sizeof ask);
  if (option == PAPI_DOMAIN || option == PAPI_GRANUL) {
    ask.domain.eventset = set;
    ask.domain.domain = value;
  } else {
    ask.inherit.eventset = set;
    ask.inherit.inherit = value;
  }
  return PAPI_set_opt(option, &ask);
}

static void options(void) {
  static PAPI_option_t option;
  chapter = "options";
  ASK("PAPI_set_opt", "no such option", PAPI_set_opt(9999, &option));
  ASK("PAPI_get_opt", "no such option", PAPI_get_opt(9999, &option));
  ASK("PAPI_set_opt(DEFDOM)", "NULL", PAPI_set_opt(PAPI_DEFDOM, NULL));
  ASK("PAPI_get_opt(DEFDOM)", "NULL", PAPI_get_opt(PAPI_DEFDOM, NULL));
  ASK("PAPI_get_opt(DEFGRN)", "NULL", PAPI_get_opt(PAPI_DEFGRN, NULL));
  ASK("PAPI_get_opt(DOMAIN)", "NULL", PAPI_get_opt(PAPI_DOMAIN, NULL));
  ASK("PAPI_get_opt(HWINFO)", "NULL", PAPI_get_opt(PAPI_HWINFO, NULL));
  ASK("PAPI_get_opt(PROFIL)", "", PAPI_get_opt(PAPI_PROFIL, &option));
  ASK("PAPI_get_opt(DATA_ADDRESS)", "", PAPI_get_opt(PAPI_DATA_ADDRESS, &option));
  ASK("PAPI_get_opt(USER_EVENTS_FILE)", "", PAPI_get_opt(PAPI_USER_EVENTS_FILE, &option));
  ASK("PAPI_get_opt(MAX_CPUS)", "", PAPI_get_opt(PAPI_MAX_CPUS, NULL));
  ASK("PAPI_get_opt(CLOCKRATE) > 0", "", PAPI_get_opt(PAPI_CLOCKRATE, NULL) > 0);
  ASK("PAPI_get_opt(LIB_VERSION)", "", PAPI_get_opt(PAPI_LIB_VERSION, NULL));
  ASK("PAPI_get_cmp_opt(MAX_HWCTRS)", "component 99", PAPI_get_cmp_opt(PAPI_MAX_HWCTRS, NULL, 99));
  ASK("PAPI_get_opt(PRELOAD)", "", PAPI_get_opt(PAPI_PRELOAD, &option));
  tell_text("lib_preload_env", "", option.preload.lib_preload_env);
  ASK("lib_preload_sep", "", option.preload.lib_preload_sep);
  tell_text("lib_dir_env", "", option.preload.lib_dir_env);
  ASK("lib_dir_sep", "", option.preload.lib_dir_sep);
  ASK("PAPI_get_opt(DEBUG)", "", PAPI_get_opt(PAPI_DEBUG, &option));
  ASK("debug level", "", option.debug.level);
  ASK("PAPI_get_opt(DEF_ITIMER)", "", PAPI_get_opt(PAPI_DEF_ITIMER, &option));
  ASK("itimer_num", "", option.itimer.itimer_num);
  ASK("itimer_sig", "", option.itimer.itimer_sig);
  ASK("itimer ns", "", option.itimer.ns);
  ASK("PAPI_get_opt(DEF_MPX_NS)", "", PAPI_get_opt(PAPI_DEF_MPX_NS, &option));
  ASK("multiplex ns", "", option.multiplex.ns);
  ASK("PAPI_get_opt(EXEINFO)", "", PAPI_get_opt(PAPI_EXEINFO, &option));
  ASK("PAPI_get_opt(SHLIBINFO)", "", PAPI_get_opt(PAPI_SHLIBINFO, &option));
  ASK("PAPI_get_opt(HWINFO)", "", PAPI_get_opt(PAPI_HWINFO, &option));
  ASK("PAPI_get_opt(COMPONENTINFO)", "", PAPI_get_opt(PAPI_COMPONENTINFO, &option));
  ASK("PAPI_set_domain", "0", PAPI_set_domain(0));
  ASK("PAPI_set_domain", "0x40", PAPI_set_domain(0x40));
  ASK("PAPI_set_domain", "all", PAPI_set_domain(PAPI_DOM_ALL));
  ASK("PAPI_set_domain", "user", PAPI_set_domain(PAPI_DOM_USER));
  ASK("PAPI_set_cmp_domain", "component 99", PAPI_set_cmp_domain(PAPI_DOM_USER, 99));
  ASK("PAPI_set_granularity", "0", PAPI_set_granularity(0));
  ASK("PAPI_set_granularity", "process group", PAPI_set_granularity(PAPI_GRN_PROCG));
  ASK("PAPI_set_granularity", "thread", PAPI_set_granularity(PAPI_GRN_THR));
  ASK("PAPI_set_cmp_granularity", "component 99", PAPI_set_cmp_granularity(PAPI_GRN_THR, 99));
  ASK("PAPI_set_opt(DOMAIN)", "0x40", set_set_option(PAPI_DOMAIN, clock_set(), 0x40));
  ASK("PAPI_set_opt(DOMAIN)", "no such set", set_set_option(PAPI_DOMAIN, kUnused, PAPI_DOM_ALL));
  ASK("PAPI_set_opt(DOMAIN)", "all, software event", set_set_option(PAPI_DOMAIN, clock_set(), PAPI_DOM_ALL));
  const int running = clock_set();
  PAPI_start(running);
  ASK("PAPI_set_opt(DOMAIN)", "running", set_set_option(PAPI_DOMAIN, running, PAPI_DOM_ALL));
  PAPI_stop(running, values);
  ASK("PAPI_set_opt(INHERIT)", "empty set", set_set_option(PAPI_INHERIT, bound_set(), PAPI_INHERIT_ALL));
  ASK("PAPI_set_opt(INHERIT)", "software event", set_set_option(PAPI_INHERIT, clock_set(), PAPI_INHERIT_ALL));
  ASK("PAPI_set_opt(GRANUL)", "system", set_set_option(PAPI_GRANUL, bound_set(), PAPI_GRN_SYS));
  ASK("PAPI_set_opt(CPU_ATTACH)", "cpu 0", set_set_option(PAPI_CPU_ATTACH, bound_set(), 0));
  ASK("PAPI_set_opt(CPU_ATTACH)", "cpu 999", set_set_option(PAPI_CPU_ATTACH, bound_set(), 999));
  ASK("PAPI_attach", "no such process", PAPI_attach(clock_set(), 99999999));
  ASK("PAPI_attach", "own process", PAPI_attach(clock_set(), (unsigned long)getpid()));
  ASK("PAPI_attach", "no component", PAPI_attach(empty_set(), (unsigned long)getpid()));
  ASK("PAPI_detach", "not attached", PAPI_detach(clock_set()));
  ASK("PAPI_multiplex_init", "", PAPI_multiplex_init());
  ASK("PAPI_set_multiplex", "no component", PAPI_set_multiplex(empty_set()));
  ASK("PAPI_set_multiplex", "assigned", PAPI_set_multiplex(bound_set()));
  const int set = clock_set();
  int positions[8], number = 8;
  ASK("PAPI_get_overflow_event_index", "no set",
      PAPI_get_overflow_event_index(kUnused, 1, positions, &number));
  ASK("PAPI_get_overflow_event_index", "vector 0", PAPI_get_overflow_event_index(set, 0, positions, &number));
  ASK("PAPI_get_overflow_event_index", "NULL", PAPI_get_overflow_event_index(set, 1, NULL, &number));
  ASK("PAPI_get_overflow_event_index", "vector 1", PAPI_get_overflow_event_index(set, 1, positions, &number));
  ASK("PAPI_overflow", "event not in the set", PAPI_overflow(set, faults_code, 1000, 0, on_overflow));
  ASK("PAPI_overflow", "no handler", PAPI_overflow(set, clock_code, 1000, 0, NULL));
  ASK("PAPI_overflow", "threshold -1", PAPI_overflow(set, clock_code, -1, 0, on_overflow));
  ASK("PAPI_overflow", "remove what was never set", PAPI_overflow(set, clock_code, 0, 0, on_overflow));
  unsigned short buckets[16];
  ASK("PAPI_profil", "event not in the set",
      PAPI_profil(buckets, sizeof buckets, (vptr_t)(uintptr_t)options, 65536, set, faults_code, 100000,
                  PAPI_PROFIL_POSIX));
  ASK("PAPI_profil", "unknown flags",
      PAPI_profil(buckets, sizeof buckets, (vptr_t)(uintptr_t)options, 65536, set, clock_code, 100000,
                  0x70000));
}

static void events(void) {
  int code = 0, count;
  char name[PAPI_HUGE_STR_LEN] = "";
  static PAPI_event_info_t info;
  const char* const spellings[] = {"PAPI_TOT_CYC",
                                   "papi_tot_cyc",
                                   "NO_SUCH",
                                   "TASK-CLOCK",
                                   "perf_event::TASK-CLOCK",
                                   "perf_event:::perf::TASK-CLOCK",
                                   "perf::task-clock",
                                   "perf::NOPE",
                                   "nosuchcomponent:::x",
                                   "perf::TASK-CLOCK:u=1",
                                   "perf::TASK-CLOCK:cpu=0"};
  chapter = "events";
  for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++)
    ASK("PAPI_event_name_to_code", spellings[i], PAPI_event_name_to_code((char*)spellings[i], &code));
  ASK_ASIDE("PAPI_event_name_to_code", "NULL name", PAPI_event_name_to_code(NULL, &code));
  ASK_ASIDE("PAPI_event_name_to_code", "NULL code", PAPI_event_name_to_code("PAPI_TOT_CYC", NULL));
  ASK("PAPI_event_code_to_name", "0", PAPI_event_code_to_name(0, name));
  ASK("PAPI_event_code_to_name", "no such preset", PAPI_event_code_to_name(kBadPreset, name));
  ASK("PAPI_event_code_to_name", "no such native event", PAPI_event_code_to_name(kBadNative, name));
  ASK_ASIDE("PAPI_event_code_to_name", "NULL", PAPI_event_code_to_name(clock_code, NULL));
  ASK("PAPI_event_code_to_name", "good", PAPI_event_code_to_name(clock_code, name));
  tell_text("name", "good", name);
  ASK("PAPI_get_event_info", "0", PAPI_get_event_info(0, &info));
  ASK_ASIDE("PAPI_get_event_info", "NULL", PAPI_get_event_info(clock_code, NULL));
  ASK("PAPI_get_event_info", "no such preset", PAPI_get_event_info(kBadPreset, &info));
  ASK("PAPI_get_event_info", "no such native event", PAPI_get_event_info(kBadNative, &info));
  ASK("PAPI_get_event_info", "good", PAPI_get_event_info(clock_code, &info));
  tell_text("symbol", "good", info.symbol);
  ASK("component_index", "good", info.component_index);
  ASK("PAPI_get_event_info", "preset", PAPI_get_event_info(PAPI_FP_OPS, &info));
  tell_text("symbol", "preset", info.symbol);
  ASK("event_type", "PAPI_L1_DCM", (PAPI_get_event_info(PAPI_L1_DCM, &info), info.event_type));
  ASK("event_type", "PAPI_BR_PRC", (PAPI_get_event_info(PAPI_BR_PRC, &info), info.event_type));
  ASK("event_type", "PAPI_FP_OPS", (PAPI_get_event_info(PAPI_FP_OPS, &info), info.event_type));
  ASK("event_type", "PAPI_TLB_DM", (PAPI_get_event_info(PAPI_TLB_DM, &info), info.event_type));
  ASK("PAPI_query_event", "0", PAPI_query_event(0));
  ASK("PAPI_query_event", "-1", PAPI_query_event(-1));
  ASK("PAPI_query_event", "no such preset", PAPI_query_event(kBadPreset));
  ASK("PAPI_query_event", "no such native event", PAPI_query_event(kBadNative));
  ASK("PAPI_query_event", "good", PAPI_query_event(clock_code));
  ASK("PAPI_query_named_event", "good", PAPI_query_named_event(kClock));
  ASK("PAPI_query_named_event", "no such name", PAPI_query_named_event("NOPE"));
  ASK_ASIDE("PAPI_query_named_event", "NULL", PAPI_query_named_event(NULL));
  ASK_ASIDE("PAPI_enum_event", "NULL", PAPI_enum_event(NULL, PAPI_ENUM_FIRST));
  code = PAPI_PRESET_MASK;
  ASK("PAPI_enum_event", "first preset", PAPI_enum_event(&code, PAPI_ENUM_FIRST));
  for (count = 1; PAPI_enum_event(&code, PAPI_ENUM_EVENTS) == PAPI_OK;) count++;
  ASK("presets", "counted", count);
  ASK("PAPI_enum_event", "after the last preset", PAPI_enum_event(&code, PAPI_ENUM_EVENTS));
  code = PAPI_NATIVE_MASK;
  ASK("PAPI_enum_cmp_event", "first of component 0", PAPI_enum_cmp_event(&code, PAPI_ENUM_FIRST, 0));
  while (PAPI_enum_cmp_event(&code, PAPI_ENUM_EVENTS, 0) == PAPI_OK) continue;
  ASK("PAPI_enum_cmp_event", "after the last", PAPI_enum_cmp_event(&code, PAPI_ENUM_EVENTS, 0));
  code = PAPI_NATIVE_MASK;
  ASK("PAPI_enum_cmp_event", "first of a disabled component",
      PAPI_enum_cmp_event(&code, PAPI_ENUM_FIRST, PAPI_get_component_index("sde")));
  ASK("PAPI_enum_cmp_event", "component 99", PAPI_enum_cmp_event(&code, PAPI_ENUM_FIRST, 99));
  ASK("PAPI_enum_cmp_event", "component -1", PAPI_enum_cmp_event(&code, PAPI_ENUM_FIRST, -1));
  ASK("PAPI_enum_cmp_event", "no such modifier", PAPI_enum_cmp_event(&code, 77, 0));
  ASK("PAPI_get_event_component", "0", PAPI_get_event_component(0));
  ASK("PAPI_get_event_component", "software event", PAPI_get_event_component(clock_code));
  ASK("PAPI_get_event_component", "preset", PAPI_get_event_component(PAPI_TOT_CYC));
  ASK("PAPI_get_event_component", "no such native event", PAPI_get_event_component(kBadNative));
  ASK("PAPI_get_component_info(99) there", "", PAPI_get_component_info(99) != NULL);
  ASK("PAPI_get_component_info(-1) there", "", PAPI_get_component_info(-1) != NULL);
  tell_text("name", "component 0", PAPI_get_component_info(0)->name);
  ASK("CmpIdx", "component 0", PAPI_get_component_info(0)->CmpIdx);
  ASK("PAPI_get_component_index", "nosuch", PAPI_get_component_index("nosuch"));
  ASK("PAPI_get_component_index", "perf_event", PAPI_get_component_index("perf_event"));
  ASK_ASIDE("PAPI_get_component_index", "NULL", PAPI_get_component_index(NULL));
  ASK("PAPI_num_cmp_hwctrs", "99", PAPI_num_cmp_hwctrs(99));
}

/* What programs read of a component before they use it. */
static void components(void) {
  chapter = "components";
  static const char* const both[] = {"perf_event", "perf_event_uncore", "sde", "sysdetect"};
  for (int i = 0; i < 4; ++i) {
    const PAPI_component_info_t* const info = PAPI_get_component_info(PAPI_get_component_index(both[i]));
    if (info == NULL) continue;
#define FIELD(name) tell(#name, both[i], info->name)
    tell_text("short_name", both[i], info->short_name);
    tell_text("support_version", both[i], info->support_version);
    FIELD(disabled);
    FIELD(num_cntrs);
    FIELD(num_mpx_cntrs);
    FIELD(num_native_events);
    FIELD(default_domain);
    FIELD(available_domains);
    FIELD(default_granularity);
    FIELD(available_granularities);
    FIELD(hardware_intr_sig);
    FIELD(component_type);
    FIELD(hardware_intr);
    FIELD(precise_intr);
    FIELD(posix1b_timers);
    FIELD(kernel_profile);
    FIELD(kernel_multiplex);
    FIELD(fast_counter_read);
    FIELD(fast_real_timer);
    FIELD(fast_virtual_timer);
    FIELD(attach);
    FIELD(attach_must_ptrace);
    FIELD(cntr_umasks);
    FIELD(cpu);
    FIELD(inherit);
    tell_text("first pmu_names", both[i], info->pmu_names[0]);
    tell_text("second pmu_names", both[i], info->pmu_names[0] != NULL ? info->pmu_names[1] : NULL);
#undef FIELD
  }
}

static void machine(void) {
  const PAPI_hw_info_t* const hardware = PAPI_get_hardware_info();
  const PAPI_exe_info_t* const program = PAPI_get_executable_info();
  const PAPI_shlib_info_t* const shared = PAPI_get_shared_lib_info();
  PAPI_dmem_info_t memory;
  chapter = "machine";
  ASK("totalcpus", "", hardware->totalcpus);
  ASK("sockets x cores x threads", "", hardware->sockets * hardware->cores * hardware->threads);
  ASK("nnodes", "", hardware->nnodes);
  ASK("vendor", "", hardware->vendor);
  tell_text("model_string", "", hardware->model_string);
  ASK("cpuid_family", "", hardware->cpuid_family);
  ASK("cpuid_model", "", hardware->cpuid_model);
  ASK("cpuid_stepping", "", hardware->cpuid_stepping);
  ASK("levels", "", hardware->mem_hierarchy.levels);
  for (int level = 0; level < hardware->mem_hierarchy.levels && level < PAPI_MAX_MEM_HIERARCHY_LEVELS;
       level++) {
    char call[32];
    int size = 0, line = 0;
    for (int i = 0; i < PAPI_MH_MAX_LEVELS; i++) {
      const PAPI_mh_cache_info_t* const cache = &hardware->mem_hierarchy.level[level].cache[i];
      if (PAPI_MH_CACHE_TYPE(cache->type) != PAPI_MH_TYPE_EMPTY) size += cache->size, line = cache->line_size;
    }
    snprintf(call, sizeof call, "level %d cache bytes", level + 1);
    ASK(call, "", size);
    snprintf(call, sizeof call, "level %d line bytes", level + 1);
    ASK(call, "", line);
  }
  ASK("main in the text of the program", "",
      (uintptr_t)program->address_info.text_start <= (uintptr_t)machine &&
          (uintptr_t)machine < (uintptr_t)program->address_info.text_end);
  ASK("a shared library or more", "", shared->count > 0);
  ASK_ASIDE("PAPI_get_dmem_info", "NULL", PAPI_get_dmem_info(NULL));
  ASK("PAPI_get_dmem_info", "good", PAPI_get_dmem_info(&memory));
  ASK("resident > 0, size >= resident", "", memory.resident > 0 && memory.size >= memory.resident);
  ASK("pagesize", "", memory.pagesize);
}

/* The translation lookaside buffers of pages up to 4 MB. */
static void translations(void) {
  chapter = "tlb";
  const PAPI_hw_info_t* const info = PAPI_get_hardware_info();
  if (info->vendor != PAPI_VENDOR_AMD) return; /* PAPI reads another leaf of Intel's, with old tables */
  for (int level = 0; level < 2 && level < info->mem_hierarchy.levels; ++level) {
    for (int i = 0; i < PAPI_MH_MAX_LEVELS; ++i) {
      const PAPI_mh_tlb_info_t* const tlb = &info->mem_hierarchy.level[level].tlb[i];
      if (tlb->num_entries == 0 || tlb->page_size > 4 << 20) continue;
      char which[64];
      snprintf(which, sizeof which, "level %d, type %d, pages of %d", level + 1, tlb->type & 0xf,
               tlb->page_size);
      tell("entries", which, tlb->num_entries);
      tell("ways", which, tlb->associativity);
    }
  }
}

static void rates_and_regions(void) {
  float real, process, rate;
  long long count;
  chapter = "regions";
  ASK_ASIDE("PAPI_rate_stop", "nothing running", PAPI_rate_stop());
  ASK_ASIDE("PAPI_flops_rate", "not a floating-point event",
            PAPI_flops_rate(0, &real, &process, &count, &rate) < 0);
  ASK_ASIDE("PAPI_hl_region_begin", "NULL", PAPI_hl_region_begin(NULL));
  ASK_ASIDE("PAPI_hl_region_end", "nothing begun", PAPI_hl_region_end("z"));
  ASK_ASIDE("PAPI_hl_read", "nothing begun", PAPI_hl_read("z"));
  ASK_ASIDE("PAPI_hl_stop", "nothing begun", PAPI_hl_stop());
  ASK_ASIDE("PAPI_hl_region_begin", "good", PAPI_hl_region_begin("r"));
  ASK_ASIDE("PAPI_hl_read", "good", (PAPI_hl_region_begin("r"), PAPI_hl_read("r")));
  ASK_ASIDE("PAPI_hl_region_end", "good", (PAPI_hl_region_begin("r"), PAPI_hl_region_end("r")));
  ASK_ASIDE("PAPI_hl_region_end", "another name", (PAPI_hl_region_begin("r"), PAPI_hl_region_end("s")));
  ASK_ASIDE("PAPI_hl_read", "another name", (PAPI_hl_region_begin("r"), PAPI_hl_read("s")));
  ASK_ASIDE("PAPI_hl_region_begin", "the same name inside",
            (PAPI_hl_region_begin("r"), PAPI_hl_region_begin("r")));
  ASK_ASIDE("PAPI_hl_region_end", "after the same name inside",
            (PAPI_hl_region_begin("r"), PAPI_hl_region_begin("r"), PAPI_hl_region_end("r")));
  ASK_ASIDE("PAPI_hl_region_begin", "beside a running set",
            (up(), PAPI_start(clock_set()), PAPI_hl_region_begin("r")));
  ASK_ASIDE("PAPI_hl_region_begin", "again beside a running set",
            (up(), PAPI_start(clock_set()), PAPI_hl_region_begin("r"), PAPI_hl_region_begin("r")));
  ASK_ASIDE("PAPI_start", "beside a region", (PAPI_hl_region_begin("r"), PAPI_start(clock_set())));
  ASK_ASIDE(
      "PAPI_start", "after PAPI_hl_stop",
      (up(), PAPI_hl_region_begin("r"), PAPI_hl_region_end("r"), PAPI_hl_stop(), PAPI_start(clock_set())));
  ASK_ASIDE("PAPI_hl_stop", "good", (PAPI_hl_region_begin("r"), PAPI_hl_region_end("r"), PAPI_hl_stop()));
}

int main(void) {
  before_initialisation();
  life_of_the_library();
  eventsets();
  threads();
  options();
  events();
  components();
  machine();
  translations();
  profiles();
  rates_and_regions();
  chapter = "end";
  tell("reached", "", 1);
  return 0;
}
